//! Failures, how they ended, and what was learned from them.

use std::collections::{HashMap, HashSet};

use bethink_facts::rows::{file_name, mark};
use bethink_facts::{SaidKind, ToolFailure};

use super::page::{NotesContext, and_more, clip};
use super::task::quoted;
use crate::draft::NotesRow;

const ERROR_BYTES: usize = 200;
const SAID_BYTES: usize = 320;
/// Number of files named in one row.
const FILES: usize = 4;
/// Number of calls that must fail with the same error to be worth a row.
const OFTEN: usize = 3;

/// Returns rows about unsolved failures, failures that went away without a change, and the user's corrections, oldest
/// first.
pub(super) fn errors(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut rows = Vec::new();
    let mut seen = HashSet::new();
    for failure in page.facts.tools.failures.iter().rev() {
        let call = page.call(&failure.call);
        let is_new = seen.insert((call.clone(), &failure.error));
        if is_new && !is_lesson(failure) && !is_refusal(failure) {
            let (after, weight) = after(failure);
            let text = format!("{call} failed: {}; {after}", clip(&failure.error, ERROR_BYTES));
            rows.push((failure.seq, page.row("failure", failure.seq, &text, weight)));
        }
    }
    for said in page.facts.user.iter().filter(|said| said.kind == SaidKind::Correction) {
        if !said.is_interruption() {
            let text = format!("The user's correction: {}", quoted(said, SAID_BYTES));
            rows.push((said.seq, page.row("correction", said.seq, &text, 400)));
        }
    }
    rows.sort_by_key(|(seq, _)| *seq);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Whether a person refused the call. Their words are among the corrections.
fn is_refusal(failure: &ToolFailure) -> bool {
    failure.error.starts_with("The user doesn't want to proceed")
}

/// Whether a change solved the failure. If so, the failure is listed under the learnings.
fn is_lesson(failure: &ToolFailure) -> bool {
    failure.fixed.is_some() && !failure.edits.is_empty()
}

fn after(failure: &ToolFailure) -> (String, u32) {
    match (failure.fixed, failure.gone) {
        (Some(fixed), _) => (format!("the same call succeeded in {}", mark(fixed)), 50),
        (None, Some(gone)) => (format!("the error was no longer reported in {}", mark(gone)), 100),
        (None, None) if failure.edits.is_empty() => {
            ("the call has not succeeded since".to_owned(), 250)
        }
        (None, None) => (
            format!(
                "{} changed since then, but the call still has not succeeded",
                changed(failure)
            ),
            300,
        ),
    }
}

fn changed(failure: &ToolFailure) -> String {
    let names: Vec<&str> = failure.edits.iter().map(|path| file_name(path)).take(FILES).collect();
    format!("{}{}", names.join(", "), and_more(failure.edits.len(), names.len()))
}

/// Returns rows about the user's lasting rules, changes that solved a failure, and calls that keep failing.
pub(super) fn learnings(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut rows = rules(page);
    let mut seen = HashSet::new();
    for failure in page.facts.tools.failures.iter().filter(|failure| is_lesson(failure)) {
        let Some(fixed) = failure.fixed else { continue };
        let call = page.call(&failure.call);
        let text = format!(
            "{call} failed with {}; it succeeded in {} after a change to {}",
            clip(&failure.error, ERROR_BYTES),
            mark(fixed),
            changed(failure)
        );
        if seen.insert((call, &failure.error)) {
            rows.push(page.row("lesson", failure.seq, &text, 100));
        }
    }
    rows.extend(often(page));
    rows
}

fn rules(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut rows = Vec::new();
    for said in page.facts.user.iter().filter(|said| said.kind != SaidKind::Handover) {
        for (at, sentence) in sentences(&said.text).filter(|s| is_rule(s)).enumerate().take(4) {
            let text =
                format!("{} The user wants: “{}”", mark(said.seq), clip(sentence, SAID_BYTES));
            let key = format!("rule:{}:{at}", said.seq);
            rows.push(NotesRow::item(key, &text, 600 + page.recency(said.seq)));
        }
    }
    rows
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '。', '！']).flat_map(|line| line.split(". ")).map(str::trim)
}

/// Whether a sentence states a rule that applies beyond the current task.
fn is_rule(sentence: &str) -> bool {
    const WORDS: &str = "always |never |from now on|in future|in the future|make sure to always|\
        remember to|remember that|i prefer|we prefer|以后|永远不要";
    const LONGEST: usize = 400;
    let lower = sentence.to_lowercase();
    !sentence.ends_with(['?', '？'])
        && (8..LONGEST).contains(&sentence.len())
        && WORDS.split('|').any(|word| lower.contains(word))
}

fn often(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut times: HashMap<&str, (usize, &ToolFailure)> = HashMap::new();
    for failure in &page.facts.tools.failures {
        let entry = times.entry(failure.error.as_str()).or_insert((0, failure));
        *entry = (entry.0 + 1, failure);
    }
    let mut often: Vec<_> = times.into_iter().filter(|(_, (count, _))| *count >= OFTEN).collect();
    often.sort_by_key(|(_, (_, failure))| failure.seq);
    let rows = often.into_iter().map(|(error, (count, failure))| {
        let (call, error_line) = (page.call(&failure.call), clip(error, ERROR_BYTES));
        let text = format!(
            "{} {count} calls failed with the same error, most recently {call}: {error_line}",
            mark(failure.seq)
        );
        let weight = 200 + page.recency(failure.seq);
        NotesRow::item(format!("often:{}", clip(error, 80)), &text, weight)
    });
    rows.collect()
}
