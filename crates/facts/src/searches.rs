//! What searches found: in which files and lines a pattern occurs, or that it occurs nowhere.

use std::collections::HashSet;

use bethink_transcript::Seq;
use bethink_transcript::text::shorten;

use crate::places::{file_name, searched};
use crate::recent::forget_oldest;

/// The result of one search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchFact {
    pub seq: Seq,
    pub pattern: Box<str>,
    /// The directory or file that was searched, as the call named it; empty for the whole project.
    pub scope: Box<str>,
    /// The files that contain the pattern, in the order of the result.
    pub files: Vec<FoundFile>,
    /// Number of files that contain the pattern but are not in `files`.
    pub more: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFile {
    pub path: Box<str>,
    /// The first matching lines, with their line numbers.
    pub lines: Vec<(u32, Box<str>)>,
}

/// Maximum number of files kept from a result, and maximum number of lines kept per file.
const FILES: usize = 6;
const LINES: usize = 4;
const LINE_BYTES: usize = 160;
const PATTERN_BYTES: usize = 100;
/// Maximum number of files that a sentence names along with their matching lines.
const PLACES: usize = 3;
/// Maximum number of lines that are read from a result.
const RESULT_LINES: usize = 2_000;
/// Number of searches kept. Once there are twice as many, the oldest half is dropped.
const SEARCHES: usize = 60;

/// Adds the result of a search. The new result replaces an earlier result of the same search. If the client truncated
/// the new result, the files of the earlier result are kept too.
pub(crate) fn collect(
    all: &mut Vec<SearchFact>,
    (pattern, scope): (&str, &str),
    text: &str,
    seq: Seq,
) {
    let mut found = SearchFact {
        seq,
        pattern: shorten(pattern, PATTERN_BYTES).into(),
        scope: scope.into(),
        ..SearchFact::default()
    };
    if !is_empty(text) {
        found.read(text);
        if found.files.is_empty() {
            return;
        }
    }
    if text.trim_start().starts_with(CUT_RESULT_PREFIX) {
        let same = |old: &&SearchFact| old.pattern == found.pattern && old.scope == found.scope;
        let earlier: Vec<FoundFile> =
            all.iter().filter(same).flat_map(|old| old.files.clone()).collect();
        for file in earlier {
            // Adds an entry without lines if the cut result does not have the file.
            found.file(&file.path);
        }
    }
    all.retain(|old| old.pattern != found.pattern || old.scope != found.scope);
    all.push(found);
    forget_oldest(all, SEARCHES);
}

/// The text at the beginning of a result that Claude Code has truncated.
const CUT_RESULT_PREFIX: &str = "<persisted-output>";

/// Whether a result says that nothing was found.
fn is_empty(text: &str) -> bool {
    const SIGNS: [&str; 3] = ["No matches found", "No files found", "Found 0 "];
    SIGNS.iter().any(|sign| text.trim_start().starts_with(sign))
}

impl SearchFact {
    fn read(&mut self, text: &str) {
        let scope = self.scope.clone();
        let mut others: HashSet<&str> = HashSet::new();
        for line in text.lines().take(RESULT_LINES) {
            let found = match searched(line) {
                Some((path, number, text)) => Some((path, Some((number, text)))),
                None => match numbered_match(line) {
                    Some(matched) => Some((&*scope, Some(matched))),
                    None => is_path(line).then_some((line, None)),
                },
            };
            let Some((path, matched)) = found.filter(|(path, _)| !path.is_empty()) else {
                continue;
            };
            let Some(file) = self.file(path) else {
                others.insert(path);
                continue;
            };
            if let Some((number, text)) = matched.filter(|_| file.lines.len() < LINES) {
                file.lines.push((number, shorten(text.trim(), LINE_BYTES).into()));
            }
        }
        self.more = others.len();
    }

    /// Returns the entry for a file, and adds the entry if it is missing and there is room.
    fn file(&mut self, path: &str) -> Option<&mut FoundFile> {
        let at = match self.files.iter().position(|file| &*file.path == path) {
            Some(at) => at,
            None if self.files.len() == FILES => return None,
            None => {
                self.files.push(FoundFile { path: path.into(), lines: Vec::new() });
                self.files.len() - 1
            }
        };
        self.files.get_mut(at)
    }

    /// States where the pattern was found: `` `parse(` was found in read.rs (line 12) and main.rs (lines 3 40) ``.
    pub fn sentence(&self) -> String {
        let pattern = &self.pattern;
        if self.files.is_empty() {
            let scope = if self.scope.is_empty() { "the project" } else { file_name(&self.scope) };
            return format!("`{pattern}` was not found in {scope}");
        }
        // A pattern that many files contain shows no place.
        let is_broad = self.files.len() > PLACES;
        let named = self.files.iter().take(PLACES);
        let mut files: Vec<String> = match is_broad {
            true => named.map(|file| file_name(&file.path).to_owned()).collect(),
            false => named.map(place).collect(),
        };
        match self.more + self.files.len() - files.len() {
            0 => {}
            1 => files.push("1 more file".to_owned()),
            more => files.push(format!("{more} more files")),
        }
        let last = files.pop().unwrap_or_default();
        let places = match files.is_empty() {
            true => last,
            false => format!("{} and {last}", files.join(", ")),
        };
        format!("`{pattern}` was found in {places}")
    }
}

fn place(file: &FoundFile) -> String {
    let name = file_name(&file.path);
    let numbers: Vec<String> = file.lines.iter().map(|(number, _)| number.to_string()).collect();
    match numbers.len() {
        0 => name.to_owned(),
        1 => format!("{name} (line {})", numbers.join("")),
        _ => format!("{name} (lines {})", numbers.join(" ")),
    }
}

/// Reads a match in the form `123:text`, which a search in one file prints. Lines near a match have a hyphen instead of the
/// colon.
fn numbered_match(line: &str) -> Option<(u32, &str)> {
    let (number, text) = line.split_once(':')?;
    Some((number.parse().ok()?, text))
}

/// Whether a line is the path of a file, rather than a line near a match, such as `src/read.rs-13-}`.
fn is_path(line: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_near = line.split('-').any(is_number);
    let is_text = line.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '<' | '>'));
    line.contains('/') && !is_text && !is_near
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scope: &str, result: &str, expect: &str) {
        let mut all = Vec::new();
        collect(&mut all, ("parse(", scope), result, Seq(3));
        assert_eq!(all[0].sentence(), expect);
    }

    #[test]
    fn a_cut_result_does_not_hide_files_that_an_earlier_one_found() {
        let mut all = Vec::new();
        collect(&mut all, ("parse(", ""), "Found 2 files\nsrc/read.rs\nsrc/main.rs", Seq(3));
        let cut = "<persisted-output>\nOutput too large (21.7KB).\nsrc/read.rs:12:    parse(line);";
        collect(&mut all, ("parse(", ""), cut, Seq(5));
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].sentence(), "`parse(` was found in read.rs (line 12) and main.rs");
        collect(&mut all, ("parse(", ""), "src/read.rs:12:    parse(line);", Seq(7));
        assert_eq!(all[0].sentence(), "`parse(` was found in read.rs (line 12)");
    }

    #[test]
    fn a_search_says_where_it_found_something() {
        check(
            "/proj",
            "src/read.rs:12:    parse(line);\nsrc/read.rs-13-    next();\nsrc/main.rs:40:parse(all)\nsrc/main.rs:41:parse(it)\nsrc/main.rs-42-}",
            "`parse(` was found in read.rs (line 12) and main.rs (lines 40 41)",
        );
        check("", "Found 2 files\n/proj/a.rs\n/proj/b.rs", "`parse(` was found in a.rs and b.rs");
        let near = "7:parse(x)\n8-}\n9-//\n</persisted-output>";
        check("/proj/a.rs", near, "`parse(` was found in a.rs (line 7)");
        let many: String = (1..=9).map(|n| format!("/proj/f{n}.rs\n")).collect();
        check("", &many, "`parse(` was found in f1.rs, f2.rs, f3.rs and 6 more files");
    }

    #[test]
    fn a_search_without_a_match_says_so() {
        check("/proj/CLAUDE.md", "No matches found", "`parse(` was not found in CLAUDE.md");
        check("", "No files found", "`parse(` was not found in the project");
        let mut all = Vec::new();
        collect(&mut all, ("parse(", ""), "the tool answers something else", Seq(3));
        assert!(all.is_empty());
    }

    #[test]
    fn the_newest_result_of_a_search_replaces_the_earlier_one() {
        let mut all = Vec::new();
        collect(&mut all, ("parse(", "/proj"), "/proj/a.rs", Seq(3));
        collect(&mut all, ("parse(", "/proj/b"), "/proj/b/c.rs", Seq(5));
        collect(&mut all, ("parse(", "/proj"), "No matches found", Seq(7));
        let found: Vec<_> = all.iter().map(|found| (found.seq, found.files.len())).collect();
        assert_eq!(found, [(Seq(5), 1), (Seq(7), 0)]);
    }
}
