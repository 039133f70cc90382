//! Detects the style of an index, so that a new line looks like the others.

use super::LINE_CHARS;
use super::lines::IndexEntry;
use crate::name::Name;
use crate::unseen;

/// The separator between link and description, unless the list has its own.
pub(super) const DASH: &str = " — ";
/// Minimum room for a description that must be shortened, in characters. If there is less room, the description is left out.
const LEAST_CHARS: usize = 12;

/// How a list's lines are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListStyle {
    indent: String,
    bullet: String,
    dash: String,
    wiki: bool,
    end: &'static str,
}

impl ListStyle {
    /// Detects the style from the entry before the new line.
    pub(super) fn of(text: &str, last: Option<&IndexEntry<'_>>) -> Self {
        let end = line_end(text);
        let Some(entry) = last else {
            let (bullet, dash) = ("- ".to_owned(), DASH.to_owned());
            return Self { indent: String::new(), bullet, dash, wiki: false, end };
        };
        let line = &entry.first;
        let link = line.links.iter().find(|link| link.topic().is_some());
        let own_dash = link.and_then(|link| dash(&line.text[link.range.end..]));
        Self {
            indent: line.text[..line.indent].to_owned(),
            bullet: next_bullet(line.bullet),
            dash: own_dash.unwrap_or(DASH).to_owned(),
            wiki: link.is_some_and(|link| link.wiki),
            end,
        }
    }

    /// Returns a whole line, including its line ending, of at most 200 characters if the name allows it.
    pub(super) fn line(&self, name: &Name, title: &str, description: &str) -> String {
        let (title, description) = apart(title, description);
        let link = match self.wiki {
            true => format!("[[{name}]]"),
            false => format!("[{}]({})", title_of(&title, name), destination(name)),
        };
        let mut line = format!("{}{}{link}", self.indent, self.bullet);
        let taken = line.chars().count() + self.dash.chars().count();
        let description = cut(&description, LINE_CHARS.saturating_sub(taken));
        if !description.is_empty() {
            line.push_str(&self.dash);
            line.push_str(&description);
        }
        line.push_str(self.end);
        line
    }
}

/// Returns the text's most common line ending.
pub(super) fn line_end(text: &str) -> &'static str {
    let returns = text.matches("\r\n").count();
    if returns * 2 > text.matches('\n').count() { "\r\n" } else { "\n" }
}

/// Returns the text as one line, without the invisible characters that a header may contain.
pub(super) fn one_line(text: &str) -> String {
    let text = unseen::strip(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the title and the description. If both are the same, the description is empty.
pub(super) fn apart(title: &str, description: &str) -> (String, String) {
    let (title, description) = (one_line(title), one_line(description));
    let sentence = description.trim_end_matches('.');
    match title.to_lowercase() == sentence.to_lowercase() {
        true => (sentence.to_owned(), String::new()),
        false => (title, description),
    }
}

/// Returns the bullet that follows this one: `3. ` → `4. `.
fn next_bullet(bullet: &str) -> String {
    let digits = bullet.bytes().take_while(u8::is_ascii_digit).count();
    match bullet[..digits].parse::<u64>() {
        Ok(number) => format!("{}{}", number + 1, &bullet[digits..]),
        Err(_) => bullet.to_owned(),
    }
}

/// Returns the separator between a link and its description: ` — `, ` -- `, `: `.
pub(super) fn dash(rest: &str) -> Option<&str> {
    let end = rest.find(|c: char| !c.is_whitespace() && !matches!(c, '-' | '–' | '—' | ':'))?;
    let dash = &rest[..end];
    (dash.ends_with(' ') && dash.trim() != "" && dash.chars().count() <= 5).then_some(dash)
}

/// Returns the title as a link shows it, or the name if the title is empty.
pub(super) fn title_of(title: &str, name: &Name) -> String {
    let title = if title.is_empty() { name.as_str() } else { title };
    title.chars().fold(String::new(), |mut out, c| {
        if matches!(c, '[' | ']' | '\\' | '`') {
            out.push('\\');
        }
        out.push(c);
        out
    })
}

fn destination(name: &Name) -> String {
    let file = name.file().replace('%', "%25").replace('<', "%3C").replace('>', "%3E");
    let file = file.replace('#', "%23").replace('\\', "%5C");
    match file.contains([' ', '(', ')', '"', '\'']) {
        true => format!("<{file}>"),
        false => file,
    }
}

pub(super) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    if room < LEAST_CHARS {
        return String::new();
    }
    let end = text.char_indices().nth(room - 1).map_or(text.len(), |(at, _)| at);
    let word = text[..end].rfind(' ').filter(|at| *at > end / 2).unwrap_or(end);
    format!("{}…", text[..word].trim_end())
}
