//! The current work, the commands, the results, and the log.

use std::collections::BTreeSet;

use bethink_facts::rows::{file_name, mark};
use bethink_facts::{Action, CommandFact, CommandPurpose, RecordedStatement, SaidKind};
use bethink_transcript::todos::{Todo, TodoStatus};
use bethink_transcript::{Seq, ToolKind};

use super::page::{NotesContext, and_more, clip, times};
use super::task::quoted;
use super::turns::{NotesTurn, TurnStep};
use crate::draft::NotesRow;

/// Number of newest calls and of newest unsolved failures in the current state.
const LAST_ACTIONS: usize = 8;
const OPEN_FAILURES: usize = 3;
/// Number of messages after which an unsolved failure no longer belongs to the current state.
const LATELY: u64 = 60;
const LAST_WORDS: usize = 900;
const ASKED_BYTES: usize = 500;
/// Number of completed todos that are listed, so that none is done twice.
const DONE: usize = 12;
const STEP_BYTES: usize = 180;
const RESULT_BYTES: usize = 420;
const COMMANDS: usize = 24;
/// Two commands that share this many leading words are of the same kind.
const COMMAND_WORDS: usize = 3;

/// Returns rows about the current work and what comes next.
pub(super) fn current_state(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let facts = page.facts;
    let mut rows = Vec::new();
    let is_own =
        |said: &&RecordedStatement| said.kind != SaidKind::Handover && !said.is_interruption();
    if let Some(said) = facts.user.iter().rev().find(is_own) {
        let what = match said.kind {
            SaidKind::Answer => "last answer",
            SaidKind::Correction => "last correction",
            _ => "last request",
        };
        let text = format!("{} The user's {what}: {}", mark(said.seq), quoted(said, ASKED_BYTES));
        rows.push(NotesRow::item("asked", &text, 1_000));
    }
    rows.extend(todos(page));
    if let Some(said) = facts.assistant.last() {
        let done_since = facts.tools.actions.last().is_some_and(|action| action.seq >= said.seq);
        let what = if done_since { "said while working" } else { "said at the end of its turn" };
        let text =
            format!("{} The assistant {what}: “{}”", mark(said.seq), clip(&said.text, LAST_WORDS));
        rows.push(NotesRow::item("said", &text, 900));
    }
    let open = facts.tools.failures.iter().rev().filter(|failure| failure.is_open());
    let lately = open.take_while(|failure| page.facts.through.0 - failure.seq.0 <= LATELY);
    for failure in lately.take(OPEN_FAILURES) {
        let (call, error) = (page.call(&failure.call), clip(&failure.error, STEP_BYTES));
        let text = format!("Not solved yet: {call} failed: {error}");
        rows.push(page.row("open", failure.seq, &text, 500));
    }
    let last = facts.tools.actions.len().saturating_sub(LAST_ACTIONS);
    for action in facts.tools.actions.iter().skip(last) {
        let failed = if action.failed { ", which failed" } else { "" };
        let text = format!("Did {}{failed}", page.call(&action.text));
        rows.push(page.row("did", action.seq, &text, 300));
    }
    rows.extend(next(page));
    rows
}

/// Returns a row with the first thing that an agent should do when it takes over.
fn next(page: &NotesContext<'_>) -> Option<NotesRow> {
    let facts = page.facts;
    let (asked, said) = (facts.user.last()?, facts.assistant.last());
    let acted = facts.tools.actions.last().map_or(Seq::ZERO, |action| action.seq);
    let answered = said.filter(|said| said.seq > asked.seq && said.seq > acted);
    let text = match (answered, facts.next_todo()) {
        _ if asked.is_interruption() && asked.seq > acted => {
            format!("Next: wait for the user, who interrupted in {}", mark(asked.seq))
        }
        (Some(said), None) => format!(
            "Next: wait for the user; there are no open tasks, and the assistant answered in {}",
            mark(said.seq)
        ),
        (_, Some(todo)) => format!("Next: continue with “{}”", clip(&todo.content, STEP_BYTES)),
        (None, None) => format!("Next: continue with what the user asked in {}", mark(asked.seq)),
    };
    Some(NotesRow::item("next", &text, 850))
}

fn todos(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let facts = page.facts;
    let (done, open): (Vec<&Todo>, Vec<&Todo>) =
        facts.todos.iter().partition(|todo| todo.status == TodoStatus::Completed);
    let at = mark(facts.todos_at);
    let mut rows = Vec::new();
    for todo in open {
        let (what, weight) = match todo.status {
            TodoStatus::InProgress => ("In progress", 950),
            _ => ("To do", 800),
        };
        let text = format!("{at} {what}: {}", clip(&todo.content, ASKED_BYTES));
        rows.push(NotesRow::item(format!("todo:{}", clip(&todo.content, 80)), &text, weight));
    }
    if !done.is_empty() && !rows.is_empty() {
        let skipped = done.len().saturating_sub(DONE);
        let named: Vec<String> = done.iter().skip(skipped).map(|t| clip(&t.content, 80)).collect();
        let text = format!("{at} Already done, do not repeat: {}", named.join("; "));
        rows.push(NotesRow::item("done", &text, 450));
    }
    if let Some(said) = facts.said_since_todos().filter(|_| !rows.is_empty()) {
        let text = format!("The todo list is older than the user's message {}.", mark(said.seq));
        rows.push(NotesRow::item("list", &text, 700));
    }
    rows
}

/// Returns rows about the most used commands, each in its newest wording. Tests, checks and commits weigh more.
pub(super) fn workflow(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut commands: Vec<_> = page.facts.tools.commands.iter().collect();
    commands.sort_by_key(|command| std::cmp::Reverse((need(page, command), command.last)));
    commands.truncate(COMMANDS);
    let rows = commands.into_iter().map(|command| {
        let (line, runs) = (page.call(&command.line), times("run", command.runs));
        let text = format!("{} `{line}`: {runs}, {}", mark(command.last), ended(command));
        NotesRow::item(format!("command:{}", kind(&command.line)), &text, need(page, command))
    });
    rows.chain(tools(page)).collect()
}

fn need(page: &NotesContext<'_>, command: &CommandFact) -> u32 {
    let purpose = if command.purpose == CommandPurpose::Other { 0 } else { 150 };
    purpose + command.runs.min(50) * 6 + page.recency(command.last)
}

fn ended(command: &CommandFact) -> String {
    let verdict = command.verdict.as_ref().map(|v| format!(" ({})", clip(v, 120)));
    let last = match command.failed {
        None => "no result yet",
        Some(true) if command.runs == 1 => "failed",
        Some(true) => "failed the last time",
        Some(false) if command.runs == 1 => "succeeded",
        Some(false) if command.failures == 0 => "always succeeded",
        Some(false) => "succeeded the last time",
    };
    format!("{last}{}", verdict.unwrap_or_default())
}

/// Returns the first words of a command, without a leading `cd DIR &&`, options and assignments.
fn kind(line: &str) -> String {
    let after_cd = line.starts_with("cd ").then(|| line.split_once("&& ")).flatten();
    let line = after_cd.map_or(line, |(_, rest)| rest);
    let words =
        line.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains('='));
    words.take(COMMAND_WORDS).collect::<Vec<_>>().join(" ")
}

fn command_line(action: &Action) -> Option<&str> {
    let (tool, line) = action.text.split_once(" `")?;
    (ToolKind::of(tool) == Some(ToolKind::Shell)).then(|| line.trim_end_matches('`'))
}

fn tools(page: &NotesContext<'_>) -> Option<NotesRow> {
    const TOOLS: usize = 12;
    let used = page.facts.tools.most_used().into_iter().take(TOOLS);
    let named: Vec<String> = used.map(|(name, tool)| format!("{name} {}×", tool.calls)).collect();
    let text = format!("Tools used: {}", named.join(", "));
    (!named.is_empty()).then(|| NotesRow::item("tools", &text, 120))
}

/// Returns rows with the assistant's answer at the end of each turn, and with the results of tests and commits.
pub(super) fn results(page: &NotesContext<'_>) -> Vec<NotesRow> {
    page.turns.iter().filter_map(|turn| result(page, turn)).chain(tests(page)).collect()
}

fn result(page: &NotesContext<'_>, turn: &NotesTurn<'_>) -> Option<NotesRow> {
    let closing = turn.closing()?;
    let to = turn.ask.map(|ask| format!(" to {}", mark(ask.seq))).unwrap_or_default();
    let text = format!("Answer{to}: “{}”", clip(&closing.text, RESULT_BYTES));
    Some(page.row("result", closing.seq, &text, 0))
}

/// Returns rows about the last run of each kind of test, and about commits.
fn tests(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let rows = page.facts.tools.commands.iter().filter_map(|command| {
        let what = match command.purpose {
            CommandPurpose::Test => "Tests",
            CommandPurpose::Commit if command.verdict.is_some() => "Committed",
            _ => return None,
        };
        let line = clip(&page.call(&command.line), 90);
        let text = format!("{} {what}: `{line}` {}", mark(command.last), ended(command));
        let weight = 150 + page.recency(command.last);
        Some(NotesRow::item(format!("tests:{}", kind(&command.line)), &text, weight))
    });
    rows.collect()
}

/// Returns rows about the steps of the session, oldest first.
pub(super) fn worklog(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut rows = Vec::new();
    for turn in &page.turns {
        if let Some(ask) = turn.ask {
            let text = match ask.kind {
                _ if ask.is_interruption() => "The user interrupted".to_owned(),
                SaidKind::Handover => {
                    format!("From an earlier session: {}", quoted(ask, STEP_BYTES))
                }
                _ => format!("The user: {}", quoted(ask, STEP_BYTES)),
            };
            rows.push(page.row("turn", ask.seq, &text, 60));
        }
        for step in turn.steps.iter().filter(|step| !step.actions.is_empty()) {
            rows.push(page.row("step", step.seq(), &step_text(step), 0));
        }
    }
    rows
}

fn step_text(step: &TurnStep<'_>) -> String {
    let said = step.said.map(|said| clip(&said.text, STEP_BYTES)).unwrap_or_default();
    let done = done(&step.actions);
    match said.is_empty() {
        true => done,
        false => format!("{} → {done}", said.trim_end_matches([':', '.'])),
    }
}

/// Describes what a few calls did.
fn done(actions: &[&Action]) -> String {
    let mut changed = BTreeSet::new();
    let (mut read, mut reads, mut ran) = (BTreeSet::new(), 0_u32, Vec::new());
    let (mut searched, mut other) = (0_u32, 0_u32);
    for action in actions {
        let (tool, what) = action.text.split_once(" `").unwrap_or((&action.text, ""));
        match ToolKind::of(tool) {
            Some(ToolKind::Edit | ToolKind::Write) => {
                changed.insert(file_name(what.trim_end_matches('`')));
            }
            Some(ToolKind::Read) => {
                reads += 1;
                read.insert(what.trim_end_matches('`'));
            }
            Some(ToolKind::Search) => searched += 1,
            _ => match command_line(action) {
                Some(line) => ran.push((line, action.failed)),
                None => other += 1,
            },
        }
    }
    let mut parts = Vec::new();
    if !changed.is_empty() {
        parts.push(format!("changed {}", changed.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if let Some((line, failed)) = ran.last() {
        let failed = if *failed { " (failed)" } else { "" };
        parts.push(format!("ran `{}`{failed}{}", clip(line, 90), and_more(ran.len(), 1)));
    }
    match (read.len(), read.first()) {
        (0, _) => {}
        (1, Some(file)) if reads > 1 => {
            parts.push(times(&format!("read {}", file_name(file)), reads));
        }
        (1, _) => parts.push("read 1 file".to_owned()),
        (files, _) => parts.push(format!("read {files} files")),
    }
    if searched > 0 {
        parts.push(times("searched", searched));
    }
    if other > 0 {
        parts.push(format!("{other} other call{}", if other == 1 { "" } else { "s" }));
    }
    parts.join("; ")
}
