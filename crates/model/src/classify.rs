//! Classifies a provider's error, and reads the figures in its text.
//!
//! The first matching row of the table `errors.txt` decides. Texts for one specific failure come first, then codes with
//! one meaning, then words that many texts contain, then vague codes, and last the HTTP status, because one status is
//! used for many failures.

use std::sync::LazyLock;

use crate::error::{ErrorClass, Figures};

static TABLE: LazyLock<Vec<SignRow>> = LazyLock::new(|| {
    include_str!("classify/errors.txt").lines().filter_map(SignRow::read).collect()
});

struct SignRow {
    class: ErrorClass,
    sign: Sign,
}

/// How an error is recognized.
enum Sign {
    Text(&'static str),
    Code(&'static str),
    /// First and last status of a range.
    Status(u16, u16),
}

impl SignRow {
    fn read(line: &'static str) -> Option<Self> {
        let (class, sign) = line.split_once(' ')?;
        let class = ErrorClass::ALL.into_iter().find(|known| known.to_string() == class)?;
        let sign = match sign.split_once(' ')? {
            ("text", text) => Sign::Text(text),
            ("code", code) => Sign::Code(code),
            ("status", range) => {
                let (from, to) = range.split_once('-').unwrap_or((range, range));
                Sign::Status(from.parse().ok()?, to.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self { class, sign })
    }
}

/// Maximum number of bytes of a message that are read. Longer messages are web pages or repetitions of the request, and give
/// the reason at the start.
const MAX_READ: usize = 16 * 1024;

/// A provider's error as it was received.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProviderMessage<'a> {
    pub status: Option<u16>,
    /// `error.type` or its equivalent.
    pub kind: Option<&'a str>,
    /// `error.code` or its equivalent.
    pub code: Option<&'a str>,
    pub message: &'a str,
}

/// Returns the class of an error, and the token counts in its text. The class of an unrecognized error is
/// [`ErrorClass::Unknown`].
pub fn classify(said: &ProviderMessage<'_>) -> (ErrorClass, Figures) {
    let text = plain(said.message);
    let found = TABLE.iter().find_map(|row| Some((row.class, fits(&row.sign, said, &text)?)));
    let (class, figures) = found.unwrap_or((ErrorClass::Unknown, Figures::default()));
    (narrowed(class, &figures), figures)
}

/// Changes `OutputOverflow` to `Overflow` if the prompt alone exceeds the limit: a shorter answer would not help.
fn narrowed(class: ErrorClass, figures: &Figures) -> ErrorClass {
    match (class, figures.input, figures.limit) {
        (ErrorClass::OutputOverflow, Some(input), Some(limit)) if input >= limit => {
            ErrorClass::Overflow
        }
        _ => class,
    }
}

fn fits(sign: &Sign, said: &ProviderMessage<'_>, text: &str) -> Option<Figures> {
    match sign {
        Sign::Text(pattern) => read(pattern, text),
        Sign::Code(code) => has_code(said, text, code).then(Figures::default),
        Sign::Status(from, to) => {
            said.status.filter(|status| (*from..=*to).contains(status)).map(|_| Figures::default())
        }
    }
}

/// Looks for an error code in `kind` and `code`. A distinctive code is also looked for in the text, because some
/// gateways forward only the text.
fn has_code(said: &ProviderMessage<'_>, text: &str, code: &str) -> bool {
    let named = [said.kind, said.code].into_iter().flatten();
    let mut named = named.map(str::trim);
    let telling = code.contains('_') || code.ends_with("exception");
    named.any(|name| name.eq_ignore_ascii_case(code)) || (telling && has_word(text, code))
}

fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

/// Converts text to the form of the patterns: lowercase, single spaces, and no quotes, because providers and gateways
/// quote the same words differently.
fn plain(message: &str) -> String {
    let mut out = String::with_capacity(message.len().min(MAX_READ));
    for c in message.chars() {
        if out.len() >= MAX_READ {
            break;
        }
        match c {
            '`' | '"' | '\'' | '\\' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => {}
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c.to_ascii_lowercase()),
        }
    }
    out
}

/// Finds `pattern` anywhere in `text`. Each occurrence of the pattern's first words is tried once, so that the work is linear
/// in the length of the text.
fn read(pattern: &str, text: &str) -> Option<Figures> {
    let head = pattern.split('{').next().unwrap_or(pattern);
    let rest = pattern.get(head.len()..).unwrap_or_default();
    text.match_indices(head)
        .find_map(|(at, _)| figures(rest, text.get(at + head.len()..).unwrap_or_default()))
}

/// Matches `{hole}words{hole}words…` against the beginning of `text`.
fn figures(pattern: &str, text: &str) -> Option<Figures> {
    let mut figures = Figures::default();
    let mut text = text;
    for part in pattern.split('{').skip(1) {
        let (hole, words) = part.split_once('}')?;
        let (value, after) = number(text)?;
        match hole {
            "input" => figures.input = value,
            "output" => figures.output = value,
            "limit" => figures.limit = value,
            "over" => figures.over = value,
            _ => {}
        }
        text = after.strip_prefix(words)?;
    }
    Some(figures)
}

/// Reads a whole number, with or without thousands separators, and returns it with the text after it. The value is
/// `None` if it does not fit in a `u64`.
fn number(text: &str) -> Option<(Option<u64>, &str)> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    let mut value = Some(0u64);
    loop {
        let separates = matches!(bytes.get(end), Some(b',' | b'_'))
            && (1..=3).all(|next| digit(end + next))
            && !digit(end + 4);
        if separates && end > 0 {
            end += 1;
        }
        if !digit(end) {
            break;
        }
        let figure = bytes.get(end).map_or(0, |byte| u64::from(byte - b'0'));
        value = value.and_then(|v| v.checked_mul(10)?.checked_add(figure));
        end += 1;
    }
    if end == 0 { None } else { Some((value, text.get(end..)?)) }
}

#[cfg(test)]
mod tests;
