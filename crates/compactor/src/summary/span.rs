//! The text that replaces a collapsed span: the user's words, statements and decisions, files, commands, errors and
//! names, all from the span's own messages.

use std::collections::HashSet;
use std::sync::Arc;

use bethink_context::Hints;
use bethink_facts::rows::{action, command, common_root, failure, file, mark};
use bethink_facts::{CommandPurpose, Facts, RecordedStatement, SaidKind, without_middle};
use bethink_transcript::{CollapseId, Message, Seq};

use crate::ladder::SummaryRequest;

use super::page::SummaryPage;
use super::rows::below;
use super::user_words::question;
use super::{WrittenSummary, choose, code};

/// The input for a span's text.
#[derive(Clone, Debug)]
pub struct SpanRequest {
    pub id: CollapseId,
    /// The span's messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// Some messages after it, which show whether a failure in it was fixed.
    pub after: Vec<Arc<Message>>,
    pub max_bytes: usize,
    pub hints: Hints,
}

/// Number of messages after a span that are searched for fixes: a failure is fixed soon or not at all.
pub const SPAN_AFTER: usize = 40;

/// The strategy of these texts, stored with each span: no model is called.
pub const SPAN_STRATEGY: &str = "embedded";

/// Writes the text of a span in up to `max_bytes`. After an error, which gives the reason, the span is not collapsed.
pub fn write_span(request: &SpanRequest) -> Result<String, String> {
    let (Some(first), Some(last)) = (request.messages.first(), request.messages.last()) else {
        return Err("the span has no messages".to_owned());
    };
    let head = request.hints.collapsed(first.seq, last.seq, &request.id.to_string());
    let room = request.max_bytes.saturating_sub(head.len() + 1);
    if room < MIN_ROOM_BYTES {
        return Err(format!("{room} bytes are not enough for the text of a span"));
    }
    Ok(format!("{head}\n{}", body(request, last.seq, room)).trim_end().to_owned())
}

/// Minimum room for a heading and a line or two, in bytes.
const MIN_ROOM_BYTES: usize = 160;
/// Size of a heading, in bytes.
const HEADING: usize = 20;
const SYMBOLS: usize = 8;
/// Minimum size of each of the user's messages, in bytes.
const MIN_WORDS_BYTES: usize = 120;
/// Minimum room for names, in bytes.
const MIN_NAMES_BYTES: usize = 60;

/// Percentages of the room. Statements, code and names share the remainder.
const WORDS: usize = 40;
const ERRORS: usize = 15;
const FILES: usize = 22;
const COMMANDS: usize = 15;
/// Percentage of that remainder.
const STATEMENTS: usize = 60;
/// Percentage of the room that statements leave; names get what code leaves.
const CODE: usize = 55;

fn body(request: &SpanRequest, last: Seq, room: usize) -> String {
    let mut facts = Facts::default();
    request.messages.iter().for_each(|message| facts.observe(message));
    let root = common_root(facts.tools.files());
    let share = |percent: usize| room * percent / 100;
    let words = words(&facts, share(WORDS));
    let errors = errors(request, &facts, last, &root, share(ERRORS));
    let files = files(&facts, &root, share(FILES));
    let commands = commands(&facts, &root, share(COMMANDS));
    let mut written = WrittenSummary { known: HashSet::new(), user_from: Some(Seq::ZERO) };
    let mut known = |text: &str| crate::fidelity::collect(text, &mut written.known);
    [&words, &errors, &files, &commands].into_iter().for_each(|text| known(text));
    let spent = |more: usize| words.len() + errors.len() + files.len() + commands.len() + more;
    let visible = HashSet::new();
    let all = everything(&facts, &visible);
    let statements = statements(&all, room.saturating_sub(spent(0)) * STATEMENTS / 100, &written);
    crate::fidelity::collect(&statements, &mut written.known);
    let left = room.saturating_sub(spent(statements.len()));
    // Code contains names without saying what they are about, so the list may repeat them.
    let code = code::within(&all, left * CODE / 100);
    let names = names(&facts, &written.known, left.saturating_sub(code.len()));
    [words, statements, files, code, commands, errors, names].concat()
}

/// Makes a request in which every message is hidden.
fn everything<'a>(facts: &'a Facts, visible: &'a HashSet<String>) -> SummaryRequest<'a> {
    SummaryRequest {
        facts,
        max_bytes: 0,
        user_bytes: 0,
        kept_from: None,
        visible,
        stands_alone: true,
        focus: None,
    }
}

fn titled(title: &str, lines: String) -> String {
    if lines.is_empty() { lines } else { format!("{title}\n{lines}") }
}

/// Writes the user's words, in full if they fit. Long messages are shortened before short ones.
fn words(facts: &Facts, limit: usize) -> String {
    let said: Vec<&RecordedStatement> =
        facts.user.iter().filter(|s| s.kind != SaidKind::Handover).collect();
    let mut page = SummaryPage::new(limit.saturating_sub(HEADING));
    let overhead: usize = said.iter().map(|s| mark(s.seq).len() + 2).sum();
    let each = level(said.iter().map(|s| s.text.len()), page.left().saturating_sub(overhead));
    for said in said {
        let text = without_middle(&said.text, each.max(MIN_WORDS_BYTES));
        let line = format!("{} {text}", mark(said.seq));
        if !page.line(&format!("{line}{}", question(said))) {
            page.line_or_part(&line);
        }
    }
    titled("The user said:", page.finish())
}

/// Returns the size limit for each item with which all of them fit in `room`.
fn level(lengths: impl Iterator<Item = usize>, room: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut left = room;
    let count = lengths.len();
    for (at, length) in lengths.into_iter().enumerate() {
        let even = left / (count - at);
        if length > even {
            return even;
        }
        left -= length;
    }
    usize::MAX
}

fn statements(all: &SummaryRequest<'_>, limit: usize, written: &WrittenSummary) -> String {
    let mut page = SummaryPage::new(limit.saturating_sub(HEADING));
    choose::statements(&mut page, all, written);
    titled("Statements and decisions:", page.finish())
}

fn files(facts: &Facts, root: &str, limit: usize) -> String {
    let mut page = SummaryPage::new(limit.saturating_sub(HEADING + root.len()));
    let mut files: Vec<_> = facts.tools.files().iter().collect();
    files.sort_by_key(|file| (file.edits == 0, std::cmp::Reverse(file.last)));
    for found in files {
        let whole = format!("- {}", file(found, root, SYMBOLS));
        if !page.line(&whole) && !page.line(&format!("- {}", file(found, root, 0))) {
            break;
        }
    }
    let title = if root.is_empty() { "Files:".to_owned() } else { format!("Files in {root}:") };
    titled(&title, page.finish())
}

/// Lists commands, and calls that are not about a file.
fn commands(facts: &Facts, root: &str, limit: usize) -> String {
    let mut page = SummaryPage::new(limit.saturating_sub(HEADING));
    let mut run: Vec<_> = facts.tools.commands.iter().collect();
    run.sort_by_key(|run| {
        (
            run.purpose == CommandPurpose::Other && run.failed != Some(true),
            std::cmp::Reverse(run.last),
        )
    });
    for run in run {
        page.line(&format!("- {}", below(&command(run), root)));
    }
    let known = |text: &str| facts.tools.files().iter().any(|file| text.contains(&*file.path));
    for call in facts.tools.actions.iter().filter(|a| !a.of_list && a.text.contains('`')) {
        let is_command = facts.tools.commands.iter().any(|run| call.text.contains(&*run.line));
        if !is_command && !known(&call.text) {
            page.line(&format!("- {}", below(&action(call), root)));
        }
    }
    titled("Commands and calls:", page.finish())
}

/// Lists failures in the span, and how they ended, in it or soon after it.
fn errors(request: &SpanRequest, facts: &Facts, last: Seq, root: &str, limit: usize) -> String {
    if facts.tools.failures.is_empty() {
        return String::new();
    }
    let mut later = facts.clone();
    request.after.iter().take(SPAN_AFTER).for_each(|message| later.observe(message));
    let mut page = SummaryPage::new(limit.saturating_sub(HEADING));
    let mut seen = HashSet::new();
    let mut failures: Vec<_> = later.tools.failures.iter().filter(|f| f.seq <= last).collect();
    failures.sort_by_key(|f| (!f.of_command, std::cmp::Reverse(f.seq)));
    for found in failures {
        if seen.insert((&found.call, &found.error)) {
            page.line(&format!("- {}", below(&failure(found), root)));
        }
    }
    titled("Errors:", page.finish())
}

/// Lists the most needed names that the other sections do not contain.
fn names(facts: &Facts, known: &HashSet<String>, limit: usize) -> String {
    if limit < MIN_NAMES_BYTES {
        return String::new();
    }
    const OPENING: &str = "Other names: ";
    let mut names = Vec::new();
    let mut left = limit.saturating_sub(OPENING.len());
    for ranked in facts.names.ranked(&facts.moment()) {
        if known.contains(ranked.name) {
            continue;
        }
        let shown = facts.names.shown(ranked.name);
        let separator = if names.is_empty() { 0 } else { 2 };
        if shown.len() + 2 > left {
            break;
        }
        left -= shown.len() + separator;
        names.push(shown);
    }
    if names.is_empty() { String::new() } else { format!("{OPENING}{}", names.join(", ")) }
}
