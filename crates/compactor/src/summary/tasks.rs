//! What is left to do: the list of tasks, the plan, or else the points of the last request.

use std::collections::HashSet;

use bethink_facts::rows::{mark, one_line};
use bethink_facts::{Facts, RecordedStatement, names};
use bethink_transcript::todos::{Todo, TodoStatus};

use super::page::SummaryPage;

pub(super) fn task(todo: &Todo) -> String {
    let state = if todo.status == TodoStatus::InProgress { "in progress" } else { "open" };
    format!("- {} ({state})", one_line(&todo.content, 240))
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
        page.line(&task(todo));
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
    if facts.todos.is_empty() && facts.plan.is_none() {
        requested(page, facts);
    }
}

/// Without a list of tasks, shows the points of the user's last request, each with the newest message about it.
fn requested(page: &mut SummaryPage, facts: &Facts) {
    let Some(asked) = facts.user.last() else { return };
    let said: Vec<&RecordedStatement> =
        facts.assistant.iter().filter(|said| said.seq > asked.seq).collect();
    if said.last().is_some_and(|last| last.ends_turn) {
        return;
    }
    let points = points(&asked.text);
    if points.len() < 2 {
        page.line(&format!(
            "- No list of tasks; the request in {} is in progress",
            mark(asked.seq)
        ));
        return;
    }
    page.line(&format!("- The request in {} has {} points:", mark(asked.seq), points.len()));
    for (number, point) in points.iter().enumerate() {
        let newest = said.iter().rev().find(|said| is_about(&said.text, number + 1, point));
        let state = match newest {
            Some(said) => format!("last mentioned in {}", mark(said.seq)),
            None => "not mentioned since".to_owned(),
        };
        page.line(&format!("  {}. {} ({state})", number + 1, one_line(point, POINT_BYTES)));
    }
}

/// Maximum number of points of a request that are listed, and the maximum size of each, in bytes.
const POINTS: usize = 12;
const POINT_BYTES: usize = 100;

/// Returns the numbered points of a request.
fn points(text: &str) -> Vec<&str> {
    let mut points: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((number, point)) = line.split_once(['.', ')']) else { continue };
        if number.parse() == Ok(points.len() + 1) && !point.trim().is_empty() {
            points.push(point.trim());
        }
    }
    points.truncate(POINTS);
    points
}

/// Whether a statement names the number of a point or something that the point names.
fn is_about(statement: &str, number: usize, point: &str) -> bool {
    let lower = statement.to_lowercase();
    let mut named = HashSet::new();
    names::names_in(point, &mut named);
    let is_numbered = ["item", "point", "step", "task", "issue"].iter().any(|word| {
        lower
            .match_indices(&format!("{word} {number}"))
            .any(|(at, found)| !lower[at + found.len()..].starts_with(|c: char| c.is_ascii_digit()))
    });
    is_numbered || named.iter().any(|name| statement.contains(&**name))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_of_a_request_are_numbered_lines() {
        let text =
            "Please:\n  1. Fix `lamp.rs` 2.0\n  2) Test it\n\nUse port 80. Thanks\n4. Not a point";
        assert_eq!(points(text), ["Fix `lamp.rs` 2.0", "Test it"]);
        assert!(points("Look at 1. and 2.").is_empty());
    }

    #[test]
    fn a_point_is_mentioned_by_its_number_or_by_a_name() {
        for (statement, expect) in [
            ("Item 2: the lamp", true),
            ("Item 20 is next", false),
            ("I changed next_tide().", true),
            ("I changed the lamp.", false),
        ] {
            assert_eq!(is_about(statement, 2, "Rename `next_tide`"), expect, "{statement}");
        }
    }
}
