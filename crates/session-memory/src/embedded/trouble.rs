//! What went wrong, what came after it, what was learned from it.

use std::collections::HashMap;

use bethink_facts::{Failure, SaidKind};

use super::task::{is_interruption, quoted};
use super::{Page, clip, file_name, mark};
use crate::draft::Row;

const ERROR_BYTES: usize = 200;
const SAID_BYTES: usize = 320;
/// Files named in one row.
const FILES: usize = 4;
/// Calls that fail so often in one way teach something.
const OFTEN: usize = 3;

/// Failures that were not seen to be solved, those that passed by themselves, and the user's
/// corrections, oldest first.
pub(super) fn errors(page: &Page<'_>) -> Vec<Row> {
    let mut rows: Vec<(u64, Row)> = Vec::new();
    let mut seen: HashMap<(String, &str), usize> = HashMap::new();
    for failure in page.facts.tools.failures.iter().rev() {
        let call = page.call(&failure.call);
        let times = seen.entry((call.clone(), failure.error.as_str())).or_default();
        *times += 1;
        if *times > 1 || is_lesson(failure) || is_refusal(failure) {
            continue;
        }
        let (after, weight) = after(failure);
        let text = format!(
            "{} {call} failed: {}; {after}",
            mark(failure.seq),
            clip(&failure.error, ERROR_BYTES)
        );
        let weight = weight + page.recency(failure.seq);
        rows.push((failure.seq.0, Row::item(format!("failure:{}", failure.seq), &text, weight)));
    }
    for said in page.facts.user.iter().filter(|said| said.kind == SaidKind::Correction) {
        if is_interruption(said) {
            continue;
        }
        let text = format!("{} The user corrected: {}", mark(said.seq), quoted(said, SAID_BYTES));
        let row =
            Row::item(format!("correction:{}", said.seq), &text, 400 + page.recency(said.seq));
        rows.push((said.seq.0, row));
    }
    rows.sort_by_key(|(seq, _)| *seq);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// A person refused the call; their words stand among the corrections.
fn is_refusal(failure: &Failure) -> bool {
    failure.error.starts_with("The user doesn't want to proceed")
}

/// It was solved by a change: that belongs to what was learned.
fn is_lesson(failure: &Failure) -> bool {
    failure.fixed.is_some() && !failure.edits.is_empty()
}

fn after(failure: &Failure) -> (String, u32) {
    match failure.fixed {
        Some(fixed) => (format!("the same call worked in {}", mark(fixed)), 50),
        None if failure.edits.is_empty() => ("not seen to work since".to_owned(), 250),
        None => (format!("{} changed since, not tried again", changed(failure)), 300),
    }
}

fn changed(failure: &Failure) -> String {
    let names: Vec<&str> = failure.edits.iter().map(|path| file_name(path)).take(FILES).collect();
    let more = match failure.edits.len().saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}

/// The user's standing wishes, what solved a failure, what keeps failing.
pub(super) fn learnings(page: &Page<'_>) -> Vec<Row> {
    let mut rows = rules(page);
    let mut seen = std::collections::HashSet::new();
    for failure in page.facts.tools.failures.iter().filter(|failure| is_lesson(failure)) {
        let Some(fixed) = failure.fixed else { continue };
        let call = page.call(&failure.call);
        if !seen.insert((call.clone(), &failure.error)) {
            continue;
        }
        let text = format!(
            "{} {call} failed with {}; it worked in {} after a change of {}",
            mark(failure.seq),
            clip(&failure.error, ERROR_BYTES),
            mark(fixed),
            changed(failure)
        );
        let key = format!("lesson:{}", failure.seq);
        rows.push(Row::item(key, &text, 100 + page.recency(failure.seq)));
    }
    rows.extend(often(page));
    rows
}

fn rules(page: &Page<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for said in page.facts.user.iter().filter(|said| said.kind != SaidKind::Handover) {
        for (at, sentence) in sentences(&said.text).filter(|s| is_rule(s)).enumerate().take(4) {
            let text =
                format!("{} The user wants: “{}”", mark(said.seq), clip(sentence, SAID_BYTES));
            let key = format!("rule:{}:{at}", said.seq);
            rows.push(Row::item(key, &text, 600 + page.recency(said.seq)));
        }
    }
    rows
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '。', '！']).flat_map(|line| line.split(". ")).map(str::trim)
}

/// A wish that outlives the moment.
fn is_rule(sentence: &str) -> bool {
    const WORDS: [&str; 12] = [
        "always ",
        "never ",
        "from now on",
        "in future",
        "in the future",
        "make sure to always",
        "remember to",
        "remember that",
        "i prefer",
        "we prefer",
        "以后",
        "永远不要",
    ];
    const LONGEST: usize = 400;
    let lower = sentence.to_lowercase();
    !sentence.ends_with(['?', '？'])
        && (8..LONGEST).contains(&sentence.len())
        && WORDS.iter().any(|word| lower.contains(word))
}

fn often(page: &Page<'_>) -> Vec<Row> {
    let mut times: HashMap<&str, (usize, &Failure)> = HashMap::new();
    for failure in &page.facts.tools.failures {
        let entry = times.entry(failure.error.as_str()).or_insert((0, failure));
        *entry = (entry.0 + 1, failure);
    }
    let mut often: Vec<_> = times.into_iter().filter(|(_, (count, _))| *count >= OFTEN).collect();
    often.sort_by_key(|(_, (_, failure))| failure.seq);
    often
        .into_iter()
        .map(|(error, (count, failure))| {
            let text = format!(
                "{} {count} calls failed alike, last {}: {}",
                mark(failure.seq),
                page.call(&failure.call),
                clip(error, ERROR_BYTES)
            );
            Row::item(format!("often:{}", clip(error, 80)), &text, 200 + page.recency(failure.seq))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_outlives_the_moment() {
        for (sentence, expect) in [
            ("Always run the linter before you commit", true),
            ("从现在起以后都用中文回答我的问题", true),
            ("Run the linter now", false),
            ("what about auto commits, always fill in 100%?", false),
            ("never ", false),
        ] {
            assert_eq!(is_rule(sentence), expect, "{sentence}");
        }
    }
}
