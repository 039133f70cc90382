//! The sections of the summary, line by line. Every name stands in a row that says what became of it.

use std::collections::HashSet;

use bethink_context::todos::Status;
use bethink_transcript::Seq;

use bethink_facts::{Facts, FileFact, Ranked, shorten};

use super::mark;
use super::page::Page;

const STATEMENT_BYTES: usize = 300;

pub(super) fn request(page: &mut Page, facts: &Facts, focus: Option<&str>) {
    if let Some(focus) = focus {
        page.line_or_part(&format!("- Asked to keep above all: {}", one_line(focus, 600)));
    }
    let half = page.left() / 2;
    if let Some(first) = facts.user.first() {
        page.line_or_part(&format!(
            "- At first {}: {}",
            mark(first.seq),
            one_line(&first.text, half.max(120))
        ));
    }
    if let Some(last) = facts.user.last().filter(|_| facts.user.len() > 1) {
        page.line_or_part(&format!(
            "- Most lately {}: {}",
            mark(last.seq),
            one_line(&last.text, 400)
        ));
    }
    let middle = facts.user.iter().rev().skip(1).filter(|said| is_correction(&said.text));
    for said in middle.take(8) {
        page.line(&format!(
            "- Corrected by the user {}: {}",
            mark(said.seq),
            one_line(&said.text, 240)
        ));
    }
}

/// The user rules something out or turns the work around.
fn is_correction(text: &str) -> bool {
    const OPENINGS: [&str; 14] = [
        "no,",
        "no ",
        "no.",
        "don't",
        "do not",
        "stop",
        "actually",
        "instead",
        "wait",
        "never",
        "not ",
        "revert",
        "undo",
        "that's wrong",
    ];
    let start: String = text.trim_start().chars().take(24).collect::<String>().to_lowercase();
    OPENINGS.iter().any(|o| start.starts_with(o)) || text.contains("[Request interrupted by user")
}

pub(super) fn errors(page: &mut Page, facts: &Facts) {
    let mut rows = Vec::new();
    let mut seen = HashSet::new();
    // Unfixed ones first, then the newest.
    let mut failures: Vec<_> = facts.tools.failures.iter().rev().collect();
    failures.sort_by_key(|f| f.fixed.is_some());
    for failure in failures {
        if !seen.insert((&failure.call, &failure.error)) {
            continue;
        }
        let edits: Vec<&str> = failure.edits.iter().map(|p| file_name(p)).take(4).collect();
        let after = match (edits.is_empty(), failure.fixed) {
            (true, Some(fixed)) => format!("worked again in {}", mark(fixed)),
            (false, Some(fixed)) => {
                format!("changed {}; worked again in {}", edits.join(", "), mark(fixed))
            }
            (false, None) => format!(
                "changed {} since; the same call was not seen to work again",
                edits.join(", ")
            ),
            (true, None) => "not tried again".to_owned(),
        };
        rows.push(format!("- {} {}: {} → {after}", mark(failure.seq), failure.call, failure.error));
    }
    for row in rows {
        if !page.line(&row) {
            break;
        }
    }
}

pub(super) fn solving(page: &mut Page, facts: &Facts) {
    let mut rows: Vec<String> = Vec::new();
    let mut left = page.left();
    for said in facts.assistant.iter().rev() {
        let row = format!("- {} {}", mark(said.seq), one_line(&said.text, STATEMENT_BYTES));
        if row.len() + 1 > left {
            break;
        }
        left -= row.len() + 1;
        rows.push(row);
    }
    for row in rows.iter().rev() {
        page.line(row);
    }
}

pub(super) fn pending(page: &mut Page, facts: &Facts) {
    if let Some(said) = facts.said_since_todos().filter(|_| !facts.todos.is_empty()) {
        page.line(&format!(
            "- The list is that of {}; what the user said since, in {}, comes before it.",
            mark(facts.todos_at),
            mark(said.seq)
        ));
    }
    for todo in facts.todos.iter().filter(|t| t.status != Status::Completed) {
        let state = if todo.status == Status::InProgress { "in progress" } else { "open" };
        page.line(&format!("- {} ({state})", one_line(&todo.content, 240)));
    }
    let done: Vec<String> = facts
        .todos
        .iter()
        .filter(|t| t.status == Status::Completed)
        .map(|t| one_line(&t.content, 80))
        .collect();
    if !done.is_empty() {
        page.line_or_part(&format!("- Done already, do not do again: {}", done.join("; ")));
    }
}

pub(super) fn current(page: &mut Page, facts: &Facts, kept_from: Option<Seq>) {
    let words = page.left() * 55 / 100;
    if let Some(last) = facts.assistant.last() {
        page.line_or_part(&format!(
            "- Last said {}: {}",
            mark(last.seq),
            one_line(&last.text, words)
        ));
    }
    let mut rows = Vec::new();
    for action in facts.tools.actions.iter().rev().take(8) {
        let failed = if action.failed { " (failed)" } else { "" };
        rows.push(format!("- {} {}{failed}", mark(action.seq), action.text));
    }
    for row in rows.iter().rev() {
        page.line(row);
    }
    if let Some(seq) = kept_from {
        page.line(&format!(
            "- Messages from {seq} on follow whole below and are the newest state."
        ));
    }
}

pub(super) fn next(page: &mut Page, facts: &Facts) {
    let open = facts.todos.iter().find(|t| t.status == Status::InProgress);
    let open = open.or_else(|| facts.todos.iter().find(|t| t.status == Status::Pending));
    let line = match (open, facts.user.last()) {
        (Some(todo), _) if facts.said_since_todos().is_some() => {
            let said = facts.said_since_todos().map_or(Seq::ZERO, |s| s.seq);
            format!(
                "- What the user said last, {}, comes first; then, if it still holds: {}",
                mark(said),
                one_line(&todo.content, 200)
            )
        }
        (Some(todo), _) => format!("- Go on with: {}", one_line(&todo.content, 200)),
        (None, Some(said)) => format!("- Go on with what the user asked last, {}.", mark(said.seq)),
        (None, None) => "- Ask the user what to do next.".to_owned(),
    };
    page.line_or_part(&line);
}

/// Files with what was done to them and the names around them; then the names of no file.
pub(super) fn files_and_concepts(
    facts: &Facts,
    now: Seq,
    known: &HashSet<String>,
    room: usize,
) -> (String, String) {
    let root = common_root(facts.tools.files());
    let mut order: Vec<usize> = (0..facts.tools.files().len()).collect();
    order
        .sort_by_key(|i| std::cmp::Reverse(facts.tools.files().get(*i).map(|f| file_need(f, now))));
    let heads: Vec<(usize, String)> = order
        .iter()
        .filter_map(|i| facts.tools.files().get(*i).map(|file| (*i, file_row(file, &root))))
        .collect();
    let mut left = room.saturating_sub(tools_row(facts).len());
    let mut rooted = String::new();
    if !root.is_empty() {
        rooted = format!("Paths are below {root}\n");
        left = left.saturating_sub(rooted.len());
    }
    // Rows of files take up to two fifths; names share the rest by need.
    let mut for_rows = left * 2 / 5;
    let mut rows: Vec<(usize, String)> = Vec::new();
    for (index, head) in heads {
        if head.len() + 1 > for_rows {
            break;
        }
        for_rows -= head.len() + 1;
        left -= head.len() + 1;
        rows.push((index, head));
    }
    let in_rows: HashSet<usize> = rows.iter().map(|(index, _)| *index).collect();
    let mut known = known.clone();
    for (_, head) in &rows {
        crate::fidelity::collect(head, &mut known);
    }
    let chosen = choose_names(facts, &known, left.saturating_sub(rows.len() * 9 + 120));
    let mut groups = facts.names_by_file(&chosen);
    let mut files = rooted;
    for (index, head) in rows {
        files.push_str(&head);
        if let Some(names) = groups.remove(&Some(index)) {
            files.push_str(": ");
            files.push_str(&listed(facts, &names));
        }
        files.push('\n');
    }
    let mut rest: Vec<&str> = chosen
        .iter()
        .copied()
        .filter(|name| {
            !facts.names.get(name).and_then(|n| n.focus).is_some_and(|f| in_rows.contains(&f))
        })
        .collect();
    let spoken = |name: &&str| facts.names.get(name).is_some_and(|n| n.spoken > 0);
    let seen: Vec<&str> = rest.iter().copied().filter(|n| !spoken(n)).collect();
    rest.retain(|n| spoken(n));
    let mut concepts = tools_row(facts);
    if !rest.is_empty() {
        concepts
            .push_str(&format!("- Talked about or used in commands: {}\n", listed(facts, &rest)));
    }
    if !seen.is_empty() {
        concepts.push_str(&format!("- Met in tool output only: {}\n", listed(facts, &seen)));
    }
    (files, concepts)
}

/// Tools in use with the parameters that they were called with.
fn tools_row(facts: &Facts) -> String {
    const TOOLS: usize = 10;
    let mut used: Vec<_> = facts.tools.used.iter().collect();
    used.sort_by(|a, b| b.1.calls.cmp(&a.1.calls).then(a.0.cmp(b.0)));
    let tools: Vec<String> = used
        .into_iter()
        .take(TOOLS)
        .map(|(name, tool)| {
            let parameters: Vec<&str> = tool.parameters.iter().map(|p| &**p).collect();
            format!("{name} {}× ({})", tool.calls, parameters.join(", "))
        })
        .collect();
    if tools.is_empty() { String::new() } else { format!("- Tools in use: {}\n", tools.join("; ")) }
}

fn choose_names<'a>(facts: &'a Facts, known: &HashSet<String>, room: usize) -> Vec<&'a str> {
    let mut left = room;
    let mut chosen = Vec::new();
    for Ranked { name, .. } in facts.names.ranked(&facts.moment()) {
        if known.contains(name) {
            continue;
        }
        let cost = facts.names.shown(name).len() + 2;
        if cost > left {
            break;
        }
        left -= cost;
        chosen.push(name);
    }
    chosen
}

fn listed(facts: &Facts, names: &[&str]) -> String {
    names.iter().map(|name| facts.names.shown(name)).collect::<Vec<_>>().join(", ")
}

fn file_need(file: &FileFact, now: Seq) -> u64 {
    let age = now.0.saturating_sub(file.last.0);
    let weight = u64::from(file.edits * 3 + file.reads).min(30);
    // Edited files first, then the recent ones; thousandths, since the key must be whole.
    (u64::from(file.edits > 0) * 400 + weight * 40 + 100_000 / (100 + age)).max(1)
}

fn file_row(file: &FileFact, root: &str) -> String {
    let path = file.path.strip_prefix(root).unwrap_or(&file.path);
    let mut done = Vec::new();
    if file.created {
        done.push("created".to_owned());
    }
    let edits = file.edits - u32::from(file.created).min(file.edits);
    if edits > 0 {
        done.push(format!("edited {edits}×"));
    }
    if file.reads > 0 {
        done.push(format!("read {}×", file.reads));
    }
    format!("- {path} ({}, last {})", done.join(", "), mark(file.last))
}

/// The longest directory that most files share.
fn common_root(files: &[FileFact]) -> String {
    let Some(first) = files.iter().max_by_key(|f| f.edits + f.reads) else { return String::new() };
    let mut root: &str = &first.path;
    while let Some(slash) = root.trim_end_matches('/').rfind('/') {
        root = &root[..=slash];
        let below = files.iter().filter(|f| f.path.starts_with(root)).count();
        if root.len() > 1 && below * 5 >= files.len() * 4 {
            return root.to_owned();
        }
        if root.len() <= 1 {
            break;
        }
    }
    String::new()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Text on one line, shortened at its end.
fn one_line(text: &str, bytes: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shorten(&line, bytes)
}
