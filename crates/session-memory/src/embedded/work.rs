//! What is being done now, what was done, by which commands, and what came of it.

use std::collections::BTreeSet;

use bethink_context::todos::{Status, Todo};
use bethink_facts::files::Role;
use bethink_facts::{Action, CommandFact, Purpose, SaidKind};
use bethink_transcript::Seq;

use super::task::{is_interruption, quoted};
use super::turns::{Step, Turn};
use super::{Page, clip, file_name, mark};
use crate::draft::Row;

/// Newest calls, and newest failures that stand open, in the current state.
const LAST_ACTIONS: usize = 8;
const OPEN_FAILURES: usize = 3;
/// Messages after which a failure that nobody returned to is history.
const LATELY: u64 = 60;
const LAST_WORDS: usize = 900;
const ASKED_BYTES: usize = 500;
/// Done todos that are named, so that none is done twice.
const DONE: usize = 12;
const STEP_BYTES: usize = 180;
const RESULT_BYTES: usize = 420;
const COMMANDS: usize = 24;
/// Words that make two commands one kind.
const COMMAND_WORDS: usize = 3;

const SHELLS: [&str; 7] =
    ["Bash", "bash", "shell", "exec_command", "run_terminal_cmd", "execute_command", "terminal"];
pub(super) fn current_state(page: &Page<'_>) -> Vec<Row> {
    let facts = page.facts;
    let mut rows = Vec::new();
    let own = facts
        .user
        .iter()
        .rev()
        .find(|said| said.kind != SaidKind::Handover && !is_interruption(said));
    if let Some(said) = own {
        let what = match said.kind {
            SaidKind::Answer => "answered last",
            SaidKind::Correction => "corrected last",
            _ => "asked last",
        };
        let text = format!("{} The user {what}: {}", mark(said.seq), quoted(said, ASKED_BYTES));
        rows.push(Row::item("asked", &text, 1_000));
    }
    rows.extend(todos(page));
    if let Some(said) = facts.assistant.last() {
        let done_since = facts.tools.actions.last().is_some_and(|action| action.seq >= said.seq);
        let what = if done_since { "said while working" } else { "said, and ended its turn" };
        let text =
            format!("{} The assistant {what}: “{}”", mark(said.seq), clip(&said.text, LAST_WORDS));
        rows.push(Row::item("said", &text, 900));
    }
    let open = facts.tools.failures.iter().rev().filter(|failure| failure.fixed.is_none());
    let lately = open.take_while(|failure| page.facts.through().0 - failure.seq.0 <= LATELY);
    for failure in lately.take(OPEN_FAILURES) {
        let text = format!(
            "{} Not solved yet: {} failed: {}",
            mark(failure.seq),
            page.call(&failure.call),
            clip(&failure.error, STEP_BYTES)
        );
        rows.push(Row::item(
            format!("open:{}", failure.seq),
            &text,
            500 + page.recency(failure.seq),
        ));
    }
    let last = facts.tools.actions.len().saturating_sub(LAST_ACTIONS);
    for action in facts.tools.actions.iter().skip(last) {
        let text =
            format!("{} Did {}{}", mark(action.seq), page.call(&action.text), failed(action));
        rows.push(Row::item(format!("did:{}", action.seq), &text, 300 + page.recency(action.seq)));
    }
    rows.extend(next(page));
    rows
}

/// What an agent that takes over does first.
fn next(page: &Page<'_>) -> Option<Row> {
    let facts = page.facts;
    let (asked, said) = (facts.user.last()?, facts.assistant.last());
    let acted = facts.tools.actions.last().map_or(Seq::ZERO, |action| action.seq);
    let answered = said.filter(|said| said.seq > asked.seq && said.seq > acted);
    let open = facts.todos.iter().find(|todo| todo.status == Status::InProgress);
    let open = open.or_else(|| facts.todos.iter().find(|todo| todo.status == Status::Pending));
    let text = match (answered, open) {
        _ if is_interruption(asked) && asked.seq > acted => {
            format!("Next: the user interrupted in {}; wait for what they say", mark(asked.seq))
        }
        (Some(said), None) => format!(
            "Next: nothing is open; the answer in {} was the last word, the user's is awaited",
            mark(said.seq)
        ),
        (_, Some(todo)) => format!("Next: go on with “{}”", clip(&todo.content, STEP_BYTES)),
        (None, None) => format!("Next: go on with what the user asked in {}", mark(asked.seq)),
    };
    Some(Row::item("next", &text, 850))
}

fn todos(page: &Page<'_>) -> Vec<Row> {
    let facts = page.facts;
    let (done, open): (Vec<&Todo>, Vec<&Todo>) =
        facts.todos.iter().partition(|todo| todo.status == Status::Completed);
    let at = mark(facts.todos_at);
    let mut rows: Vec<Row> = open
        .into_iter()
        .map(|todo| {
            let (what, weight) = match todo.status {
                Status::InProgress => ("In progress", 950),
                _ => ("To do", 800),
            };
            let text = format!("{at} {what}: {}", clip(&todo.content, ASKED_BYTES));
            Row::item(format!("todo:{}", clip(&todo.content, 80)), &text, weight)
        })
        .collect();
    if !done.is_empty() && !rows.is_empty() {
        let skipped = done.len().saturating_sub(DONE);
        let named: Vec<String> = done.iter().skip(skipped).map(|t| clip(&t.content, 80)).collect();
        let text = format!("{at} Done already, not to be done again: {}", named.join("; "));
        rows.push(Row::item("done", &text, 450));
    }
    if let Some(said) = facts.said_since_todos().filter(|_| !rows.is_empty()) {
        let text = format!("The list is older than what the user said in {}.", mark(said.seq));
        rows.push(Row::item("list", &text, 700));
    }
    rows
}

fn failed(action: &Action) -> &'static str {
    if action.failed { ", which failed" } else { "" }
}

/// Commands by how often they are run, the latest wording of each; tests, checks and commits first.
pub(super) fn workflow(page: &Page<'_>) -> Vec<Row> {
    let mut commands: Vec<_> = page.facts.tools.commands().iter().collect();
    commands.sort_by_key(|command| std::cmp::Reverse((need(page, command), command.last)));
    commands.truncate(COMMANDS);
    let mut rows: Vec<Row> = commands
        .into_iter()
        .map(|command| {
            let text = format!(
                "{} `{}`: {}, {}",
                mark(command.last),
                page.call(&command.line),
                times(command.runs),
                ended(command)
            );
            Row::item(format!("command:{}", kind(&command.line)), &text, need(page, command))
        })
        .collect();
    rows.extend(tools(page));
    rows
}

fn need(page: &Page<'_>, command: &CommandFact) -> u32 {
    let purpose = if command.purpose == Purpose::Other { 0 } else { 150 };
    purpose + command.runs.min(50) * 6 + page.recency(command.last)
}

fn times(runs: u32) -> String {
    if runs == 1 { "run once".to_owned() } else { format!("run {runs} times") }
}

fn ended(command: &CommandFact) -> String {
    let verdict = command.verdict.as_ref().map(|v| format!(" ({})", clip(v, 120)));
    let last = match command.failed {
        None => "still without a result",
        Some(true) if command.runs == 1 => "failed",
        Some(true) => "failed the last time",
        Some(false) if command.runs == 1 => "worked",
        Some(false) if command.failures == 0 => "always worked",
        Some(false) => "worked the last time",
    };
    format!("{last}{}", verdict.unwrap_or_default())
}

/// Its first words, after the directory that it is run in.
fn kind(line: &str) -> String {
    let after_cd = line.starts_with("cd ").then(|| line.split_once("&& ")).flatten();
    let line = after_cd.map_or(line, |(_, rest)| rest);
    let words =
        line.split_whitespace().filter(|word| !word.starts_with('-') && !word.contains('='));
    words.take(COMMAND_WORDS).collect::<Vec<_>>().join(" ")
}

fn command_line(action: &Action) -> Option<&str> {
    let (tool, line) = action.text.split_once(" `")?;
    SHELLS.contains(&tool).then(|| line.trim_end_matches('`'))
}

fn tools(page: &Page<'_>) -> Option<Row> {
    const TOOLS: usize = 12;
    let mut used: Vec<_> = page.facts.tools.used.iter().collect();
    used.sort_by(|a, b| b.1.calls.cmp(&a.1.calls).then(a.0.cmp(b.0)));
    let named: Vec<String> =
        used.iter().take(TOOLS).map(|(name, tool)| format!("{name} {}×", tool.calls)).collect();
    let text = format!("Tools in use: {}", named.join(", "));
    (!named.is_empty()).then(|| Row::item("tools", &text, 120))
}

/// What the assistant answered at the end of each turn.
pub(super) fn results(page: &Page<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = page.turns.iter().filter_map(|turn| result(page, turn)).collect();
    rows.extend(tests(page));
    rows
}

fn result(page: &Page<'_>, turn: &Turn<'_>) -> Option<Row> {
    let closing = turn.closing()?;
    let to = turn.ask.map(|ask| format!(" to {}", mark(ask.seq))).unwrap_or_default();
    let text = format!("{} Answer{to}: “{}”", mark(closing.seq), clip(&closing.text, RESULT_BYTES));
    Some(Row::item(format!("result:{}", closing.seq), &text, page.recency(closing.seq)))
}

/// The last run of each kind of test, and what was committed.
fn tests(page: &Page<'_>) -> Vec<Row> {
    let told = page.facts.tools.commands().iter().filter(|command| match command.purpose {
        Purpose::Test => true,
        Purpose::Commit => command.verdict.is_some(),
        _ => false,
    });
    told.map(|command| {
        let what = if command.purpose == Purpose::Test { "Tests" } else { "Committed" };
        let line = clip(&page.call(&command.line), 90);
        let text = format!("{} {what}: `{line}` {}", mark(command.last), ended(command));
        let weight = 150 + page.recency(command.last);
        Row::item(format!("tests:{}", kind(&command.line)), &text, weight)
    })
    .collect()
}

/// Step by step, oldest first.
pub(super) fn worklog(page: &Page<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for turn in &page.turns {
        if let Some(ask) = turn.ask {
            let text = match ask.kind {
                _ if is_interruption(ask) => format!("{} The user interrupted", mark(ask.seq)),
                SaidKind::Handover => {
                    format!("{} Brought along: {}", mark(ask.seq), quoted(ask, STEP_BYTES))
                }
                _ => format!("{} The user: {}", mark(ask.seq), quoted(ask, STEP_BYTES)),
            };
            rows.push(Row::item(format!("turn:{}", ask.seq), &text, 60 + page.recency(ask.seq)));
        }
        for step in turn.steps.iter().filter(|step| !step.actions.is_empty()) {
            let text = format!("{} {}", mark(step.seq()), step_text(step));
            rows.push(Row::item(format!("step:{}", step.seq()), &text, page.recency(step.seq())));
        }
    }
    rows
}

fn step_text(step: &Step<'_>) -> String {
    let said = step.said.map(|said| clip(&said.text, STEP_BYTES)).unwrap_or_default();
    let done = done(&step.actions);
    match said.is_empty() {
        true => done,
        false => format!("{} → {done}", said.trim_end_matches([':', '.'])),
    }
}

/// What a handful of calls did, in a few words.
fn done(actions: &[&Action]) -> String {
    let mut changed = BTreeSet::new();
    let (mut read, mut reads, mut ran) = (BTreeSet::new(), 0_u32, Vec::new());
    let (mut searched, mut other) = (0_u32, 0_u32);
    for action in actions {
        let (tool, what) = action.text.split_once(" `").unwrap_or((&action.text, ""));
        match Role::of(tool) {
            Some(Role::Edit | Role::Write) => {
                changed.insert(file_name(what.trim_end_matches('`')));
            }
            Some(Role::Read) => {
                reads += 1;
                read.insert(what.trim_end_matches('`'));
            }
            Some(Role::Search) => searched += 1,
            None => match command_line(action) {
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
        let more = match ran.len() {
            1 => String::new(),
            runs => format!(" and {} more", runs - 1),
        };
        parts.push(format!("ran `{}`{failed}{more}", clip(line, 90)));
    }
    match (read.len(), read.first()) {
        (0, _) => {}
        (1, Some(file)) if reads > 1 => {
            parts.push(format!("read {} {reads} times", file_name(file)));
        }
        (1, _) => parts.push("read 1 file".to_owned()),
        (files, _) => parts.push(format!("read {files} files")),
    }
    if searched > 0 {
        parts.push(if searched == 1 {
            "searched once".to_owned()
        } else {
            format!("searched {searched} times")
        });
    }
    if other > 0 {
        parts.push(format!("{other} other call{}", if other == 1 { "" } else { "s" }));
    }
    parts.join("; ")
}
