//! Finds statements that may be worth remembering, but less certainly than those of a rule that teaches.
//!
//! They are never part of a prompt: a person, the agent, or the same statement in a second session decides.

use std::sync::LazyLock;

use bethink_facts::{RecordedStatement, SaidKind};
use bethink_memdir::MemoryKind;
use bethink_transcript::{Seq, UnixMicros};
use serde::Deserialize;

use super::gates;
use super::plain::plain;
use super::prose::{Sentence, sentences};
use super::table::{Patterns, rule_for};
use crate::same::Meaning;

/// Maximum number of candidates of one extraction, and of a session.
pub const MAX_CANDIDATES: usize = 5;
/// Minimum score of a candidate.
const MIN_SCORE: i32 = 3;
/// Maximum size of a candidate of several sentences, in bytes.
const MAX_BYTES: usize = 600;
/// Maximum number of sentences in a message: a longer one was pasted.
const MAX_SENTENCES: usize = 30;

/// A statement of the user that may be worth remembering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub seq: Seq,
    /// When it was said.
    pub at: UnixMicros,
    /// The user's own words: one sentence, or some in a row.
    pub sentence: String,
    /// What it follows or answers: the user's own sentence before it, or the assistant's last one.
    pub before: Option<String>,
    pub kind: MemoryKind,
    /// The strongest cue that was found.
    pub rule: &'static str,
    /// How likely it is to matter later; candidates are compared by it.
    pub score: i32,
}

/// The content of `candidates.toml`, which explains each row.
#[derive(Debug, Default, Deserialize)]
struct Cues {
    cues: Vec<Cue>,
}

#[derive(Debug, Deserialize)]
struct Cue {
    name: String,
    kind: MemoryKind,
    points: i32,
    when: Patterns,
    #[serde(default)]
    but: Patterns,
}

/// Parsed at first use. The file is compiled into the program and a test parses it, so this always succeeds.
static CUES: LazyLock<Cues> = LazyLock::new(|| toml::from_str(SOURCE).unwrap_or_default());

const SOURCE: &str = include_str!("candidates.toml");

/// Returns all candidates of these statements, the best first.
pub fn found_in(said: &[RecordedStatement]) -> Vec<Candidate> {
    let own = said.iter().filter(|said| said.kind != SaidKind::Handover);
    let mut found: Vec<Candidate> = own.flat_map(of_statement).collect();
    found.sort_by_key(|candidate| (std::cmp::Reverse(candidate.score), candidate.seq));
    found
}

/// A sentence with its score.
struct Scored<'a> {
    sentence: Sentence<'a>,
    cue: Option<&'static Cue>,
    score: i32,
}

fn of_statement(said: &RecordedStatement) -> Vec<Candidate> {
    let sentences = sentences(&said.text);
    if sentences.len() > MAX_SENTENCES {
        return Vec::new();
    }
    let scored: Vec<Scored<'_>> =
        sentences.into_iter().map(|sentence| score(said, sentence)).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < scored.len() {
        let end = run(&said.text, &scored, at);
        if end == at {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).map(|at| scored[at].sentence.text);
        found.push(candidate(said, before, &scored[at..end]));
        at = end;
    }
    found
}

/// Returns the end of the sentences from `start` on that make one candidate.
fn run(text: &str, scored: &[Scored<'_>], start: usize) -> usize {
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let from = offset(scored[start].sentence.text);
    let mut end = start;
    let mut until = from;
    while let Some(next) = scored.get(end).filter(|next| next.score >= MIN_SCORE) {
        let place = offset(next.sentence.text);
        let between = text.get(until..place).unwrap_or_default();
        let follows =
            between.chars().all(|c| c.is_whitespace() || "-*•.)".contains(c) || c.is_numeric());
        if place + next.sentence.text.len() - from > MAX_BYTES || !follows {
            break;
        }
        until = place + next.sentence.text.len();
        end += 1;
    }
    end
}

fn candidate(said: &RecordedStatement, before: Option<&str>, run: &[Scored<'_>]) -> Candidate {
    let text = &said.text;
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let (first, last) = (run[0].sentence.text, run[run.len() - 1].sentence.text);
    let sentence = text.get(offset(first)..offset(last) + last.len()).unwrap_or(first);
    let best = run.iter().max_by_key(|scored| scored.score).unwrap_or(&run[0]);
    let before = before.or(said.question.as_deref()).or(said.claim.as_deref());
    Candidate {
        seq: said.seq,
        at: said.at,
        sentence: sentence.to_owned(),
        before: before.map(str::to_owned),
        kind: best.cue.map_or(MemoryKind::Project, |cue| cue.kind),
        rule: best.cue.map_or("", |cue| &cue.name),
        score: best.score + i32::try_from(run.len() - 1).unwrap_or_default(),
    }
}

fn score<'a>(said: &RecordedStatement, sentence: Sentence<'a>) -> Scored<'a> {
    let none = Scored { sentence, cue: None, score: 0 };
    let plain = plain(sentence.text);
    if rule_for(&plain).is_some() && gates::unless_asked(&plain).is_none()
        || gates::never(sentence.text, &plain).is_some()
    {
        return none;
    }
    let matching =
        CUES.cues.iter().filter(|cue| cue.when.match_any(&plain) && !cue.but.match_any(&plain));
    let mut score = 0;
    let mut best: Option<&Cue> = None;
    for cue in matching {
        score += cue.points;
        if best.is_none_or(|best| cue.points > best.points) {
            best = Some(cue);
        }
    }
    let words = Meaning::of(sentence.text).words.len();
    if words < 3 {
        score -= 2;
    }
    if said.kind == SaidKind::Correction {
        score += 1;
    }
    // Code names bind a sentence to one place of the code.
    let names = sentence.text.split_whitespace().filter(|word| is_code_name(word)).count();
    score -= i32::try_from(names.saturating_sub(1)).unwrap_or_default().min(3);
    Scored { sentence, cue: best, score }
}

/// Whether a word is a symbol, such as `getUser`, `get_user` or `get()`.
fn is_code_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != ')');
    let inner_upper =
        word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    inner_upper || word.contains('_') || word.ends_with("()")
}
