//! Searches the copy like a client's search tools.

use regex::{Regex, RegexBuilder};

use super::MemoryCopy;
use crate::model::spot::MemorySpot;

/// Maximum size of a pattern with wildcards, in bytes: the time of a search grows with the size of the text times the size of
/// the pattern.
const PATTERN_BYTES: usize = 1_000;
/// Maximum size of a compiled pattern, in bytes.
const COMPILED_BYTES: usize = 256 * 1024;
const MAX_LINES: usize = 200;

/// What a line must contain to be found.
enum Pattern<'a> {
    Text(&'a str),
    Expression(Regex),
}

impl<'a> Pattern<'a> {
    /// Compiles a regular expression. A pattern that is invalid, or too large when compiled, is searched for literally.
    fn of(pattern: &'a str) -> Result<Self, String> {
        if regex::escape(pattern) == pattern {
            return Ok(Self::Text(pattern));
        }
        check_size(pattern)?;
        let built = RegexBuilder::new(pattern).size_limit(COMPILED_BYTES).build();
        Ok(built.map_or(Self::Text(pattern), Self::Expression))
    }

    fn is_in(&self, line: &str) -> bool {
        match self {
            Self::Text(text) => line.contains(text),
            Self::Expression(regex) => regex.is_match(line),
        }
    }
}

fn check_size(pattern: &str) -> Result<(), String> {
    match pattern.len() {
        ..=PATTERN_BYTES => Ok(()),
        size => Err(format!(
            "the pattern has {size} bytes; use a pattern of at most {PATTERN_BYTES} bytes"
        )),
    }
}

impl MemoryCopy {
    /// Lists the lines below `below` that match `pattern`, as `file:number:line`.
    pub fn grep(&self, dir: &str, pattern: &str, below: &MemorySpot) -> Result<String, String> {
        let pattern = Pattern::of(pattern)?;
        let files = self.files(below);
        let lines = files.iter().flat_map(|(file, text)| {
            text.lines().enumerate().map(move |(at, line)| (file, at + 1, line))
        });
        let found = lines.filter(|(.., line)| pattern.is_in(line));
        Ok(listing(found, |(file, number, line)| format!("{dir}/{file}:{number}:{line}")))
    }

    /// Lists the paths below `below` that match `pattern`, or all paths.
    pub fn list(
        &self,
        dir: &str,
        pattern: Option<&str>,
        below: &MemorySpot,
    ) -> Result<String, String> {
        let pattern = pattern.map(wildcards).transpose()?;
        let matches = |file: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(file));
        let found = self.files(below).into_iter().filter(|(file, _)| matches(file));
        Ok(listing(found, |(file, _)| format!("{dir}/{file}")))
    }

    /// Returns the files below a place, relative to the directory, with their texts.
    fn files(&self, below: &MemorySpot) -> Vec<(String, &str)> {
        let is_below = |spot: &MemorySpot| match below {
            MemorySpot::Directory => true,
            MemorySpot::TeamDirectory => {
                matches!(spot, MemorySpot::TeamIndex | MemorySpot::TeamTopic(_))
            }
            below => spot == below,
        };
        let files = self.files.iter().filter(|(spot, _)| is_below(spot));
        files.map(|(spot, file)| (spot.path(), file.now.as_str())).collect()
    }
}

fn listing<T>(mut found: impl Iterator<Item = T>, line: impl Fn(T) -> String) -> String {
    let mut lines: Vec<String> = found.by_ref().take(MAX_LINES).map(line).collect();
    match found.count() {
        0 if lines.is_empty() => return "No matches.".to_owned(),
        0 => {}
        left => lines.push(format!("and {left} more")),
    }
    lines.join("\n")
}

/// Compiles wildcards: `*` matches within one component of a path, `**` across components.
fn wildcards(pattern: &str) -> Result<Regex, String> {
    check_size(pattern)?;
    let mut out = String::from("^");
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let (part, length) = match c {
            '*' if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            '*' if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            c => (regex::escape(c.encode_utf8(&mut [0; 4])), c.len_utf8()),
        };
        out.push_str(&part);
        rest = rest.get(length..).unwrap_or_default();
    }
    out.push('$');
    let built = RegexBuilder::new(&out).size_limit(COMPILED_BYTES).build();
    built.map_err(|_| "the pattern has too many wildcards: use a shorter one".to_owned())
}
