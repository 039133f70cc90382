//! Checks recall on a project's own data: which topics are not found although they should be, and which are recalled
//! too often.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::header;
use bethink_service::{Result, blocking, next_batch, parse_stored};
use bethink_transcript::{Seq, UnixMicros};

use super::choose::{FoundMemory, MemoryLookup};
use super::round::words_of;
use super::{Key, MOST};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of topics that are searched for, and maximum number of past prompts that are replayed.
const MOST_TOPICS: usize = 1_000;
const MOST_PROMPTS: usize = 500;
/// Maximum number of sessions whose prompts are replayed, newest first.
const MOST_SESSIONS: usize = 50;
/// Maximum number of a topic's quotations that are used as questions.
const MOST_QUOTES: usize = 3;
/// A topic matches too often if it would be added to at least this many past prompts and to at least this share of
/// them.
const OFTEN: usize = 4;
const OFTEN_SHARE: f64 = 0.1;
/// Maximum number of words that a reason names.
const EXAMPLES: usize = 3;
/// Maximum length of a question that is shown, in characters.
const SHOWN_CHARS: usize = 120;

impl MemoryService {
    /// Searches for each topic by its own words, and replays the project's past prompts. Changes nothing.
    pub async fn check_recall(&self, request: api::RecallCheckRequest) -> Result<api::RecallCheck> {
        let project = self.project(&request.project_dir).await?;
        self.refresh_library(&project).await?;
        self.read_vectors(&project).await;
        let prompts = self.past_prompts(&project).await?;
        blocking(move || Ok(checked(&project, &prompts))).await
    }

    /// Returns what the user said in the project's newest sessions, each text once.
    async fn past_prompts(&self, project: &MemoryProject) -> Result<Vec<String>> {
        let sessions = self.touched_since(&project.key, None, UnixMicros(0), MOST_SESSIONS).await?;
        let (mut prompts, mut known) = (Vec::new(), HashSet::new());
        for session in sessions {
            let mut after = Seq::ZERO;
            loop {
                let batch = self.cx.store().messages(session, next_batch(after)).await?;
                let Some(last) = batch.last() else { break };
                after = last.seq;
                for stored in batch {
                    let words = words_of(&parse_stored(stored)?);
                    prompts.extend(words.filter(|words| known.insert(words.clone())));
                }
                if prompts.len() >= MOST_PROMPTS {
                    prompts.truncate(MOST_PROMPTS);
                    return Ok(prompts);
                }
            }
        }
        Ok(prompts)
    }
}

fn checked(project: &Arc<MemoryProject>, prompts: &[String]) -> api::RecallCheck {
    let mut check = api::RecallCheck {
        topics: project.library.len() as u64,
        prompts: prompts.len() as u64,
        ..api::RecallCheck::default()
    };
    let mut keys: Vec<Key> = project.library.hashes().into_keys().collect();
    keys.sort();
    for key in keys.iter().take(MOST_TOPICS) {
        check_topic(project, key, &mut check);
    }
    replay(project, prompts, &mut check);
    check
}

fn lookup(question: &str, manner: api::RecallManner) -> MemoryLookup {
    MemoryLookup {
        queries: vec![question.to_owned()],
        manner,
        limit: MOST,
        ..MemoryLookup::default()
    }
}

/// Searches for a topic by its description, and by its quoted lines, which begin with `> `.
fn check_topic(project: &MemoryProject, key: &Key, check: &mut api::RecallCheck) {
    let Ok(Some((text, _))) = project.directory(key.0).text_now(&key.1) else { return };
    let topic = header::read(&text);
    let mut problem = |question: &str, instead: &[FoundMemory], reason: String, advice: &str| {
        check.problems.push(api::RecallProblem {
            scope: key.0,
            name: key.1.to_string(),
            question: shown(question),
            instead: instead.iter().map(|found| found.topic.name.to_string()).collect(),
            reason,
            advice: advice.to_owned(),
        });
    };
    let description = topic.header.description.as_deref().unwrap_or_default().trim();
    if description.is_empty() {
        let advice = "add a `description:` line that says when the topic is needed";
        problem("", &[], "it has no description".to_owned(), advice);
    }
    let quotes = topic.body.lines().filter_map(|line| line.strip_prefix("> ")).take(MOST_QUOTES);
    let own = [description].into_iter().chain(quotes.map(str::trim));
    for (at, question) in own.enumerate().filter(|(_, question)| !question.is_empty()) {
        check.questions += 1;
        let found = project.library.choose_now(&lookup(question, api::RecallManner::Asked));
        if found.iter().any(|found| found.key() == *key) {
            check.found += 1;
            continue;
        }
        let (what, advice) = match (at, found.is_empty()) {
            (0, true) => ("description", "use more specific words in the description"),
            (0, false) => {
                ("description", "say in the description how this topic differs from the others")
            }
            _ => ("quoted line", "add words from the quoted line to the description"),
        };
        let reason = match found.is_empty() {
            true => format!("a search for its {what} finds nothing"),
            false => format!("a search for its {what} finds other topics"),
        };
        problem(question, &found, reason, advice);
    }
}

/// Finds topics that would be added to many past prompts.
fn replay(project: &MemoryProject, prompts: &[String], check: &mut api::RecallCheck) {
    let mut given: HashMap<Key, Vec<(&str, FoundMemory)>> = HashMap::new();
    for prompt in prompts {
        let found = project.library.choose_now(&lookup(prompt, api::RecallManner::Injected));
        check.given += u64::from(!found.is_empty());
        for found in found {
            given.entry(found.key()).or_default().push((prompt, found));
        }
    }
    let mut often: Vec<_> = given.into_iter().collect();
    often.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(&b.0)));
    for (key, found) in often {
        let share = found.len() as f64 / prompts.len() as f64;
        if found.len() < OFTEN || share < OFTEN_SHARE {
            continue;
        }
        let words = match frequent_words(found.iter().map(|(_, found)| found)).join(", ") {
            // Topics can be found by their meaning alone.
            words if words.is_empty() => words,
            words => format!(", mostly because of the words {words}"),
        };
        check.problems.push(api::RecallProblem {
            scope: key.0,
            name: key.1.to_string(),
            question: found.iter().take(1).map(|(prompt, _)| shown(prompt)).collect(),
            instead: Vec::new(),
            reason: format!(
                "{} of {} past prompts would have received this topic{words}",
                found.len(),
                prompts.len()
            ),
            advice: "if most of these prompts do not need it, use more specific words in its name and description"
                .to_owned(),
        });
    }
}

/// Returns the words by which the topic was found most often.
fn frequent_words<'a>(found: impl Iterator<Item = &'a FoundMemory>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for found in found {
        for term in found.why.terms.iter().take(EXAMPLES) {
            *counts.entry(term.term.to_lowercase()).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    words.into_iter().take(EXAMPLES).map(|(word, _)| word).collect()
}

/// Returns a question as one short line.
fn shown(question: &str) -> String {
    let line = question.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
