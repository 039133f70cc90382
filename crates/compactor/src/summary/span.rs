//! The text shown for a collapsed span: the user's words, statements and decisions, files, commands, errors
//! and names, from the span's own messages.

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
    /// Some messages that follow it: they show whether a failure in it was fixed.
    pub after: Vec<Arc<Message>>,
    pub max_bytes: usize,
    pub hints: Hints,
}

/// How many messages after a span are worth looking at: a failure is fixed soon or not at all.
pub const SPAN_AFTER: usize = 40;

/// The strategy of these texts, stored with each span: no model is called.
pub const SPAN_STRATEGY: &str = "embedded";

/// The text of a span in up to `max_bytes`, or why there is none, and then the span stays as it is.
pub fn write_span(request: &SpanRequest) -> Result<String, String> {
    let (Some(first), Some(last)) = (request.messages.first(), request.messages.last()) else {
        return Err("a span has at least one message".to_owned());
    };
    let head = request.hints.collapsed(first.seq, last.seq, &request.id.to_string());
    let room = request.max_bytes.saturating_sub(head.len() + 1);
    if room < LEAST_ROOM {
        return Err(format!("{room} bytes are not enough for the text of a span"));
    }
    Ok(format!("{head}\n{}", body(request, last.seq, room)).trim_end().to_owned())
}

/// A heading and a line or two.
const LEAST_ROOM: usize = 160;
/// Bytes of a heading.
const HEADING: usize = 20;
const SYMBOLS: usize = 8;
/// Each message of the user keeps at least this many bytes.
const LEAST_WORDS: usize = 120;
/// With less room than this, no names are listed.
const NAMES_FROM: usize = 60;

/// Shares of the room, in percent. The rest goes to statements, code and names.
const WORDS: usize = 40;
const ERRORS: usize = 15;
const FILES: usize = 22;
const COMMANDS: usize = 15;
/// Share of that rest.
const STATEMENTS: usize = 60;
/// Share of what is left after statements; names get the remainder.
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
    // Code contains a name but does not say what it is about, so the list may repeat it.
    let code = code::within(&all, left * CODE / 100);
    let names = names(&facts, &written.known, left.saturating_sub(code.len()));
    [words, statements, files, code, commands, errors, names].concat()
}

/// A request in which every message is hidden.
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

/// The user's words, in full where they fit: long messages are shortened before short ones.
fn words(facts: &Facts, limit: usize) -> String {
    let said: Vec<&RecordedStatement> =
        facts.user.iter().filter(|s| s.kind != SaidKind::Handover).collect();
    let mut page = SummaryPage::new(limit.saturating_sub(HEADING));
    let overhead: usize = said.iter().map(|s| mark(s.seq).len() + 2).sum();
    let each = level(said.iter().map(|s| s.text.len()), page.left().saturating_sub(overhead));
    for said in said {
        let text = without_middle(&said.text, each.max(LEAST_WORDS));
        let line = format!("{} {text}", mark(said.seq));
        if !page.line(&format!("{line}{}", question(said))) {
            page.line_or_part(&line);
        }
    }
    titled("The user said:", page.finish())
}

/// The limit for each item that makes all of them fit in `room` together.
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

/// Commands, and calls that are not about a file.
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

/// Failures in the span, and how they ended, there or soon after.
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

/// The most needed names that the other sections do not contain.
fn names(facts: &Facts, known: &HashSet<String>, limit: usize) -> String {
    if limit < NAMES_FROM {
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
