//! The files of a session, and the layout of the project.

use std::collections::BTreeMap;

use bethink_facts::FileFact;
use bethink_facts::rows::{changes, file_name, mark};

use super::page::{NotesContext, and_more, times};
use crate::draft::NotesRow;

/// Maximum number of files that get a row; a longer listing would not be useful.
const FILES: usize = 60;
/// Number of names that are considered, and of names listed with one file.
const NAMES: usize = 500;
const NAMES_PER_FILE: usize = 8;
const SYMBOLS: usize = 10;
/// Number of directories, and of files listed in each.
const DIRECTORIES: usize = 16;
const NAMES_PER_DIRECTORY: usize = 8;

/// Files by need: changed ones first, then those in recent use.
pub(super) fn files(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let files = page.facts.tools.files();
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(files.get(*at).map(|file| need(page, file))));
    order.truncate(FILES);
    let ranked = page.facts.names.ranked(&page.facts.moment());
    let names: Vec<&str> = ranked.iter().take(NAMES).map(|ranked| ranked.name).collect();
    let mut names = page.facts.names_by_file(&names);
    let rows = order.into_iter().filter_map(|at| {
        let file = files.get(at)?;
        let text = row(page, file, &names.remove(&Some(at)).unwrap_or_default());
        Some(NotesRow::item(format!("file:{}", file.path), &text, need(page, file)))
    });
    rows.collect()
}

fn row(page: &NotesContext<'_>, file: &FileFact, names: &[&str]) -> String {
    let own = file_name(&file.path);
    let shown = names
        .iter()
        .filter(|name| **name != own && !file.symbols.iter().any(|symbol| *symbol.name == ***name))
        .take(NAMES_PER_FILE);
    let shown: Vec<&str> = shown.map(|name| page.facts.names.shown(name)).collect();
    let mut text = done_to(page, file);
    let changes = changes(file, SYMBOLS);
    if !changes.is_empty() {
        text.push_str(&format!("; {changes}"));
    }
    if !shown.is_empty() {
        text.push_str(&format!("; about {}", shown.join(", ")));
    }
    text
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

/// The project's directory, the documents that were read, and the content of each directory.
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
    rows.extend(directories(page));
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

fn directories(page: &NotesContext<'_>) -> Vec<NotesRow> {
    let mut below: BTreeMap<&str, Vec<&FileFact>> = BTreeMap::new();
    for file in page.facts.tools.files().iter().filter(|file| !is_document(&file.path)) {
        let path = page.path(&file.path);
        let dir = path.rsplit_once('/').map_or(".", |(dir, _)| dir);
        below.entry(dir).or_default().push(file);
    }
    let mut dirs: Vec<_> = below.into_iter().filter(|(_, files)| files.len() > 1).collect();
    dirs.sort_by_key(|(dir, files)| (std::cmp::Reverse(files.len()), *dir));
    dirs.truncate(DIRECTORIES);
    dirs.into_iter()
        .map(|(dir, mut files)| {
            files.sort_by_key(|file| std::cmp::Reverse(need(page, file)));
            let named: Vec<&str> =
                files.iter().take(NAMES_PER_DIRECTORY).map(|file| file_name(&file.path)).collect();
            let more = and_more(files.len(), named.len());
            let text = format!("`{dir}/` contains {}{more}", named.join(", "));
            let weight = u32::try_from(files.len()).unwrap_or(u32::MAX).min(200);
            NotesRow::item(format!("dir:{dir}"), &text, weight)
        })
        .collect()
}
