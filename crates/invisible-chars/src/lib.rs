//! Finds characters that are invisible or reorder visible text, and decides where they are legitimate.
//!
//! Persian, Hindi, Hebrew, Thai and emoji need some of these characters. They are accepted only where such text uses
//! them. Accepting them in any text with an Arabic letter would allow a word to be hidden between two letters of a key.
//!
//! This is the only table of such characters. It decides which characters a team's memory rejects, and which are
//! removed from the text that models get.

use std::fmt;

/// What an invisible character does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InvisibleKind {
    /// Changes the order of the text that follows.
    Bidi,
    /// Sets the direction of the characters next to it.
    Mark,
    ZeroWidth,
    /// Invisible letters: whole sentences can be written in them.
    Tag,
    /// Selects a glyph variant; a run of them can encode data.
    Selector,
    /// Fillers, invisible operators, separators and annotations.
    Format,
    /// Controls a terminal.
    Control,
}

/// A character that has no legitimate reason to be where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Offset in the text, in bytes.
    pub at: usize,
    /// The line, counted from 1. Callers that check a file's name set it to 0.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
    pub code: char,
    pub kind: InvisibleKind,
}

/// Finds the invisible characters that are not legitimate where they are.
pub fn find(text: &str) -> Vec<Sighting> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut from = 0;
    for (index, line) in text.split('\n').enumerate() {
        out.extend(in_line(index + 1, from, line));
        from += line.len() + 1;
    }
    out
}

/// Finds the characters in one line. `from` is the line's offset in the text, in bytes.
fn in_line(number: usize, from: usize, line: &str) -> Vec<Sighting> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let chars: Vec<char> = line.chars().collect();
    let is_right_to_left = chars.iter().copied().any(is_right_to_left);
    let seen = line.char_indices().enumerate().filter_map(|(at, (offset, code))| {
        let kind = kind(code)?;
        let byte_order_mark = number == 1 && at == 0 && code == '\u{feff}';
        let legitimate = byte_order_mark || is_legitimate(&chars, at, kind, is_right_to_left);
        let sighting = Sighting { at: from + offset, line: number, column: at + 1, code, kind };
        (!legitimate).then_some(sighting)
    });
    seen.collect()
}

pub fn kind(code: char) -> Option<InvisibleKind> {
    Some(match code {
        '\t' | '\n' | '\r' | ' '..='~' => return None,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => InvisibleKind::Control,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => InvisibleKind::Bidi,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => InvisibleKind::Mark,
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => InvisibleKind::ZeroWidth,
        '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}'
        | '\u{180b}'..='\u{180d}'
        | '\u{180f}' => InvisibleKind::Selector,
        '\u{e0000}'..='\u{e007f}' => InvisibleKind::Tag,
        code if is_format(code) => InvisibleKind::Format,
        _ => return None,
    })
}

/// Fillers, invisible operators, separators and annotations.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{2028}' | '\u{2029}' | '\u{2061}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{3164}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}')
}

/// Returns whether the character is legitimate where it is. `is_right_to_left` says whether the line has right-to-left
/// letters.
fn is_legitimate(chars: &[char], at: usize, kind: InvisibleKind, is_right_to_left: bool) -> bool {
    let before = at.checked_sub(1).map(|at| chars[at]);
    let after = chars.get(at + 1).copied();
    let beside = |test: fn(char) -> bool| before.is_some_and(test) || after.is_some_and(test);
    match (kind, chars[at]) {
        (InvisibleKind::Mark, _) => is_right_to_left && !is_in_latin(chars, at),
        // A selector, a skin tone or a complete flag may come between the parts of an emoji.
        (InvisibleKind::ZeroWidth, '\u{200d}') => {
            let joins = before.is_some_and(is_emoji_end) && after.is_some_and(is_symbol);
            joins
                || before.is_some_and(is_joining)
                || (before.is_none_or(is_space) && after.is_some_and(is_joining))
        }
        (InvisibleKind::ZeroWidth, '\u{200c}') => before.is_some_and(is_joining),
        (InvisibleKind::ZeroWidth, '\u{200b}') => beside(is_unspaced),
        (InvisibleKind::Tag, _) => is_in_flag(chars, at),
        (InvisibleKind::Selector, code) => before.is_some_and(|before| selects(before, code)),
        (InvisibleKind::Format, '\u{115f}' | '\u{1160}') => {
            beside(|c| matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}'))
        }
        _ => false,
    }
}

/// Returns whether a character is inside a Latin word, where a direction mark is not legitimate.
fn is_in_latin(chars: &[char], at: usize) -> bool {
    let latin = |c: Option<&char>| c.is_some_and(char::is_ascii_alphanumeric);
    latin(at.checked_sub(1).and_then(|at| chars.get(at))) && latin(chars.get(at + 1))
}

/// Maximum number of tags in a flag: six letters or digits, and an end tag. The search stops there, because the text
/// may consist of nothing but tags.
const FLAG_TAGS: usize = 7;

/// Returns whether a tag is part of a flag such as Scotland's: a black flag, two to six letters or digits, and an end
/// tag.
fn is_in_flag(chars: &[char], at: usize) -> bool {
    let is_tag = |c: &char| matches!(c, '\u{e0000}'..='\u{e007f}');
    let near = at.saturating_sub(FLAG_TAGS);
    let from = chars[near..at].iter().rposition(|c| !is_tag(c)).map(|from| near + from);
    let Some(from) = from.filter(|from| chars[*from] == '\u{1f3f4}') else { return false };
    let tags = chars[from + 1..].iter().copied().take_while(|c| is_tag(c)).take(FLAG_TAGS + 1);
    let tags: Vec<char> = tags.collect();
    let Some((end, letters)) = tags.split_last() else { return false };
    let spells = |c: &char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    *end == '\u{e007f}' && (2..FLAG_TAGS).contains(&letters.len()) && letters.iter().all(spells)
}

/// Returns whether the selector is defined for the character before it.
fn selects(before: char, selector: char) -> bool {
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => {
            is_symbol(before) || before.is_ascii_digit() || matches!(before, '#' | '*')
        }
        '\u{180b}'..='\u{180f}' => matches!(before, '\u{1820}'..='\u{18aa}'),
        '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
        _ => is_ideograph(before) || is_symbol(before) || is_joining(before),
    }
}

fn is_space(c: char) -> bool {
    c == ' ' || c.is_ascii_punctuation()
}

/// Returns whether the character is a picture, arrow or sign that can be part of an emoji.
fn is_symbol(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn is_emoji_end(c: char) -> bool {
    is_symbol(c) || matches!(c, '\u{fe0f}' | '\u{20e3}' | '\u{e007f}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{3000}'..='\u{303f}')
}

/// Returns whether the script's letters join or stack: Arabic, Syriac, N'Ko, Mongolian, and the scripts of India and
/// its neighbors.
fn is_joining(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{17d3}' | '\u{1820}'..='\u{18aa}' | '\u{1b00}'..='\u{1b7f}'
        | '\u{a8e0}'..='\u{a8ff}' | '\u{a980}'..='\u{a9df}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
}

/// Returns whether the script puts no spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

impl Sighting {
    /// Returns the character's name.
    pub fn name(&self) -> &'static str {
        match self.code {
            '\u{200b}' => "a zero-width space",
            '\u{200c}' => "a zero-width non-joiner",
            '\u{200d}' => "a zero-width joiner",
            '\u{2060}' => "a word joiner",
            '\u{feff}' => "a byte order mark",
            '\u{ad}' => "a soft hyphen",
            '\u{200e}' => "a left-to-right mark",
            '\u{200f}' => "a right-to-left mark",
            '\u{202d}' => "a left-to-right override",
            '\u{202e}' => "a right-to-left override",
            '\u{1b}' => "an escape",
            _ => match self.kind {
                InvisibleKind::Bidi => "a character that reorders text",
                InvisibleKind::Mark => "a direction mark",
                InvisibleKind::ZeroWidth => "a zero-width character",
                InvisibleKind::Tag => "an invisible letter",
                InvisibleKind::Selector => "a variation selector",
                InvisibleKind::Format => "an invisible character",
                InvisibleKind::Control => "a control character",
            },
        }
    }
}

impl fmt::Display for Sighting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "in the name: ")?,
            line => write!(f, "line {line}: ")?,
        }
        write!(f, "{} (U+{:04X})", self.name(), self.code as u32)
    }
}
