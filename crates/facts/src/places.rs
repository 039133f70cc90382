//! Where symbols are defined, according to the files that were read and the searches that were run.

use std::sync::Arc;

use bethink_transcript::Seq;
use bethink_transcript::text::beginning;

use crate::symbols::defined_by;

/// A line that defines a symbol, as a tool result showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenDefinition {
    pub seq: Seq,
    /// The file's path, as the tool call or its result gave it.
    pub path: Arc<str>,
    pub line: u32,
    /// The line without indentation.
    pub text: Box<str>,
}

const LINE_BYTES: usize = 200;
/// Maximum number of definitions taken from one result.
const PER_RESULT: usize = 60;
/// Number of definitions kept. Once there are twice as many, the oldest half is dropped.
const DEFINITIONS: usize = 400;

/// Adds the definitions found in the result of reading `file`, or in the result of a search.
pub(crate) fn collect(
    all: &mut Vec<SeenDefinition>,
    file: Option<&Arc<str>>,
    text: &str,
    seq: Seq,
) {
    let found = text.lines().filter_map(|line| match file {
        Some(path) => numbered(line).map(|(number, text)| (Arc::clone(path), number, text)),
        None => searched(line).map(|(path, number, text)| (path.into(), number, text)),
    });
    let found = found.filter(|(_, _, text)| defined_by(text).is_some());
    let mut fresh: Vec<SeenDefinition> = Vec::new();
    for (path, line, text) in found.take(PER_RESULT) {
        let text = beginning(text.trim(), LINE_BYTES).into();
        fresh.push(SeenDefinition { seq, path, line, text });
    }
    // The newest result says where a definition is now.
    all.retain(|old| !fresh.iter().any(|new| new.text == old.text && new.path == old.path));
    all.extend(fresh);
    crate::recent::forget_oldest(all, DEFINITIONS);
}

/// Reads `  123→text`, as tools number the lines of a file.
fn numbered(line: &str) -> Option<(u32, &str)> {
    let line = line.trim_start();
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let text = line[end..].strip_prefix(['→', '\t', ':', '|'])?;
    Some((line[..end].parse().ok()?, text))
}

/// Reads `src/store.rs:123:text`, as searches print it.
pub(crate) fn searched(line: &str) -> Option<(&str, u32, &str)> {
    let (path, rest) = line.split_once(':')?;
    let (number, text) = rest.split_once([':', '-'])?;
    (path.contains('.') && !path.contains(' ')).then_some(())?;
    Some((path, number.parse().ok()?, text))
}

/// Returns the last part of a path.
pub fn file_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_taken_from_files_and_searches() {
        let mut all = Vec::new();
        let path: Arc<str> = "/proj/store.rs".into();
        collect(&mut all, Some(&path), "  12→pub fn open() {\n  13→    read();\n", Seq(1));
        collect(
            &mut all,
            None,
            "src/log.rs:7:fn append(&mut self) {\nsrc/log.rs:9:    flush();",
            Seq(2),
        );
        let found: Vec<_> = all.iter().map(|d| (&*d.path, d.line, &*d.text)).collect();
        assert_eq!(
            found,
            [
                ("/proj/store.rs", 12, "pub fn open() {"),
                ("src/log.rs", 7, "fn append(&mut self) {")
            ]
        );
        collect(&mut all, Some(&path), "  20→pub fn open() {", Seq(3));
        assert_eq!(all.iter().filter(|d| &*d.path == "/proj/store.rs").count(), 1);
        assert_eq!(all.last().unwrap().line, 20);
    }
}
