//! Parses links in Markdown and wiki style: `[Fog](fog.md "how far")`, `[Fog](<the fog.md>)`, `[[fog]]`.
//!
//! No Markdown parser is used: wikilinks are not Markdown, and an edit needs a link's exact bytes in its line.

use std::ops::Range;

use crate::name::Name;

/// A link within one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub target: Target,
    /// The link's visible text.
    pub title: String,
    /// The link's position in the line.
    pub range: Range<usize>,
    /// Whether it is written as `[[fog]]` rather than `[Fog](fog.md)`.
    pub wiki: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A topic, whether it exists or not.
    Topic(Name),
    /// A web page, another kind of file, or a path outside the directory.
    Elsewhere(String),
}

impl Link {
    pub fn topic(&self) -> Option<&Name> {
        match &self.target {
            Target::Topic(name) => Some(name),
            Target::Elsewhere(_) => None,
        }
    }
}

/// Returns a line's links in order, without those in code and without images.
pub(crate) fn links(line: &str) -> Vec<Link> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'\\' => at + 2,
            b'`' => after_code(line, at),
            b'!' if bytes.get(at + 1) == Some(&b'[') => {
                inline(line, at + 1).map_or(at + 1, |image| image.range.end)
            }
            b'[' => match wikilink(line, at).or_else(|| inline(line, at)) {
                Some(link) => {
                    let end = link.range.end;
                    found.push(link);
                    end
                }
                None => at + 1,
            },
            _ => at + 1,
        };
    }
    found
}

/// Returns the position after inline code that begins at `at`, or after its backticks if nothing ends it.
fn after_code(line: &str, at: usize) -> usize {
    let run = line[at..].bytes().take_while(|byte| *byte == b'`').count();
    let (from, mark) = (at + run, &line[at..at + run]);
    let closing = line[from..].match_indices(mark).find(|(found, _)| {
        let (before, after) = (from + found, from + found + run);
        !line[..before].ends_with('`') && !line[after..].starts_with('`')
    });
    closing.map_or(from, |(found, _)| from + found + run)
}

/// Parses `[[name]]` or `[[name#part|title]]`.
fn wikilink(line: &str, at: usize) -> Option<Link> {
    let inner = line[at..].strip_prefix("[[")?;
    let inner = &inner[..inner.find("]]")?];
    let (target, title) = inner.split_once('|').unwrap_or((inner, inner));
    let name = target.split('#').next().unwrap_or_default().trim();
    let target = match Name::parse(name) {
        Ok(name) => Target::Topic(name),
        Err(_) => Target::Elsewhere(name.to_owned()),
    };
    let range = at..at + inner.len() + 4;
    Some(Link { target, title: title.trim().to_owned(), range, wiki: true })
}

/// Parses `[title](destination "more")`.
fn inline(line: &str, at: usize) -> Option<Link> {
    let close = closing(line, at)?;
    let rest = line[close + 1..].strip_prefix('(')?;
    let start = close + 2;
    let (destination, after) = destination(rest)?;
    let end = start + after + end_of_title(&rest[after..])?;
    Some(Link {
        target: target(&destination),
        title: unescaped(&line[at + 1..close]),
        range: at..end,
        wiki: false,
    })
}

/// Returns the bracket that closes the one at `at`.
fn closing(line: &str, at: usize) -> Option<usize> {
    let bytes = line.as_bytes();
    let (mut depth, mut here) = (0usize, at);
    loop {
        here = match bytes.get(here)? {
            b'\\' => here + 2,
            b'`' => after_code(line, here),
            b'[' => {
                depth += 1;
                here + 1
            }
            b']' if depth == 1 => return Some(here),
            b']' => {
                depth -= 1;
                here + 1
            }
            _ => here + 1,
        };
    }
}

/// Returns the destination after `(`, and where it ends.
fn destination(rest: &str) -> Option<(String, usize)> {
    let text = rest.trim_start();
    let start = rest.len() - text.len();
    if let Some(inner) = text.strip_prefix('<') {
        let end = inner.find('>')?;
        return Some((unescaped(&inner[..end]), start + end + 2));
    }
    let (mut depth, mut escaped) = (0usize, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => return Some((unescaped(&text[..at]), start + at)),
            // Many people do not escape spaces in names, so a title is recognized by its quotes.
            _ if c.is_whitespace() && is_title(&text[at..]) => {
                return Some((unescaped(&text[..at]), start + at));
            }
            _ => {}
        }
    }
    None
}

fn is_title(rest: &str) -> bool {
    rest.trim_start().starts_with(['"', '\'', '('])
}

/// Returns the position after an optional title and the closing parenthesis.
fn end_of_title(rest: &str) -> Option<usize> {
    let text = rest.trim_start();
    let start = rest.len() - text.len();
    let quote = match text.chars().next()? {
        ')' => return Some(start + 1),
        '(' => ')',
        quote @ ('"' | '\'') => quote,
        _ => return None,
    };
    let end = 1 + text[1..].find(quote)? + 1;
    let after = text[end..].trim_start();
    after.starts_with(')').then(|| start + text.len() - after.len() + 1)
}

fn target(destination: &str) -> Target {
    let elsewhere = || Target::Elsewhere(destination.to_owned());
    let path = destination.split('#').next().unwrap_or_default();
    let decoded = decoded(path);
    let path = decoded.trim_start_matches("./");
    if !path.to_ascii_lowercase().ends_with(".md") {
        return elsewhere();
    }
    Name::parse(path).map_or_else(|_| elsewhere(), Target::Topic)
}

/// Decodes percent encoding: `the%20fog.md` → `the fog.md`.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(value) => {
                out.push(value);
                out.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                out.push(b'%');
                out.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| path.to_owned())
}

/// Removes backslashes before punctuation.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' || !chars.peek().is_some_and(char::is_ascii_punctuation) {
            out.push(c);
        } else if let Some(next) = chars.next() {
            out.push(next);
        }
    }
    out
}
