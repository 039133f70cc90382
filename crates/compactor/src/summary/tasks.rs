//! What is left to do: the list of tasks, the plan, or else the points of the last request.

use std::collections::HashSet;

use bethink_facts::rows::{mark, one_line};
use bethink_facts::{Facts, RecordedStatement, names};
use bethink_transcript::Seq;
use bethink_transcript::text::shorten;
use bethink_transcript::todos::{Todo, TodoStatus};

use super::page::SummaryPage;

pub(super) fn task(todo: &Todo) -> String {
    let state = if todo.status == TodoStatus::InProgress { "in progress" } else { "open" };
    format!("- {} ({state})", one_line(&todo.content, 240))
}

pub(super) fn pending(page: &mut SummaryPage, facts: &Facts) {
    if let Some(said) = facts.said_since_todos().filter(|_| !facts.todos.is_empty()) {
        // A list that no message contains was set by the client.
        let from = match facts.todos_at {
            Seq::ZERO => "older".to_owned(),
            at => format!("from {}", mark(at)),
        };
        page.line(&format!(
            "- This list is {from}; the user's later message {} takes precedence.",
            mark(said.seq)
        ));
    }
    write_open(page, facts);
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
        write_request_points(page, facts);
    }
}

/// Room for the line that counts the other tasks, and the least that a shortened task is written with.
const COUNT_BYTES: usize = 32;
const FEW_WORDS: usize = 48;

/// Writes the open tasks, those in progress first, and counts those that do not fit.
fn write_open(page: &mut SummaryPage, facts: &Facts) {
    let is = |wanted: TodoStatus| facts.todos.iter().filter(move |todo| todo.status == wanted);
    let open: Vec<&Todo> = is(TodoStatus::InProgress).chain(is(TodoStatus::Pending)).collect();
    let mut written = 0;
    for todo in &open {
        let whole = task(todo);
        let row = shorten(&whole, page.left().saturating_sub(COUNT_BYTES));
        if (row.len() < whole.len() && row.len() < FEW_WORDS) || !page.line(&row) {
            break;
        }
        written += 1;
    }
    let more = open.len() - written;
    if more > 0 {
        let more = if written > 0 { format!("and {more} more") } else { more.to_string() };
        page.line(&format!("- {more} open tasks"));
    }
}

/// Used if there are neither todos nor a plan. If the last request is unfinished, lists its numbered points, each with the
/// newest message that mentions it.
fn write_request_points(page: &mut SummaryPage, facts: &Facts) {
    let Some(asked) = facts.user.last() else { return };
    let said: Vec<&RecordedStatement> =
        facts.assistant.iter().filter(|said| said.seq > asked.seq).collect();
    if said.last().is_some_and(|last| last.ends_turn) {
        return;
    }
    let points = numbered_points(&asked.text);
    if points.len() < 2 {
        page.line(&format!(
            "- There is no todo list; the request in {} was in progress",
            mark(asked.seq)
        ));
        return;
    }
    page.line(&format!("- The request in {} has {} points:", mark(asked.seq), points.len()));
    for (number, point) in (1..).zip(points.iter().take(MAX_POINTS)) {
        let mut named = HashSet::new();
        names::names_in(point, &mut named);
        let newest = said.iter().rev().find(|said| {
            mentions_number(&said.text, number)
                || named.iter().any(|name| said.text.contains(&**name))
        });
        let state = match newest {
            Some(said) => format!("last mentioned in {}", mark(said.seq)),
            None => "not mentioned since".to_owned(),
        };
        page.line(&format!("  {number}. {} ({state})", one_line(point, MAX_POINT_BYTES)));
    }
    let more = points.len().saturating_sub(MAX_POINTS);
    if more > 0 {
        page.line(&format!("  and {more} more"));
    }
}

/// Maximum number of points of a request that are listed, and the maximum size of each, in bytes.
const MAX_POINTS: usize = 12;
const MAX_POINT_BYTES: usize = 100;

/// Returns the numbered points of a request.
fn numbered_points(text: &str) -> Vec<&str> {
    let mut points: Vec<&str> = Vec::new();
    for line in outside_code(text) {
        if let Some((number, point)) = numbered(line)
            && number == points.len() + 1
            && !point.is_empty()
        {
            points.push(point);
        }
    }
    points
}

/// Returns the lines of a text, trimmed, without blocks of code.
fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().map(str::trim).filter(move |line| {
        in_code ^= line.starts_with("```");
        !in_code
    })
}

/// Splits `2. Test it` or `2) Test it`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.split_once(['.', ')'])?;
    Some((number.parse().ok()?, rest.trim()))
}

/// Whether a statement names a point by its number, as in `Item 2`.
fn mentions_number(statement: &str, number: usize) -> bool {
    const WORDS: [&str; 5] = ["item", "point", "step", "task", "issue"];
    let mut words = statement.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut before = words.next().unwrap_or_default();
    words.any(|word| {
        let is_named = word.parse() == Ok(number)
            && WORDS.iter().any(|named| before.eq_ignore_ascii_case(named));
        before = word;
        is_named
    })
}

/// Returns the headings and numbered steps of a plan.
fn outline(plan: &str) -> String {
    let lines = outside_code(plan).filter(|line| line.starts_with('#') || numbered(line).is_some());
    let steps: Vec<&str> = lines.map(|line| line.trim_start_matches(['#', ' '])).collect();
    if steps.is_empty() { one_line(plan, 400) } else { one_line(&steps.join("; "), 900) }
}

#[cfg(test)]
mod tests {
    use bethink_transcript::todos::TodoPriority;

    use super::*;

    #[test]
    fn the_points_of_a_request_are_numbered_lines() {
        let text = "Please:\n  1. Fix `lamp.rs` 2.0\n```\n2. code\n```\n  2) Test it\n\nUse port 80.\n4. No point";
        assert_eq!(numbered_points(text), ["Fix `lamp.rs` 2.0", "Test it"]);
        assert!(numbered_points("Look at 1. and 2.").is_empty());
    }

    #[test]
    fn a_point_is_mentioned_by_its_number() {
        for (statement, expect) in [
            ("**Item 2: the lamp**", true),
            ("Now (step 2).", true),
            ("Item 20 is next", false),
            ("Checkpoint 2 is written", false),
            ("I changed 2 lamps.", false),
        ] {
            assert_eq!(mentions_number(statement, 2), expect, "{statement}");
        }
    }

    #[test]
    fn open_tasks_that_do_not_fit_are_counted() {
        let todo = |n: usize, status| Todo {
            id: n.to_string(),
            content: format!("Mend lamp {n}{}", " and its wick".repeat(20)),
            status,
            priority: TodoPriority::Medium,
        };
        let mut todos: Vec<Todo> = (0..9).map(|n| todo(n, TodoStatus::Pending)).collect();
        todos[5].status = TodoStatus::InProgress;
        let facts = Facts { todos, ..Facts::default() };
        let mut page = SummaryPage::new(400);
        pending(&mut page, &facts);
        let text = page.finish();
        assert!(text.starts_with("- Mend lamp 5 and its wick"), "{text}");
        assert!(
            text.contains("\n- Mend lamp 0 and") && text.ends_with("- and 7 more open tasks\n"),
            "{text}"
        );
    }

    #[test]
    fn points_that_are_not_listed_are_counted() {
        let asked: Vec<String> = (1..=14).map(|n| format!("{n}. Mend lamp {n}")).collect();
        let mut facts = Facts::default();
        facts.user.push(RecordedStatement::new(Seq(1), &asked.join("\n")));
        facts.assistant.push(RecordedStatement::new(Seq(2), "Item 2: done."));
        let mut page = SummaryPage::new(4_000);
        write_request_points(&mut page, &facts);
        let text = page.finish();
        assert!(
            text.starts_with("- The request in [1] has 14 points:\n  1. Mend lamp 1 (not"),
            "{text}"
        );
        assert!(text.contains("  2. Mend lamp 2 (last mentioned in [2])"), "{text}");
        assert!(
            text.ends_with("  12. Mend lamp 12 (not mentioned since)\n  and 2 more\n"),
            "{text}"
        );
    }
}
