//! Files by role, and how the project is laid out.

use std::collections::BTreeMap;

use bethink_facts::{Change, FileFact};

use super::{Page, file_name, mark};
use crate::draft::Row;

/// Files that get a row; a listing of more is no memory.
const FILES: usize = 60;
/// Names looked at, and named beside one file.
const NAMES: usize = 500;
const NAMES_A_FILE: usize = 8;
/// Directories, and files named in each.
const DIRECTORIES: usize = 16;
const NAMES_A_DIRECTORY: usize = 8;

/// By need: changed ones first, then those in recent use.
pub(super) fn files(page: &Page<'_>) -> Vec<Row> {
    let files = page.facts.tools.files();
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(files.get(*at).map(|file| need(page, file))));
    order.truncate(FILES);
    let ranked = page.facts.names.ranked(&page.facts.moment());
    let names: Vec<&str> = ranked.iter().take(NAMES).map(|ranked| ranked.name).collect();
    let mut names = page.facts.names_by_file(&names);
    order
        .into_iter()
        .filter_map(|at| Some((at, files.get(at)?)))
        .map(|(at, file)| {
            let within = names.remove(&Some(at)).unwrap_or_default();
            Row::item(format!("file:{}", file.path), &row(page, file, &within), need(page, file))
        })
        .collect()
}

fn row(page: &Page<'_>, file: &FileFact, names: &[&str]) -> String {
    let own = file_name(&file.path);
    let shown = names
        .iter()
        .filter(|name| **name != own && !file.symbols.iter().any(|symbol| *symbol.name == ***name))
        .take(NAMES_A_FILE);
    let shown: Vec<&str> = shown.map(|name| page.facts.names.shown(name)).collect();
    let about = match shown.is_empty() {
        true => String::new(),
        false => format!("; about {}", shown.join(", ")),
    };
    let path = page.path(&file.path);
    format!("`{path}`: {}, last in {}{}{about}", role(file), mark(file.last), symbols(file))
}

/// What became of the symbols in it, the newest.
fn symbols(file: &FileFact) -> String {
    const SYMBOLS: usize = 10;
    let newest: Vec<_> = file.symbols.iter().rev().take(SYMBOLS).collect();
    let mut text = String::new();
    for (change, verb) in
        [(Change::Added, "added"), (Change::Changed, "changed"), (Change::Removed, "removed")]
    {
        let of = newest.iter().filter(|symbol| symbol.change == change);
        let names: Vec<&str> = of.map(|symbol| &*symbol.name).collect();
        if !names.is_empty() {
            text.push_str(&format!("; {verb} {}", names.join(", ")));
        }
    }
    text
}

fn role(file: &FileFact) -> String {
    let mut done = Vec::new();
    if file.created {
        done.push("created".to_owned());
    }
    match file.edits.saturating_sub(u32::from(file.created)) {
        0 => {}
        1 => done.push("changed once".to_owned()),
        edits => done.push(format!("changed {edits} times")),
    }
    match file.reads {
        0 => {}
        1 => done.push("read once".to_owned()),
        reads => done.push(format!("read {reads} times")),
    }
    match file.searches {
        0 => {}
        1 => done.push("searched once".to_owned()),
        searches => done.push(format!("searched {searches} times")),
    }
    if done.is_empty() { "named".to_owned() } else { done.join(", ") }
}

fn need(page: &Page<'_>, file: &FileFact) -> u32 {
    let changed = if file.edits > 0 { 300 } else { 0 };
    changed + (file.edits * 3 + file.reads).min(40) * 4 + page.recency(file.last) * 2
}

/// Where the project lies, the documents that were read, and what stands in which directory.
pub(super) fn docs(page: &Page<'_>) -> Vec<Row> {
    let files = page.facts.tools.files();
    let mut rows = Vec::new();
    if !page.project_dir.is_empty() && !files.is_empty() {
        let text = format!("The project lies in `{}`; paths here are below it.", page.project_dir);
        rows.push(Row::item("project", &text, 1_000));
    }
    for file in files.iter().filter(|file| is_document(&file.path)) {
        let text =
            format!("`{}`: {}, last in {}", page.path(&file.path), role(file), mark(file.last));
        rows.push(Row::item(format!("doc:{}", file.path), &text, 300 + page.recency(file.last)));
    }
    rows.extend(directories(page));
    rows
}

fn is_document(path: &str) -> bool {
    const NAMES: [&str; 8] = [
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "go.mod",
        "Makefile",
        "justfile",
        "pom.xml",
        "Dockerfile",
    ];
    let name = file_name(path);
    let ending = name.rsplit('.').next().unwrap_or("").to_lowercase();
    NAMES.contains(&name) || ["md", "rst", "adoc", "txt"].contains(&ending.as_str())
}

fn directories(page: &Page<'_>) -> Vec<Row> {
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
                files.iter().take(NAMES_A_DIRECTORY).map(|file| file_name(&file.path)).collect();
            let more = match files.len().saturating_sub(named.len()) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let weight = u32::try_from(files.len()).unwrap_or(u32::MAX).min(200);
            Row::item(
                format!("dir:{dir}"),
                &format!("`{dir}/` holds {}{more}", named.join(", ")),
                weight,
            )
        })
        .collect()
}
