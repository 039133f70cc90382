//! Describes a topic whose header has no description.

use super::Header;

/// Maximum length of a description that is made from a body, in characters.
const MADE_CHARS: usize = 160;
/// Maximum number of the body's lines that are searched.
const LINES: usize = 60;

impl Header {
    /// Returns the description, or else the body's first heading or sentence.
    pub fn described(&self, body: &str) -> String {
        self.description.clone().unwrap_or_else(|| made(body))
    }
}

fn made(body: &str) -> String {
    let mut sentence = None;
    let mut fenced = false;
    for line in body.lines().take(LINES) {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced || line.starts_with("<!--") || line.chars().all(|c| !c.is_alphanumeric()) {
            continue;
        }
        if line.starts_with('#') {
            return cut(line.trim_matches(['#', ' ']));
        }
        sentence.get_or_insert(line);
    }
    sentence.map_or_else(String::new, |line| cut(first_sentence(plain(line))))
}

/// Removes list and quotation markers from a line.
fn plain(line: &str) -> &str {
    let marks = ["- ", "* ", "+ ", "> "];
    let rest = marks.iter().find_map(|mark| line.strip_prefix(mark));
    rest.map_or(line, |rest| plain(rest.trim_start()))
}

fn first_sentence(line: &str) -> &str {
    let end = line.match_indices(['.', '!', '?', '。']).find_map(|(at, mark)| {
        let after = &line[at + mark.len()..];
        // `v2. the` does not end a sentence: it must be followed by a capital letter or the end of the line.
        let next = after.trim_start().chars().next();
        let ends = after.starts_with(' ') && next.is_some_and(char::is_uppercase);
        (mark == "。" || ends).then_some(at + mark.len())
    });
    &line[..end.unwrap_or(line.len())]
}

fn cut(text: &str) -> String {
    let text = text.replace("**", "").split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MADE_CHARS) {
        None => text,
        Some((end, _)) => {
            let whole = text[..end].rfind(' ').filter(|at| *at > end / 2).unwrap_or(end);
            format!("{}…", text[..whole].trim_end())
        }
    }
}
