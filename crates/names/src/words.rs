//! Splits text into words: runs of letters, digits and underscores.

use std::ops::Range;

/// Maximum length of a word, in bytes. A longer word is encoded data or part of a minified file.
pub const MAX_WORD_BYTES: usize = 64;

/// Minimum length of a word that may be encoded data, in bytes.
const MIN_BLOB_BYTES: usize = 16;

pub const LOWER: u8 = 1;
pub const UPPER: u8 = 2;
pub const DIGIT: u8 = 4;
pub const UNDERSCORE: u8 = 8;
pub const WIDE: u8 = 16;
pub const ESCAPE: u8 = 32;

pub const LETTER: u8 = LOWER | UPPER;
pub const WORD: u8 = LETTER | DIGIT | UNDERSCORE;

/// The class of each byte; 0 separates words.
pub const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            0x80.. => WIDE,
            0x1b => ESCAPE,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// A word, and the classes of its bytes.
#[derive(Clone, Debug)]
pub struct NameWord {
    pub range: Range<usize>,
    pub classes: u8,
}

/// Calls `each` with every word, in order, without terminal escapes. In scripts without spaces, each run is a word.
pub fn for_each_word(text: &str, mut each: impl FnMut(NameWord)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let class = CLASS[bytes[at] as usize];
        match class {
            0 => at += 1,
            ESCAPE => at = after_escape(bytes, at),
            _ => {
                let (end, classes) = word_end(text, at);
                if end > at {
                    each(NameWord { range: at..end, classes });
                    at = end;
                } else {
                    at += text[at..].chars().next().map_or(1, char::len_utf8);
                }
            }
        }
    }
}

/// Returns the end of the word that starts at `start`, and its classes; `start` if there is no word.
fn word_end(text: &str, start: usize) -> (usize, u8) {
    let bytes = text.as_bytes();
    let (mut at, mut classes, mut next) = (start, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        next = CLASS[byte as usize];
        if next & WORD == 0 {
            break;
        }
        classes |= next;
        at += 1;
    }
    if next != WIDE { (at, classes) } else { wide_word_end(text, start, at, classes) }
}

/// Like [`word_end`], but for a word with non-ASCII letters, the first of which is at position `at`.
fn wide_word_end(text: &str, start: usize, mut at: usize, mut classes: u8) -> (usize, u8) {
    let spaceless = text[start..].chars().next().is_some_and(is_spaceless);
    for c in text[at..].chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        if !is_word || is_spaceless(c) != spaceless {
            break;
        }
        classes |= if c.is_ascii() { CLASS[c as usize] } else { WIDE };
        at += c.len_utf8();
    }
    (at, classes)
}

/// Returns whether text in this letter's script cannot be split into words at spaces. Text in Thai, Lao, Burmese,
/// Khmer, Chinese, Japanese and Korean is therefore split into pairs of letters.
pub fn is_spaceless(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x2E80..=0x9FFF | 0xAC00..=0xD7FF
        | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x2_0000..=0x3_FFFF)
}

/// Returns the position after a terminal escape sequence (`ESC [ … letter`), or after a single escape character.
pub fn after_escape(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) != Some(&b'[') {
        return at + 1;
    }
    let parameters = bytes[at + 2..].iter().take_while(|b| (0x20..=0x3f).contains(*b)).count();
    let end = at + 2 + parameters;
    match bytes.get(end) {
        Some(0x40..=0x7e) => end + 1,
        _ => end,
    }
}

/// Returns whether a word looks like encoded data: very long, or long and with many changes between upper case, lower case and
/// digits. Hexadecimal hashes do not count.
pub fn is_blob(word: &[u8]) -> bool {
    if word.len() > MAX_WORD_BYTES {
        return true;
    }
    if word.len() < MIN_BLOB_BYTES || is_hex(word) {
        return false;
    }
    // A change from a capital to a small letter is not counted, because words of a name in camel case begin with one.
    // The class changes at 47% of the positions in base64, and at less than 25% in names.
    let changes = word.windows(2).filter(|pair| {
        let [left, right] = [pair[0], pair[1]].map(|byte| CLASS[byte as usize]);
        left != right && (left, right) != (UPPER, LOWER) && (left | right) & UNDERSCORE == 0
    });
    changes.count() * 10 > word.len() * 3
}

pub fn is_hex(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_hexdigit)
}
