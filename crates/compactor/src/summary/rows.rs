//! The sections of the summary, line by line.

use std::collections::HashSet;

use bethink_facts::rows::{action, command, common_root, failure, mark, one_line, said};
use bethink_facts::{CommandPurpose, Facts, RecordedStatement, SaidKind};
use bethink_transcript::todos::TodoStatus;

use crate::ladder::SummaryRequest;

use super::page::SummaryPage;

pub(super) fn request(page: &mut SummaryPage, request: &SummaryRequest<'_>) {
    let facts = request.facts;
    if let Some(focus) = request.focus {
        page.line_or_part(&format!("- Keep above all else: {}", one_line(focus, 600)));
    }
    let (first, last) = (facts.user.first(), facts.user.last());
    let is_last = |said: &RecordedStatement| last.is_some_and(|last| last.seq == said.seq);
    if let Some(first) = first {
        let half = (page.left() / 2).max(120);
        page.line_or_part(&format!("- First request: {}", said(first, half)));
    }
    if let Some(last) = last.filter(|_| facts.user.len() > 1) {
        let third = (page.left() / 2).clamp(160, 500);
        page.line_or_part(&format!("- Latest request: {}", said(last, third)));
    }
    let corrected =
        facts.user.iter().rev().filter(|s| s.kind == SaidKind::Correction && !is_last(s));
    for correction in corrected.take(8) {
        page.line(&format!("- Corrected by the user: {}", said(correction, 220)));
    }
}

pub(super) fn errors(page: &mut SummaryPage, request: &SummaryRequest<'_>) {
    let facts = request.facts;
    let root = common_root(facts.tools.files());
    let mut seen = HashSet::new();
    // Unresolved failures first, then those of commands, then the newest.
    let mut failures: Vec<_> = facts.tools.failures.iter().rev().collect();
    failures.sort_by_key(|f| (f.fixed.is_some() || !f.of_command, !f.of_command));
    for found in failures {
        if seen.insert((&found.call, &found.error))
            && !page.line(&format!("- {}", below(&failure(found), &root)))
        {
            break;
        }
    }
}

/// Shortens paths below `root` in a line.
pub(super) fn below(line: &str, root: &str) -> String {
    if root.is_empty() { line.to_owned() } else { line.replace(root, "") }
}

pub(super) fn pending(page: &mut SummaryPage, facts: &Facts) {
    if let Some(said) = facts.said_since_todos().filter(|_| !facts.todos.is_empty()) {
        page.line(&format!(
            "- This list is from {}; the user's later message {} takes precedence.",
            mark(facts.todos_at),
            mark(said.seq)
        ));
    }
    for todo in facts.todos.iter().filter(|t| t.status != TodoStatus::Completed) {
        let state = if todo.status == TodoStatus::InProgress { "in progress" } else { "open" };
        page.line(&format!("- {} ({state})", one_line(&todo.content, 240)));
    }
    let done = facts.todos.iter().rev().filter(|t| t.status == TodoStatus::Completed);
    let done: Vec<String> = done.map(|t| one_line(&t.content, 80)).collect();
    if !done.is_empty() {
        page.line_or_part(&format!("- Already done, do not repeat: {}", done.join("; ")));
    }
    if let Some(plan) = &facts.plan {
        let steps = outline(&plan.text);
        page.line_or_part(&format!("- Plan from {}: {steps}", mark(plan.seq)));
    }
}

/// Returns the headings and numbered steps of a plan.
fn outline(plan: &str) -> String {
    let mut in_code = false;
    let lines = plan.lines().map(str::trim).filter(|line| {
        in_code ^= line.starts_with("```");
        let numbered = line.split_once(['.', ')']).is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        !in_code && (line.starts_with('#') || numbered)
    });
    let steps: Vec<&str> = lines.map(|line| line.trim_start_matches(['#', ' '])).collect();
    if steps.is_empty() { one_line(plan, 400) } else { one_line(&steps.join("; "), 900) }
}

pub(super) fn current(page: &mut SummaryPage, request: &SummaryRequest<'_>) {
    let facts = request.facts;
    if let Some(last) = facts.assistant.last() {
        let room = page.left() * if request.kept_from.is_some() { 25 } else { 45 } / 100;
        let words = one_line(&last.text, room);
        page.line_or_part(&format!("- Last said: {} {words}", mark(last.seq)));
    }
    let kinds = [
        (CommandPurpose::Test, "Tests"),
        (CommandPurpose::Check, "Checks"),
        (CommandPurpose::Commit, "Committed"),
    ];
    for (purpose, what) in kinds {
        let newest = facts.tools.commands.iter().filter(|c| c.purpose == purpose);
        if let Some(newest) = newest.max_by_key(|c| c.last) {
            page.line(&format!("- {what}: {}", command(newest)));
        }
    }
    // Actions in the kept tail can be read there.
    let root = common_root(facts.tools.files());
    let hidden =
        facts.tools.actions.iter().rev().filter(|a| request.is_hidden(a.seq) && !a.of_list);
    let rows: Vec<String> =
        hidden.take(8).map(|a| format!("- {}", below(&action(a), &root))).collect();
    for row in rows.iter().rev() {
        page.line(row);
    }
    if let Some(seq) = request.kept_from {
        page.line(&format!(
            "- Messages from {seq} on follow in full below and show the newest state."
        ));
    }
}

pub(super) fn next(page: &mut SummaryPage, facts: &Facts) {
    let line = match (facts.next_todo(), facts.user.last()) {
        (Some(todo), _) => {
            let content = one_line(&todo.content, 200);
            match facts.said_since_todos() {
                Some(said) => format!(
                    "- First do what the user last asked, {}; then, if it still applies: {content}",
                    mark(said.seq)
                ),
                None => format!("- Continue with: {content}"),
            }
        }
        (None, Some(said)) => {
            format!("- Continue with what the user last asked, {}.", mark(said.seq))
        }
        (None, None) => "- Ask the user what to do next.".to_owned(),
    };
    page.line_or_part(&line);
}
