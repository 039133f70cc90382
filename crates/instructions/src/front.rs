//! Reads the part of front matter that instructions use: the `paths` of a rule.
//!
//! Front matter is read line by line, not as YAML: people write `paths: **/*.ts`, which YAML would read as an alias.

use crate::limits::MOST_FRONT_BYTES;

/// A text without its front matter, and the patterns from the front matter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Front<'a> {
    pub(crate) body: &'a str,
    /// `None` if there is no `paths`.
    pub(crate) paths: Option<Vec<String>>,
}

pub(crate) fn split(text: &str) -> Front<'_> {
    let whole = Front { body: text, paths: None };
    let Some(rest) = text.strip_prefix("---\n") else { return whole };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if at > MOST_FRONT_BYTES {
            break;
        }
        if matches!(line.trim_end(), "---" | "...") {
            let (front, body) = (rest.get(..at), rest.get(at + line.len()..));
            return Front { body: body.unwrap_or_default(), paths: front.and_then(paths) };
        }
        at += line.len();
    }
    // A single line of dashes is a thematic break.
    whole
}

/// Returns the value of `paths`: a YAML list in either form, or a comma-separated string.
fn paths(front: &str) -> Option<Vec<String>> {
    let mut lines = front.lines();
    let value = lines.by_ref().find_map(|line| {
        let rest = line.strip_prefix("paths").or_else(|| line.strip_prefix("\"paths\""))?;
        rest.trim_start().strip_prefix(':')
    })?;
    let value = value.trim();
    let mut items = match value.strip_prefix('[') {
        Some(open) => listed(open, &mut lines),
        None if is_block_mark(value) => indented(&mut lines),
        None => commas(without_comment(value)),
    };
    items.retain(|item| !item.is_empty());
    Some(items)
}

/// Returns whether a value is empty, a comment or a block indicator, which means that the values are on the lines
/// below.
fn is_block_mark(value: &str) -> bool {
    value.is_empty() || value.starts_with('#') || matches!(value, "|" | ">" | "|-" | ">-")
}

/// Reads `[a, b]`, on one line or several.
fn listed<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut inner = String::from(first);
    while !closed(&inner) {
        let Some(next) = lines.next() else { break };
        inner.push(' ');
        inner.push_str(next.trim());
    }
    let inner = without_comment(&inner).trim_end();
    commas(inner.strip_suffix(']').unwrap_or(inner))
}

/// Returns whether the text contains the `]` that closes the list itself, and not just one that closes a `[` in a
/// pattern.
fn closed(inner: &str) -> bool {
    let mut open = 0_i64;
    inner.chars().any(|c| {
        open += match c {
            '[' => 1,
            ']' => -1,
            _ => 0,
        };
        open < 0
    })
}

/// Reads `- a` lines, or the lines of a block of text.
fn indented<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut items = Vec::new();
    for line in lines {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let item = text.strip_prefix("- ").or((text == "-").then_some(""));
        match item {
            Some(item) => items.push(bare(without_comment(item))),
            None if line.starts_with([' ', '\t']) => items.extend(commas(without_comment(text))),
            None => break,
        }
    }
    items
}

/// Splits at commas outside braces, brackets and quotes.
fn commas(text: &str) -> Vec<String> {
    let (mut items, mut item) = (Vec::new(), String::new());
    let (mut open, mut quote) = (0_usize, None);
    for c in text.chars() {
        match (quote, c) {
            (None, ',') if open == 0 => {
                items.push(bare(&item));
                item.clear();
                continue;
            }
            (None, '\'' | '"') if item.trim().is_empty() => quote = Some(c),
            (Some(q), _) if q == c => quote = None,
            (None, '{' | '[') => open += 1,
            (None, '}' | ']') => open = open.saturating_sub(1),
            _ => {}
        }
        item.push(c);
    }
    items.push(bare(&item));
    items
}

/// Removes surrounding quotes.
fn bare(text: &str) -> String {
    let text = text.trim();
    let inner = |q: char| text.strip_prefix(q).and_then(|t| t.strip_suffix(q));
    inner('"').or_else(|| inner('\'')).unwrap_or(text).trim().to_owned()
}

/// Removes a YAML comment, which begins after a space. A quoted value keeps its `#`.
fn without_comment(text: &str) -> &str {
    if text.trim_start().starts_with(['"', '\'']) && !text.contains("\" #") {
        return text;
    }
    text.split_once(" #").map_or(text, |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(front: &str, expect: &[&str]) {
        let text = format!("---\n{front}\n---\nbody\n");
        let front = split(&text);
        assert_eq!(front.body, "body\n", "{text}");
        assert_eq!(front.paths.unwrap_or_default(), expect, "{text}");
    }

    #[test]
    fn forms_of_paths() {
        check("paths:\n  - 'src/**/*.ts'\n  - lib/*.rs", &["src/**/*.ts", "lib/*.rs"]);
        check("paths:\n- a\n- \"b\"\nname: x", &["a", "b"]);
        check("paths: src/**/*.ts, lib/**", &["src/**/*.ts", "lib/**"]);
        check("paths: **/*.ts", &["**/*.ts"]);
        check("paths: \"**/*.{ts,tsx}\"", &["**/*.{ts,tsx}"]);
        check("paths: src/*.{ts,tsx}, b[,]c", &["src/*.{ts,tsx}", "b[,]c"]);
        check("paths: [a, 'b,c', \"d\"] # all", &["a", "b,c", "d"]);
        check("paths: [\n  a,\n  '[x]*.md',\n]", &["a", "[x]*.md"]);
        check("paths: # below\n  - a # why\n\n  # more\n  - b", &["a", "b"]);
        check("paths: |\n  a, b\n  c", &["a", "b", "c"]);
        check("description: x\npaths : a", &["a"]);
        check("paths:", &[]);
        check("paths: []", &[]);
        check("paths:\ndescription: x", &[]);
    }

    #[test]
    fn no_paths() {
        assert_eq!(split("---\nname: x\n---\nb").paths, None);
        assert_eq!(split("---\n  paths: a\n---\nb").paths, None, "a nested key is a different key");
        assert_eq!(split("---\n---\nb"), Front { body: "b", paths: None });
    }

    #[test]
    fn no_front_matter() {
        for text in ["", "---", "---\n", "a\n---\nb", "---\nnever closed", "----\na\n---\n"] {
            assert_eq!(split(text), Front { body: text, paths: None }, "{text:?}");
        }
    }

    #[test]
    fn front_matter_that_never_ends_is_looked_at_for_a_while() {
        let long = format!("---\n{}---\nb", "a: b\n".repeat(20_000));
        assert_eq!(split(&long).body, long);
    }

    #[test]
    fn a_list_that_never_closes_ends_with_the_front_matter() {
        check("paths: [a,\n b\nname: x", &["a", "b name: x"]);
    }
}
