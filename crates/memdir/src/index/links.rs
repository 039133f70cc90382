//! Parses links in Markdown and wiki style: `[Fog](fog.md "how far")`, `[Fog](<the fog.md>)`, `[[fog]]`.
//!
//! No Markdown parser is used: wikilinks are not Markdown, and an edit needs the exact byte range of a link in its
//! line.

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
    /// Whether the link is written as `[[fog]]` rather than `[Fog](fog.md)`.
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

/// Maximum size of a wikilink, and of a link's destination with its title, in bytes. Names of topics are shorter.
const LINK_BYTES: usize = 2_000;

/// Returns a line's links in order. Images, and links in inline code, are left out.
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
            b'[' => match wikilink(line, &marks, at).or_else(|| inline(line, &marks, at)) {
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

/// Where the parts of a line begin and end. They are found in one pass, because a search from each beginning would take
/// quadratic time. All lists are sorted.
struct LineMarks {
    /// Beginning and end of each inline code span.
    code: Vec<(usize, usize)>,
    /// Positions of matching square brackets outside inline code.
    brackets: Vec<(usize, usize)>,
    /// Positions of matching parentheses.
    parentheses: Vec<(usize, usize)>,
    /// Positions of the spaces before what may be a link's title.
    titles: Vec<usize>,
    /// The positions of `]]`.
    wiki_ends: Vec<usize>,
}

impl LineMarks {
    fn of(line: &str) -> Self {
        let code = code(line);
        let in_code = |at| ended(&code, at).unwrap_or(at + 1);
        let brackets = pairs(line, [b'[', b']'], in_code);
        let parentheses = pairs(line, [b'(', b')'], |at| at + 1);
        let wiki_ends = line.as_bytes().windows(2).enumerate();
        let wiki_ends = wiki_ends.filter(|(_, two)| two == b"]]").map(|(at, _)| at).collect();
        Self { brackets, parentheses, titles: titles(line), wiki_ends, code }
    }

    /// Returns the position after inline code that begins at `at`, or after its backticks if the code is not closed.
    fn after_code(&self, at: usize) -> usize {
        ended(&self.code, at).unwrap_or(at + 1)
    }
}

/// Returns the end of the pair that begins at position `at`.
fn ended(pairs: &[(usize, usize)], at: usize) -> Option<usize> {
    pairs.binary_search_by_key(&at, |(begin, _)| *begin).ok().map(|found| pairs[found].1)
}

/// Returns the first of the sorted positions that is at or after `from`.
fn first_from(positions: &[usize], from: usize) -> Option<usize> {
    positions.get(positions.partition_point(|at| *at < from)).copied()
}

/// Returns the pairs of opening and closing characters, except those that are escaped with a backslash. `after_tick`
/// returns the position at which to continue after a backtick.
fn pairs(
    line: &str,
    [opening, closing]: [u8; 2],
    after_tick: impl Fn(usize) -> usize,
) -> Vec<(usize, usize)> {
    let (mut open, mut found, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(&byte) = line.as_bytes().get(at) {
        match byte {
            byte if byte == opening => open.push(at),
            byte if byte == closing => found.extend(open.pop().map(|begin| (begin, at))),
            _ => {}
        }
        at = match byte {
            b'\\' => at + 2,
            b'`' => after_tick(at),
            _ => at + 1,
        };
    }
    found.sort_unstable();
    found
}

/// Returns the positions of spaces that come before a quotation mark or a parenthesis. Many people do not escape spaces
/// in names, so a title is recognized by the character that opens it.
fn titles(line: &str) -> Vec<usize> {
    let (mut found, mut spaces, mut escaped) = (Vec::new(), None, false);
    for (at, c) in line.char_indices() {
        if c.is_whitespace() {
            spaces = spaces.or((!escaped).then_some(at));
        } else if let Some(begin) = spaces.take()
            && matches!(c, '"' | '\'' | '(')
        {
            found.push(begin);
        }
        escaped = c == '\\' && !escaped;
    }
    found
}

/// Returns each run of backticks, with the end of the inline code that it begins, or with the end of the run itself if it
/// begins none.
fn code(line: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    let mut next: HashMap<usize, usize> = HashMap::new();
    for (begin, end) in runs.iter_mut().rev() {
        let closing = next.insert(*end - *begin, *end);
        *end = closing.unwrap_or(*end);
    }
    runs
}

/// Parses `[[name]]` or `[[name#part|title]]`.
fn wikilink(line: &str, marks: &LineMarks, at: usize) -> Option<Link> {
    let begin = at + line[at..].starts_with("[[").then_some(2)?;
    let end = first_from(&marks.wiki_ends, begin).filter(|end| end - at <= LINK_BYTES)?;
    let inner = &line[begin..end];
    let (target, title) = inner.split_once('|').unwrap_or((inner, inner));
    let name = target.split('#').next().unwrap_or_default().trim();
    let target = match Name::parse(name) {
        Ok(name) => Target::Topic(name),
        Err(_) => Target::Elsewhere(name.to_owned()),
    };
    let range = at..end + 2;
    Some(Link { target, title: title.trim().to_owned(), range, wiki: true })
}

/// Parses `[title](destination "more")`.
fn inline(line: &str, marks: &LineMarks, at: usize) -> Option<Link> {
    let close = ended(&marks.brackets, at)?;
    let open = close + 1;
    let rest = near(&line[open..]).strip_prefix('(')?;
    let (destination, after) = destination(rest, open + 1, marks)?;
    let end = open + 1 + after + end_of_title(&rest[after..])?;
    Some(Link {
        target: target(&unescaped(destination)),
        title: unescaped(&line[at + 1..close]),
        range: at..end,
        wiki: false,
    })
}

fn near(text: &str) -> &str {
    &text[..text.floor_char_boundary(LINK_BYTES)]
}

/// Returns the destination at the beginning of `rest`, and the position in `rest` at which the destination ends. `from`
/// is the position of `rest` in its line.
fn destination<'a>(rest: &'a str, from: usize, marks: &LineMarks) -> Option<(&'a str, usize)> {
    let text = rest.trim_start();
    let start = rest.len() - text.len();
    if let Some(inner) = text.strip_prefix('<') {
        let end = inner.find('>')?;
        return Some((&inner[..end], start + end + 2));
    }
    let close = ended(&marks.parentheses, from - 1);
    let title = first_from(&marks.titles, from + start);
    let end = close.into_iter().chain(title).min()? - from;
    Some((rest.get(start..end)?, end))
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
