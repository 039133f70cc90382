//! The sections of the summary, line by line.

use std::collections::HashSet;

use bethink_facts::commands::purpose;
use bethink_facts::prose::{passages, plain};
use bethink_facts::rows::{action, command, common_root, failure, mark, one_line, said};
use bethink_facts::{CommandPurpose, Facts, FileFact, RecordedStatement, SaidKind};
use bethink_transcript::Seq;
use bethink_transcript::todos::TodoStatus;

use crate::ladder::SummaryRequest;

use super::page::SummaryPage;
use super::tasks::task;

/// Writes what the user wants. Messages in `shown` are quoted whole in another section.
pub(super) fn request(page: &mut SummaryPage, request: &SummaryRequest<'_>, shown: &HashSet<Seq>) {
    let facts = request.facts;
    if let Some(focus) = request.focus {
        page.line_or_part(&format!(
            "- The user asked that this summary focus on: {}",
            one_line(focus, 600)
        ));
    }
    let first = facts.user.first();
    let bytes = |said: &RecordedStatement, most: usize| {
        if shown.contains(&said.seq) { SHOWN_BYTES } else { most }
    };
    if let Some(first) = first {
        let half = (page.left() / 2).max(120);
        page.line_or_part(&format!("- First request: {}", said(first, bytes(first, half))));
    }
    let later = facts.user.get(1..).unwrap_or_default();
    let change = later.iter().rev().find(|said| said.changes_task());
    if let Some(change) = change {
        let half = (page.left() / 2).clamp(160, 500);
        page.line_or_part(&format!(
            "- User changed the task: {}",
            said(change, bytes(change, half))
        ));
    }
    if let Some(last) = later.last().filter(|last| change.is_none_or(|said| said.seq != last.seq)) {
        let half = (page.left() / 2).clamp(160, 500);
        page.line_or_part(&format!("- Last user message: {}", said(last, bytes(last, half))));
    }
    corrections(page, request, shown);
}

/// Maximum size of a quotation, in bytes, if another section shows the whole message.
const SHOWN_BYTES: usize = 120;

/// Lists the newest corrections that are not shown elsewhere.
fn corrections(page: &mut SummaryPage, request: &SummaryRequest<'_>, shown: &HashSet<Seq>) {
    let said_by_user = request.facts.user.iter().rev();
    let corrections = said_by_user.filter(|s| s.kind == SaidKind::Correction);
    for correction in corrections.filter(|s| !shown.contains(&s.seq)).take(8) {
        page.line(&format!("- Corrected by the user: {}", said(correction, 220)));
    }
}

/// Lists corrections, open tasks and open failures that `texts` do not contain.
pub(crate) fn open_work(
    request: &SummaryRequest<'_>,
    shown: &HashSet<Seq>,
    texts: &[&str],
    room: usize,
) -> String {
    let mut all = SummaryPage::new(room);
    corrections(&mut all, request, shown);
    let open = request.facts.todos.iter().filter(|todo| todo.status != TodoStatus::Completed);
    for todo in open.filter(|todo| !texts.iter().any(|text| text.contains(&*todo.content))) {
        all.line(&task(todo));
    }
    let failures =
        request.facts.tools.failures.iter().rev().filter(|f| f.is_open() && f.of_command);
    for found in failures.take(OPEN_FAILURES) {
        if !texts.iter().any(|text| text.contains(&*found.error)) {
            all.line(&format!("- {}", failure(found)));
        }
    }
    all.finish()
}

/// Maximum number of open failures added to notes or to a model's text.
const OPEN_FAILURES: usize = 4;

/// Lists the commands with which the project is tested, checked and committed.
pub(super) fn commands(page: &mut SummaryPage, request: &SummaryRequest<'_>) {
    let known = request.facts.tools.commands.iter();
    let mut known: Vec<_> =
        known.filter(|c| c.purpose != CommandPurpose::Other || c.is_habit()).collect();
    known.sort_by_key(|c| {
        let is_worth = c.purpose != CommandPurpose::Other;
        std::cmp::Reverse((c.failed == Some(false), is_worth, c.runs.min(4), c.last))
    });
    let lines: Vec<&str> = known.iter().map(|found| &*found.line).collect();
    for found in &known {
        page.line(&format!("- {}", command(found)));
    }
    for (named, place) in planned_commands(request.facts, &lines) {
        page.line(&format!("- `{named}` is named in {place}, but has not been run yet"));
    }
}

/// Returns the tests and checks that the plan and the written documents name and that are not in `known`, each with the
/// place that names it.
fn planned_commands<'a>(facts: &'a Facts, known: &[&str]) -> Vec<(&'a str, &'a str)> {
    const COMMANDS: usize = 6;
    let plan = facts.plan.iter().flat_map(|plan| plan.text.lines()).map(|line| (line, "the plan"));
    let documents = facts.tools.files().iter().filter(|file| file.path.ends_with(".md"));
    let documents = documents
        .flat_map(|file| file.written().iter().map(move |line| (&*line.text, file.name())));
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (line, place) in plan.chain(documents) {
        // Every second part of the line is between backticks.
        for named in line.split('`').skip(1).step_by(2) {
            let is_check = is_command(named)
                && matches!(purpose(named), CommandPurpose::Test | CommandPurpose::Check);
            let is_known = known.iter().any(|known| known.contains(named))
                || found.iter().any(|(known, _)| *known == named);
            if is_check && !is_known && found.len() < COMMANDS {
                found.push((named, place));
            }
        }
    }
    found
}

/// Whether a quoted text looks like a command line: the name of a program and at least one more word.
fn is_command(text: &str) -> bool {
    const ARTICLES: [&str; 5] = ["a", "the", "this", "no", "all"];
    let is_program = |c: char| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.' | '/')
    };
    text.split_once(' ').is_some_and(|(program, rest)| {
        let is_word = program.is_empty() || ARTICLES.contains(&program);
        !is_word && program.chars().all(is_program) && !rest.trim().is_empty()
    })
}

pub(super) fn errors(page: &mut SummaryPage, request: &SummaryRequest<'_>) {
    let facts = request.facts;
    let root = common_root(facts.tools.files());
    let mut seen = HashSet::new();
    // Unresolved failures first, then those of commands, then the newest.
    let mut failures: Vec<_> = facts.tools.failures.iter().rev().collect();
    failures.sort_by_key(|f| (!f.is_open() || !f.of_command, !f.of_command));
    for found in failures {
        if !seen.insert((&found.call, &found.error)) {
            continue;
        }
        let row = format!("- {}", below(&failure(found), &root));
        let details = below(&found.details, &root);
        let whole = match found.is_open() && !details.is_empty() {
            true => format!("{row}\n  {details}"),
            false => row.clone(),
        };
        if !page.line(&whole) && !page.line(&row) {
            break;
        }
    }
}

/// Shortens paths below `root` in a line.
pub(super) fn below(line: &str, root: &str) -> String {
    if root.is_empty() { line.to_owned() } else { line.replace(root, "") }
}

pub(super) fn current(page: &mut SummaryPage, request: &SummaryRequest<'_>) {
    let facts = request.facts;
    if let Some(last) = facts.assistant.last() {
        let room = page.left() * if request.is_hidden(last.seq) { 40 } else { 25 } / 100;
        let words = one_line(&plain(&last.text), room);
        page.line_or_part(&format!("- Last said by the assistant: {} {words}", mark(last.seq)));
    }
    let newest = |purpose: CommandPurpose| {
        let all = facts.tools.commands.iter().filter(move |c| c.purpose == purpose);
        all.max_by_key(|c| c.last)
    };
    for (purpose, what) in [(CommandPurpose::Test, "Tests"), (CommandPurpose::Check, "Checks")] {
        if let Some(newest) = newest(purpose) {
            page.line(&format!("- {what}: {}", command(newest)));
        }
    }
    untested(page, facts, newest(CommandPurpose::Test).map(|test| test.last));
    // Actions in the kept tail can be read there.
    let root = common_root(facts.tools.files());
    let hidden =
        facts.tools.actions.iter().rev().filter(|a| request.is_hidden(a.seq) && !a.of_list);
    let rows: Vec<String> =
        hidden.take(ACTIONS).map(|a| format!("- {}", below(&action(a), &root))).collect();
    for row in rows.iter().rev() {
        page.line(row);
    }
    let commits = facts.tools.commits.iter().rev().take(COMMITS);
    let commits: Vec<String> =
        commits.map(|(seq, what)| format!("{} {what}", mark(*seq))).collect();
    if !commits.is_empty() {
        page.line_or_part(&format!("- Committed, newest first: {}", commits.join("; ")));
    }
    if let Some(seq) = request.kept_from {
        page.line(&format!(
            "- Messages from {seq} onward follow the summary in full and show the newest state."
        ));
    }
}

/// How many of the newest commits and actions are listed.
const COMMITS: usize = 4;
const ACTIONS: usize = 3;

/// Lists the files that were edited after the last test.
fn untested(page: &mut SummaryPage, facts: &Facts, tested: Option<Seq>) {
    const FILES: usize = 6;
    let files = facts.tools.files().iter();
    let is_prose = |file: &FileFact| file.path.ends_with(".md") || file.path.ends_with(".txt");
    let files =
        files.filter(|file| file.last_edit > tested.unwrap_or(Seq::ZERO) && !is_prose(file));
    let mut files: Vec<&str> = files.map(FileFact::name).collect();
    let more = files.len().saturating_sub(FILES);
    files.truncate(FILES);
    if !files.is_empty() {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let since = if tested.is_some() {
            "Tests have not been run since these files were edited"
        } else {
            "Tests have not been run in this session; edited files"
        };
        page.line(&format!("- {since}: {}{more}", files.join(", ")));
    }
}

pub(super) fn next(page: &mut SummaryPage, request: &SummaryRequest<'_>) {
    let facts = request.facts;
    let (asked, said) = (facts.user.last(), facts.assistant.last());
    let answered = said.filter(|said| asked.is_none_or(|asked| said.seq > asked.seq));
    match (facts.next_todo(), facts.said_since_todos()) {
        (Some(todo), None) => {
            page.line(&format!("- Continue with: {}", one_line(&todo.content, 200)));
        }
        (Some(todo), Some(said)) => {
            let content = one_line(&todo.content, 200);
            page.line(&format!(
                "- First do what the user last asked in {}; then, if it still applies: {content}",
                mark(said.seq)
            ));
        }
        (None, _) => {}
    }
    if let Some(said) = answered {
        let is_begun = facts.tools.actions.last().is_some_and(|action| action.seq >= said.seq);
        let what = if is_begun { "Step in progress" } else { "Last announced step" };
        match announced(&said.text) {
            Some(step) => page.line_or_part(&format!("- {what}: {} {step}", mark(said.seq))),
            None => {
                said.ends_turn
                    && page.line("- The last turn is complete; wait for the user's next message.")
            }
        };
    }
    match asked {
        Some(asked) if answered.is_none() => {
            page.line_or_part(&format!(
                "- Reply to the user's message, unless it is answered below: {}",
                said_by_user(asked)
            ));
        }
        Some(asked) if facts.next_todo().is_none() => {
            page.line_or_part(&format!("- The user's last request: {}", said_by_user(asked)));
        }
        Some(_) => {}
        None => {
            page.line("- Ask the user what to do next.");
        }
    }
}

fn said_by_user(asked: &RecordedStatement) -> String {
    said(asked, 160)
}

/// Returns the last sentence that announces a step or asks the user something.
fn announced(text: &str) -> Option<String> {
    const STEP_BYTES: usize = 240;
    let all = passages(text);
    let found = all.iter().rev().filter(|p| !p.is_code);
    let is_step = |text: &str| super::statements::is_announcement(text) || text.ends_with('?');
    found.map(|p| p.text).find(|text| is_step(text)).map(|text| one_line(text, STEP_BYTES))
}
