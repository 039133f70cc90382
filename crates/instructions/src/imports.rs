//! Finds imports in a file's prose: `@path`.
//!
//! An `@` counts only at the beginning of a word, so an email address is not an import. `@team` or `@scope/package` is
//! an import if the file exists. [`ImportMark::is_meant`] decides whether a missing file is reported.

use crate::limits::MOST_PATH_BYTES;
use crate::lines::{LineContext, LineReader};

/// The text after the `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImportMark {
    pub(crate) path: String,
}

/// Returns the first `most` distinct imports in the text, in order, and whether there are more.
pub(crate) fn find(text: &str, most: usize) -> (Vec<ImportMark>, bool) {
    let (mut found, mut seen) = (Vec::new(), std::collections::HashSet::new());
    for paragraph in paragraphs(text) {
        let prose = without_spans(paragraph);
        for path in marks(&prose) {
            if !seen.insert(path.clone()) {
                continue;
            }
            if found.len() == most {
                return (found, true);
            }
            found.push(ImportMark { path });
        }
    }
    (found, false)
}

impl ImportMark {
    /// Returns the possible paths: first as written, then without an anchor (`#…`), then without punctuation at the end.
    pub(crate) fn readings(&self) -> impl Iterator<Item = &str> {
        let bare = self
            .path
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*']);
        let anchor = self.path.split_once('#').map(|(path, _)| path);
        let mut readings = vec![self.path.as_str()];
        readings
            .extend(anchor.into_iter().chain([bare]).filter(|r| !r.is_empty() && *r != self.path));
        readings.into_iter()
    }

    /// Returns whether the mark looks like the path of a text file, so that a missing file is reported.
    pub(crate) fn is_meant(&self) -> bool {
        let last = self.readings().last().unwrap_or_default();
        let name = last.rsplit('/').next().unwrap_or_default();
        let relative = ["./", "../", "~/"].iter().any(|begin| last.starts_with(begin));
        relative
            || name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && is_text(end))
    }
}

/// Returns whether people import files with this extension; `doe` in `@jane.doe` is not such an extension.
fn is_text(ending: &str) -> bool {
    const TEXT: [&str; 16] = [
        "md", "mdx", "mdc", "markdown", "txt", "text", "rst", "adoc", "org", "json", "jsonc",
        "yaml", "yml", "toml", "csv", "xml",
    ];
    TEXT.iter().any(|known| known.eq_ignore_ascii_case(ending))
}

fn paragraphs(text: &str) -> Vec<&str> {
    let (mut found, mut lines) = (Vec::new(), LineReader::default());
    let (mut at, mut begin) = (0, None);
    for line in text.split_inclusive('\n') {
        let is_prose = lines.place(line) == LineContext::Prose;
        match (begin, is_prose) {
            (None, true) => begin = Some(at),
            (Some(from), false) => {
                found.extend(text.get(from..at));
                begin = None;
            }
            _ => {}
        }
        at += line.len();
    }
    found.extend(begin.and_then(|from| text.get(from..)));
    found
}

/// Replaces each code span with a placeholder, so that no import is found in it.
fn without_spans(paragraph: &str) -> String {
    let runs = backticks(paragraph);
    let mut out = String::with_capacity(paragraph.len());
    let (mut at, mut i) = (0, 0);
    // Index the runs by length, so that an unmatched run does not cause a search of the whole text.
    let mut places: std::collections::HashMap<usize, Vec<usize>> = std::collections::HashMap::new();
    for (index, (_, length)) in runs.iter().enumerate() {
        places.entry(*length).or_default().push(index);
    }
    while let Some((begin, length)) = runs.get(i).copied() {
        let same = places.get(&length).map(Vec::as_slice).unwrap_or_default();
        let partner = same.get(same.partition_point(|index| *index <= i)).copied();
        let Some((close, _)) = partner.and_then(|partner| runs.get(partner)).copied() else {
            i += 1;
            continue;
        };
        out.push_str(paragraph.get(at..begin).unwrap_or_default());
        out.push('`');
        at = close + length;
        i = partner.map_or(i, |partner| partner) + 1;
    }
    out.push_str(paragraph.get(at..).unwrap_or_default());
    out
}

/// Returns the positions and lengths of runs of backticks.
fn backticks(text: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in text.match_indices('`') {
        match runs.last_mut() {
            Some((begin, length)) if *begin + *length == at => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

/// Returns the text after each `@` that begins a word. `\ ` stands for a space in a path.
fn marks(prose: &str) -> impl Iterator<Item = String> {
    prose.match_indices('@').filter_map(|(at, _)| {
        let before = prose.get(..at)?.chars().next_back();
        if before.is_some_and(|c| !c.is_whitespace()) {
            return None;
        }
        let path = word(prose.get(at + 1..)?);
        let first = path.chars().next()?;
        let begins = first.is_alphanumeric() || matches!(first, '.' | '/' | '~' | '_' | '-');
        (begins && path.len() <= MOST_PATH_BYTES).then_some(path)
    })
}

fn word(text: &str) -> String {
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&' ') => word.extend(chars.next()),
            c if c.is_whitespace() || word.len() > MOST_PATH_BYTES => break,
            c => word.push(c),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let (found, more) = find(text, 100);
        let found: Vec<&str> = found.iter().map(|import| import.path.as_str()).collect();
        assert_eq!((found.as_slice(), more), (expect, false), "{text}");
    }

    #[test]
    fn marks_in_prose() {
        check("@AGENTS.md", &["AGENTS.md"]);
        check("See @README and @docs/a.md for more", &["README", "docs/a.md"]);
        check("- @~/x.md\n- @/etc/y.md\n- @../z.md", &["~/x.md", "/etc/y.md", "../z.md"]);
        check("@my\\ notes/a.md b", &["my notes/a.md"]);
        check("@a.md\n@a.md", &["a.md"]);
        check("\u{e4}\n@gr\u{fc}n.md", &["gr\u{fc}n.md"]);
        check("1. first\n\n   @in/list.md", &["in/list.md"]);
    }

    #[test]
    fn no_marks() {
        check("jane@example.md <jane@x.md> (x@y.z)", &[]);
        check("`@a.md` and ``a ` @b.md`` and `over\n@c.md lines`", &[]);
        check("```\n@a.md\n```\n~~~\n@b.md\n~~~", &[]);
        check("text\n\n    @code.md\n", &[]);
        check("@ @@x @(y) @\u{201c}z\u{201d} [@link.md](@x)", &[]);
    }

    #[test]
    fn backticks_without_a_partner_are_text() {
        check("a ` b @a.md", &["a.md"]);
        check("a ` b\n\n@a.md ` c", &["a.md"]);
        check("`` a ` @a.md", &["a.md"]);
        check("`x` @a.md `y`", &["a.md"]);
    }

    #[test]
    fn readings_of_a_sentence() {
        let readings = |path: &str| {
            let import = ImportMark { path: path.to_owned() };
            import.readings().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(readings("a.md"), ["a.md"]);
        assert_eq!(readings("a.md."), ["a.md.", "a.md"]);
        assert_eq!(readings("a.md#part"), ["a.md#part", "a.md"]);
        assert_eq!(readings("..."), ["..."]);
    }

    #[test]
    fn what_is_meant_as_a_file() {
        let meant = |path: &str| ImportMark { path: path.to_owned() }.is_meant();
        for path in ["AGENTS.md", "docs/a.md.", "./x", "../x/y", "~/notes", "/etc/a.txt", "a.md#b"]
        {
            assert!(meant(path), "{path}");
        }
        for path in ["jane", "jane.doe", "scope/package", "/components/ui", "param", ".md", "2x"] {
            assert!(!meant(path), "{path}");
        }
    }

    #[test]
    fn hostile_texts_take_no_time() {
        let spans: String = (1..2_000).map(|n| format!("{} ", "`".repeat(n))).collect();
        assert_eq!(find(&spans, 10), (vec![], false));
        let many: String = (0..200_000).map(|n| format!("@a{n} ")).collect();
        let (found, more) = find(&many, 10);
        assert_eq!((found.len(), more), (10, true));
        assert_eq!(find(&format!("@{}", "a".repeat(3 << 20)), 10), (vec![], false));
    }
}
