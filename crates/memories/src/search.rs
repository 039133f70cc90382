//! Searches the whole text of all memories. Unlike recall, a search does not judge relevance: a topic with any of the
//! words is found.

use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::{Name, Scope, header};
use bethink_recall::{highlights, query_terms, snippet};
use bethink_service::{Result, ServiceError, at_low_priority};

use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::service::MemoryService;

/// Default and maximum number of hits that are returned.
const HITS: usize = 20;
const MOST_HITS: usize = 200;
/// Maximum length of a snippet, in characters.
const SNIPPET_CHARS: usize = 240;

/// A topic that contains some of the words.
struct WordHit {
    hit: api::MemoryHit,
    /// Number of distinct words that were found, and the total number of their occurrences.
    words: (usize, usize),
}

impl MemoryService {
    /// Returns the topics that contain the most words of a question, in any grammatical form.
    pub async fn search_memories(&self, query: api::MemorySearch) -> Result<api::MemoryHits> {
        let api::MemorySearch { project_dir, q, scope, limit } = query;
        let project = self.project(&project_dir).await?;
        let mut terms = query_terms(&q);
        if terms.is_empty() {
            // There are only stop words: search for them unchanged.
            terms = q.split_whitespace().map(str::to_lowercase).collect();
        }
        if terms.is_empty() {
            return Err(ServiceError::invalid("q", "is empty: enter the words to look for"));
        }
        let scopes = scope.map_or(Scope::ALL.to_vec(), |scope| vec![scope]);
        let mut found = Vec::new();
        let mut searched = 0;
        for scope in scopes {
            let directory = Arc::clone(project.directory(scope));
            let shown = self.snapshot(&directory).await?;
            searched += shown.topics.len() as u64;
            let terms = terms.clone();
            // Reading thousands of files takes a while, and no other request should wait for that.
            found.extend(at_low_priority(move || hits(&directory, &shown, &terms)).await?);
        }
        found.sort_by(|a, b| {
            b.words
                .cmp(&a.words)
                .then_with(|| (a.hit.scope, &a.hit.name).cmp(&(b.hit.scope, &b.hit.name)))
        });
        let total = found.len() as u64;
        let limit = limit.unwrap_or(HITS).clamp(1, MOST_HITS);
        let hits = found.into_iter().take(limit).map(|found| found.hit).collect();
        Ok(api::MemoryHits { hits, total, searched })
    }
}

fn hits(directory: &MemoryDirectory, shown: &DirectorySnapshot, terms: &[String]) -> Vec<WordHit> {
    let read = |name: &Name| directory.text_now(name).ok().flatten();
    let topics = shown.topics.values().filter_map(|topic| Some((topic, read(&topic.name)?)));
    let hit = topics.filter_map(|(topic, (text, _))| {
        let body = header::read(&text).body.trim();
        let title = topic.title();
        let whole = format!("{title}\n{}\n{body}", topic.described);
        let words = counted(&whole, terms)?;
        let snippet =
            snippet(if body.is_empty() { &topic.described } else { body }, terms, SNIPPET_CHARS);
        let hit = api::MemoryHit {
            scope: directory.scope,
            name: topic.name.to_string(),
            description: topic.described.clone(),
            highlights: highlights(&snippet, terms),
            snippet,
        };
        Some(WordHit { hit, words })
    });
    hit.collect()
}

/// Returns how many of the words a text contains, and how often; `None` if it contains none.
fn counted(text: &str, terms: &[String]) -> Option<(usize, usize)> {
    let of = |term: &String| highlights(text, std::slice::from_ref(term)).len();
    let counts: Vec<usize> = terms.iter().map(of).filter(|count| *count > 0).collect();
    (!counts.is_empty()).then(|| (counts.len(), counts.iter().sum()))
}
