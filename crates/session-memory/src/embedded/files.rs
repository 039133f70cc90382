//! The files of a session, and the project's documents.

use bethink_facts::FileFact;
use bethink_facts::rows::{changes, file_name, mark};

use super::page::{NotesContext, clip, times};
use crate::draft::NotesRow;

/// Maximum number of files that get a row; a longer listing would not be useful.
const FILES: usize = 60;
const SYMBOLS: usize = 10;
/// Number of lines quoted from an edited file, and the maximum size of each, in bytes.
const LINES: usize = 3;
const LINE_BYTES: usize = 100;

/// Returns rows about files, the most needed first: changed files, then those in recent use.
pub(super) fn files(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let files = page.facts.tools.files();
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(files.get(*at).map(|file| need(page, file))));
    order.truncate(FILES);
    let rows = order.into_iter().filter_map(|at| {
        let file = files.get(at)?;
        Some(NotesRow::item(format!("file:{}", file.path), &row(page, file), need(page, file)))
    });
    rows.collect()
}

fn row(page: &NotesContext<'_>, file: &FileFact) -> String {
    let mut text = done_to(page, file);
    let changes = changes(file, SYMBOLS);
    if !changes.is_empty() {
        text.push_str(&format!("; {changes}"));
    }
    let lines = telling(file);
    if !lines.is_empty() {
        text.push_str(&format!("; now says {}", lines.join(", ")));
    }
    text
}

/// Returns the most informative lines that the session's edits wrote, in the order of the file.
fn telling(file: &FileFact) -> Vec<String> {
    let path = &*file.path;
    let mut lines: Vec<_> = file.written().iter().enumerate().collect();
    lines.sort_by(|(_, a), (_, b)| b.worth(path).total_cmp(&a.worth(path)).then(b.seq.cmp(&a.seq)));
    lines.truncate(LINES);
    lines.sort_by_key(|(at, _)| *at);
    lines.iter().map(|(_, line)| format!("`{}`", clip(&line.text, LINE_BYTES))).collect()
}

/// Describes the path, what was done to the file, and when.
fn done_to(page: &NotesContext<'_>, file: &FileFact) -> String {
    let edits = file.edits.saturating_sub(u32::from(file.created));
    let counted = [("changed", edits), ("read", file.reads), ("searched", file.searches)];
    let counted = counted.into_iter().filter(|(_, count)| *count > 0);
    let created = file.created.then(|| "created".to_owned());
    let counted = counted.map(|(what, count)| times(what, count));
    let mut done: Vec<String> = created.into_iter().chain(counted).collect();
    if done.is_empty() {
        done.push("mentioned".to_owned());
    }
    format!("`{}`: {}, last in {}", page.path(&file.path), done.join(", "), mark(file.last))
}

fn need(page: &NotesContext<'_>, file: &FileFact) -> u32 {
    let changed = if file.edits > 0 { 300 } else { 0 };
    changed + (file.edits * 3 + file.reads).min(40) * 4 + page.recency(file.last) * 2
}

/// Returns rows about the project's directory and about the session's files that are documents.
pub(super) fn docs(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let files = page.facts.tools.files();
    let mut rows = Vec::new();
    if !page.project_dir.is_empty() && !files.is_empty() {
        let text =
            format!("The project is in `{}`; the paths here are relative to it.", page.project_dir);
        rows.push(NotesRow::item("project", &text, 1_000));
    }
    for file in files.iter().filter(|file| is_document(&file.path)) {
        let weight = 300 + page.recency(file.last);
        rows.push(NotesRow::item(format!("doc:{}", file.path), &done_to(page, file), weight));
    }
    rows
}

fn is_document(path: &str) -> bool {
    const NAMES: &str =
        "Cargo.toml package.json pyproject.toml go.mod Makefile justfile pom.xml Dockerfile";
    let name = file_name(path);
    let ending = name.rsplit('.').next().unwrap_or("").to_lowercase();
    NAMES.split(' ').any(|known| known == name)
        || ["md", "rst", "adoc", "txt"].contains(&ending.as_str())
}
