//! The text that replaces a collapsed span: the user's words, statements and decisions, files, commands and errors, all from
//! the span's own messages; only the fix of an error may be in a later one.

use std::collections::HashSet;
use std::sync::Arc;

use bethink_context::Hints;
use bethink_facts::rows::{action, command, common_root, failure, mark};
use bethink_facts::{CommandPurpose, Facts, RecordedStatement, SaidKind, without_middle};
use bethink_transcript::{CollapseId, Message, Seq};

use crate::ladder::SummaryRequest;

use super::page::SummaryPage;
use super::passages;
use super::rows::below;
use super::user_words::question;

/// The input for a span's text.
#[derive(Clone, Debug)]
pub struct SpanRequest {
    pub id: CollapseId,
    /// The span's messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// Some messages after the span, which show whether a failure in the span was fixed.
    pub after: Vec<Arc<Message>>,
    pub max_bytes: usize,
    pub hints: Hints,
}

/// Number of messages after a span that are searched for fixes: a failure is fixed soon or not at all.
pub const SPAN_AFTER: usize = 40;

/// The strategy that is stored with each span: no model is called to write its text.
pub const SPAN_STRATEGY: &str = "embedded";

/// Writes the text of a span in up to `max_bytes`. If this fails, the error gives the reason, and the span is not collapsed.
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
/// Minimum size of each of the user's messages, in bytes.
const MIN_WORDS_BYTES: usize = 120;

/// Percentages of the room. Statements and files share the remainder.
const WORDS: usize = 40;
const ERRORS: usize = 15;
const COMMANDS: usize = 15;

fn body(request: &SpanRequest, last: Seq, room: usize) -> String {
    let mut facts = Facts::default();
    request.messages.iter().for_each(|message| facts.observe(message));
    let root = common_root(facts.tools.files());
    let share = |percent: usize| room * percent / 100;
    let words = words(&facts, share(WORDS));
    let errors = errors(request, &facts, last, &root, share(ERRORS));
    let commands = commands(&facts, &root, share(COMMANDS));
    let spent = words.len() + errors.len() + commands.len() + 2 * HEADING;
    let known = [&*words, &*errors, &*commands];
    let shown = facts.user.iter().map(|said| said.seq).collect();
    let (files, statements) =
        passages(&everything(&facts), &shown, &known, room.saturating_sub(spent));
    let statements = titled("Statements and decisions:", statements);
    [words, statements, titled("Files:", files), commands, errors].concat()
}

/// Makes a request in which every message is hidden.
fn everything(facts: &Facts) -> SummaryRequest<'_> {
    SummaryRequest {
        facts,
        max_bytes: 0,
        own_bytes: 0,
        user_bytes: 0,
        kept_from: None,
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

/// Returns the size limit per item at which all items fit in `room`.
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

/// Lists commands, and calls that do not involve a file of the session.
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

/// Lists the failures in the span, and how each was resolved, in the span or soon after it.
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
