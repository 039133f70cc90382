//! What each edited file says now: the lines that the session's edits wrote.

use std::collections::HashSet;
use std::path::Path;

use bethink_facts::prose::passages;
use bethink_facts::rows::{common_root, done_to, mark, one_line};
use bethink_facts::symbols::defined_by;
use bethink_facts::{FileFact, names};
use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

use crate::ladder::SummaryRequest;

use super::select::{PassageCandidate, PassageGroup, freshness};

const LINE_BYTES: usize = 200;

pub(super) fn groups(request: &SummaryRequest<'_>) -> Vec<PassageGroup> {
    let facts = request.facts;
    let root = common_root(facts.tools.files());
    let newest = facts.tools.newest_edit();
    let mut paths: Vec<&str> = Vec::new();
    let mut groups: Vec<PassageGroup> = Vec::new();
    for file in facts.tools.files().iter().filter(|file| file.edits > 0) {
        paths.push(&file.path);
        groups.push(group(request, file, newest, &root));
    }
    // A definition that was only read matters only if the session mentioned it.
    let is_used = |text: &str| {
        let used = defined_by(text).and_then(|symbol| facts.names.get(symbol));
        used.is_some_and(|used| used.spoken > 0)
    };
    let seen = facts.tools.definitions.iter().filter(|seen| request.is_hidden(seen.seq));
    for seen in seen.filter(|seen| is_used(&seen.text)) {
        let place = paths.iter().position(|path| Path::new(path).ends_with(&*seen.path));
        let place = place.unwrap_or_else(|| {
            paths.push(&seen.path);
            let path = seen.path.strip_prefix(&*root).unwrap_or(&seen.path);
            groups.push(PassageGroup {
                head: format!("- {path}"),
                seq: seen.seq,
                ..PassageGroup::default()
            });
            groups.len() - 1
        });
        let is_known = groups[place].passages.iter().any(|p| *p.text == *seen.text);
        if !is_known {
            let text = format!("seen on line {}: {}", seen.line, shorten(&seen.text, LINE_BYTES));
            let worth = SEEN * freshness(facts, seen.seq);
            groups[place].passages.push(PassageCandidate { text, worth, is_chosen: false });
        }
    }
    groups
}

/// Factor for the lines of the newest edit, where the current work is.
const NEWEST: f32 = 3.0;
/// Value of a definition that was only read.
const SEEN: f32 = 0.3;

fn group(
    request: &SummaryRequest<'_>,
    file: &FileFact,
    newest_edit: Seq,
    root: &str,
) -> PassageGroup {
    let facts = request.facts;
    let path = file.path.strip_prefix(root).unwrap_or(&file.path);
    let head = format!("- {path} ({}, last {})", done_to(file), mark(file.last));
    let is_test = path.to_lowercase().contains("test");
    let passages = file.written().iter().filter(|line| request.is_hidden(line.seq)).map(|line| {
        let newest = if line.seq == newest_edit { NEWEST } else { 1.0 };
        let kind = if is_test { TEST } else { 1.0 };
        let says = if is_one_term(&line.text) { ONE_TERM } else { 1.0 };
        let worth = newest * freshness(facts, line.seq) * line.worth(path) * kind * says;
        PassageCandidate { text: shorten(&line.text, LINE_BYTES), worth, is_chosen: false }
    });
    let notes = file.notes.iter().filter(|note| request.is_hidden(note.seq)).map(|note| {
        let text = format!("{} {}", mark(note.seq), one_line(last_passage(&note.text), LINE_BYTES));
        let mut named = HashSet::new();
        names::names_in(&text, &mut named);
        let worth = if named.is_empty() { VAGUE_NOTE } else { NOTE };
        let worth = worth * freshness(facts, note.seq);
        PassageCandidate { text, worth, is_chosen: false }
    });
    PassageGroup {
        head,
        seq: file.last,
        is_edited: true,
        passages: notes.chain(passages).collect(),
    }
}

/// Whether a line has at most one word or number, such as `} else {` or `t.Parallel()`.
fn is_one_term(line: &str) -> bool {
    let terms = line.split(|c: char| !c.is_alphanumeric());
    terms.filter(|term| term.len() > 2 || term.parse::<u64>().is_ok()).nth(1).is_none()
}

/// Factor for lines with only one word.
const ONE_TERM: f32 = 0.2;
/// Factor for the score of lines in test files.
const TEST: f32 = 0.5;
/// Value of a statement made before an edit.
const NOTE: f32 = 0.9;
/// Value of a statement that was made before an edit and that contains no names.
const VAGUE_NOTE: f32 = 0.3;

/// Returns the last passage of a statement, which is usually about the call that follows.
fn last_passage(text: &str) -> &str {
    passages(text).last().map_or(text, |passage| passage.text)
}

/// Maximum share of the room, as a divisor, that is reserved for edited files without a chosen passage.
const ROWS_SHARE: usize = 10;

/// Returns the room for edited files without a chosen passage: no more than all of them need.
pub(super) fn room_for_rows(groups: &[PassageGroup], room: usize) -> usize {
    let edited = groups.iter().filter(|group| group.is_edited);
    (room / ROWS_SHARE).min(edited.map(|group| group.head.len() + 1).sum())
}

/// Writes the chosen passages of each file, and lists the other edited files, most recently used first, in what is left of
/// `room`.
pub(super) fn render(groups: &[PassageGroup], mut room: usize) -> String {
    let mut out = String::new();
    let mut others: Vec<&PassageGroup> = Vec::new();
    for group in groups {
        let chosen: Vec<&str> =
            group.passages.iter().filter(|p| p.is_chosen).map(|p| &*p.text).collect();
        if chosen.is_empty() {
            others.push(group);
            continue;
        }
        out.push_str(&group.head);
        out.push_str(":\n");
        for line in chosen {
            out.push_str("  ");
            out.push_str(line);
            out.push('\n');
        }
    }
    others.sort_by_key(|group| std::cmp::Reverse(group.seq));
    for group in others.into_iter().filter(|group| group.is_edited) {
        if group.head.len() < room {
            room -= group.head.len() + 1;
            out.push_str(&group.head);
            out.push('\n');
        }
    }
    out
}

/// Says where the work is: the directory that most files are in, and the branch.
pub(super) fn place(request: &SummaryRequest<'_>, room: usize) -> String {
    let facts = request.facts;
    let root = common_root(facts.tools.files());
    let branch = facts
        .tools
        .branch
        .as_ref()
        .map(|(seq, branch)| format!("On branch {branch} {}.", mark(*seq)));
    let below = (!root.is_empty()).then(|| format!("Paths are relative to {root}."));
    let lines: Vec<String> = below.into_iter().chain(branch).collect();
    let text = lines.join(" ");
    if text.is_empty() || text.len() > room { String::new() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_files_without_a_quoted_line_are_listed_with_the_newest_first() {
        let edited = |name: &str, seq: u64| PassageGroup {
            head: format!("- {name} (edited)"),
            seq: Seq(seq),
            is_edited: true,
            ..PassageGroup::default()
        };
        let read = PassageGroup { is_edited: false, ..edited("read.rs", 12) };
        let groups = [edited("old.rs", 3), edited("new.rs", 9), edited("later.rs", 11), read];
        let all = "- later.rs (edited)\n- new.rs (edited)\n- old.rs (edited)\n";
        assert_eq!(render(&groups, 1_000), all);
        assert_eq!(render(&groups, 40), "- later.rs (edited)\n- new.rs (edited)\n");
        assert_eq!(room_for_rows(&groups, 10_000), all.len());
        assert_eq!(room_for_rows(&groups, 400), 40);
    }

    #[test]
    fn a_line_with_one_word_says_little() {
        for line in ["} else {", "t.Parallel()", "}"] {
            assert!(is_one_term(line), "{line}");
        }
        for line in ["port: 80", "return nil", "let tide = 7;"] {
            assert!(!is_one_term(line), "{line}");
        }
    }
}
