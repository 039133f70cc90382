//! Searches the copy like a client's search tools.

use regex::{Regex, RegexBuilder};

use super::MemoryCopy;
use crate::model::spot::MemorySpot;

/// Maximum size of a compiled pattern, in bytes: searching takes linear time, but compiling does not.
const PATTERN_BYTES: usize = 256 * 1024;
const MAX_LINES: usize = 200;

impl MemoryCopy {
    /// Lists the lines below `below` that match `pattern`, as `file:number:line`.
    pub fn grep(&self, dir: &str, pattern: &str, below: &MemorySpot) -> Result<String, String> {
        let built = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
        let pattern = built.or_else(|_| Regex::new(&regex::escape(pattern)));
        let pattern = pattern.map_err(|_| "the pattern is too large".to_owned())?;
        let mut found = Vec::new();
        for (file, text) in self.files(below) {
            let lines = text.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
            found.extend(lines.map(|(at, line)| format!("{dir}/{file}:{}:{line}", at + 1)));
        }
        Ok(listing(found))
    }

    /// Lists the paths below `below` that match `pattern`, or all paths.
    pub fn list(
        &self,
        dir: &str,
        pattern: Option<&str>,
        below: &MemorySpot,
    ) -> Result<String, String> {
        let pattern = pattern
            .map(|pattern| {
                wildcards(pattern).ok_or("the pattern is not valid: use only * and ? as wildcards")
            })
            .transpose()?;
        let matches = |file: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(file));
        let found = self.files(below).into_iter().filter(|(file, _)| matches(file));
        Ok(listing(found.map(|(file, _)| format!("{dir}/{file}")).collect()))
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

fn listing(mut found: Vec<String>) -> String {
    if found.is_empty() {
        return "No matches.".to_owned();
    }
    let left = found.len().saturating_sub(MAX_LINES);
    found.truncate(MAX_LINES);
    if left > 0 {
        found.push(format!("and {left} more"));
    }
    found.join("\n")
}

/// Compiles wildcards: `*` matches within a part of a path, `**` over several parts.
fn wildcards(pattern: &str) -> Option<Regex> {
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
    RegexBuilder::new(&out).size_limit(PATTERN_BYTES).build().ok()
}
