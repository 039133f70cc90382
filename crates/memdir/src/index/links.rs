//! Parses links in Markdown and wiki style: `[Fog](fog.md "how far")`, `[Fog](<the fog.md>)`, `[[fog]]`.
//!
//! No Markdown parser is used: wikilinks are not Markdown, and an edit needs a link's exact bytes in its line.

use std::collections::HashMap;
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

/// Maximum size of a wikilink, and of a link's destination with its title, in bytes. Names are shorter.
const LINK_BYTES: usize = 2_000;

/// Returns a line's links in order, without those in code and without images.
pub(crate) fn links(line: &str) -> Vec<Link> {
    if !line.contains('[') {
        return Vec::new();
    }
    let bytes = line.as_bytes();
    let marks = LineMarks::of(line);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'\\' => at + 2,
            b'`' => marks.after_code(at),
            b'!' if bytes.get(at + 1) == Some(&b'[') => {
                inline(line, &marks, at + 1).map_or(at + 1, |image| image.range.end)
            }
            b'[' => match wikilink(line, at).or_else(|| inline(line, &marks, at)) {
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

/// Where the code and the brackets of a line end, found in one pass: a search from each of them would be quadratic.
struct LineMarks {
    code: HashMap<usize, usize>,
    brackets: HashMap<usize, usize>,
}

impl LineMarks {
    fn of(line: &str) -> Self {
        let mut marks = Self { code: code(line), brackets: HashMap::new() };
        let bytes = line.as_bytes();
        let (mut open, mut at) = (Vec::new(), 0);
        while let Some(byte) = bytes.get(at) {
            at = match byte {
                b'\\' => at + 2,
                b'`' => marks.after_code(at),
                b'[' => {
                    open.push(at);
                    at + 1
                }
                b']' => {
                    marks.brackets.extend(open.pop().map(|begin| (begin, at)));
                    at + 1
                }
                _ => at + 1,
            };
        }
        marks
    }

    /// Returns the position after inline code that begins at `at`, or after its backticks if nothing ends it.
    fn after_code(&self, at: usize) -> usize {
        self.code.get(&at).copied().unwrap_or(at + 1)
    }
}

/// Maps each run of backticks to the end of the code that it begins, or to its own end.
fn code(line: &str) -> HashMap<usize, usize> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    let mut next: HashMap<usize, usize> = HashMap::new();
    let ends = runs.into_iter().rev().map(|(begin, end)| {
        let closing = next.insert(end - begin, end);
        (begin, closing.unwrap_or(end))
    });
    ends.collect()
}

/// Parses `[[name]]` or `[[name#part|title]]`.
fn wikilink(line: &str, at: usize) -> Option<Link> {
    let inner = near(&line[at..]).strip_prefix("[[")?;
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
fn inline(line: &str, marks: &LineMarks, at: usize) -> Option<Link> {
    let close = *marks.brackets.get(&at)?;
    let rest = near(&line[close + 1..]).strip_prefix('(')?;
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

fn near(text: &str) -> &str {
    &text[..text.floor_char_boundary(LINK_BYTES)]
}

/// Returns the destination after `(`, and where it ends.
fn destination(rest: &str) -> Option<(String, usize)> {
    let text = rest.trim_start();
    let start = rest.len() - text.len();
    if let Some(inner) = text.strip_prefix('<') {
        let end = inner.find('>')?;
        return Some((unescaped(&inner[..end]), start + end + 2));
    }
    let (mut depth, mut escaped, mut was_space) = (0usize, false, false);
    for (at, c) in text.char_indices() {
        let begins_space = c.is_whitespace() && !was_space;
        was_space = c.is_whitespace();
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => return Some((unescaped(&text[..at]), start + at)),
            // Many people do not escape spaces in names, so a title is recognized by its quotes.
            _ if begins_space && is_title(&text[at..]) => {
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
