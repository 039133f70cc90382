//! Finds names in text: paths, files, symbols, flags, error codes.
//!
//! The scanner reads every message, so it is written by hand for speed: it makes one pass over the bytes, and looks
//! more closely only at the few runs that contain a capital, dot, slash, dash or underscore.

pub mod words;

use crate::words::{CLASS, DIGIT, LETTER, LOWER, UNDERSCORE, UPPER, WIDE, is_blob, is_spaceless};

/// Minimum length of a name, in bytes; shorter names occur by chance.
pub const MIN_NAME_BYTES: usize = 5;

/// Maximum length of a run of name characters, in bytes; a longer run is data.
const MAX_RUN_BYTES: usize = 1024;

const DOT: u8 = 64;
const JOINT: u8 = 128;

/// The class of each byte: the classes for words, and classes for `.`, `/` and `-`.
const RUN: [u8; 256] = {
    let mut table = CLASS;
    table[b'.' as usize] = DOT;
    table[b'/' as usize] = JOINT;
    table[b'-' as usize] = JOINT;
    table[0x1b] = 0;
    table
};

/// Calls `each` with every name, in order. A path is passed in full, without a leading `./`: see [`last_part`].
pub fn for_each_name<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if RUN[bytes[at] as usize] == 0 {
            at += 1;
            continue;
        }
        let start = at;
        let mut classes = 0;
        while let Some(&byte) = bytes.get(at) {
            let class = RUN[byte as usize];
            if class == 0 {
                break;
            }
            if class == WIDE {
                let Some(c) = text[at..].chars().next() else { break };
                if !c.is_alphanumeric() || is_spaceless(c) {
                    break;
                }
                at += c.len_utf8();
            } else {
                at += 1;
            }
            classes |= class;
        }
        if at == start {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        } else if may_be_name(classes) {
            let start = start + usize::from(ends_escape(bytes, start));
            if (MIN_NAME_BYTES..=MAX_RUN_BYTES).contains(&(at - start)) {
                NameRun { text, start, end: at }.names(&mut each);
            }
        }
    }
}

/// Returns a path's last component, without a line number that a search with context has added (`main.go-36-func`).
/// Returns other names unchanged.
pub fn last_part(name: &str) -> &str {
    let part = name.rsplit('/').next().unwrap_or(name);
    let Some(dot) = part.rfind('.') else { return part };
    let Some((extension, line)) = part[dot + 1..].split_once('-') else { return part };
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = digits > 0 && line.as_bytes().get(digits).is_none_or(|byte| *byte == b'-');
    if numbered && (1..=5).contains(&extension.len()) && is_plain(extension) {
        return &part[..dot + 1 + extension.len()];
    }
    part
}

/// Returns whether a path component would not be a name by itself, such as `entire` in `cmd/entire`.
pub fn is_plain(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Returns the last two components of a path, which are needed to recognize a directory with a plain name.
pub fn last_two_parts(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/');
    match (slashes.next(), slashes.next()) {
        (Some(_), Some((at, _))) => &path[at + 1..],
        _ => path,
    }
}

/// Returns whether a word may be a name. A word that consists of letters in a single case, without an underscore, dot, slash or
/// dash, is prose.
fn may_be_name(classes: u8) -> bool {
    classes & (UNDERSCORE | DOT | JOINT) != 0
        || (classes & UPPER != 0 && classes & (LOWER | DIGIT) != 0)
}

/// Returns whether the run starts with the letter of an escape sequence, as in quoted code: `"
/// \tshort_id"`. A backslash between letters separates the components of a path.
fn ends_escape(bytes: &[u8], start: usize) -> bool {
    let is_escape = |at: usize| bytes[at - 1] == b'\\' && matches!(bytes[at], b'n' | b't' | b'r');
    if start == 0 || !is_escape(start) {
        return false;
    }
    match start.checked_sub(2).map(|at| (at, bytes[at])) {
        Some((at, byte)) if byte.is_ascii_alphanumeric() => at > 0 && is_escape(at),
        _ => true,
    }
}

/// A run of name characters, with the text around it.
struct NameRun<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

impl<'a> NameRun<'a> {
    fn names(&self, each: &mut impl FnMut(&'a str)) {
        let run = &self.text[self.start..self.end];
        if run.contains('/') {
            match self.path() {
                Some(path) => each(path),
                None => run.split('/').for_each(|part| self.part(part, each)),
            }
        } else if let Some(flag) = self.flag(run) {
            each(flag);
        } else {
            self.part(run, each);
        }
    }

    fn byte_before(&self) -> u8 {
        self.start.checked_sub(1).map_or(0, |at| self.text.as_bytes()[at])
    }

    /// Returns a path: `crates/recall/src/lib.rs`, `/etc/hosts`, `../a/b`, `~/.config/x`, `docs.rs/serde`.
    fn path(&self) -> Option<&'a str> {
        let mut run = &self.text[self.start..self.end];
        if self.byte_before() == b'~' && run.starts_with('/') && !run.starts_with("//") {
            run = &self.text[self.start - 1..self.end];
        }
        let mut path = run.trim_end_matches(['.', '/', '-']).trim_start_matches('-');
        if path.starts_with("//") {
            path = path.trim_start_matches('/');
        }
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        path = without_diff_side(path);
        is_path(path).then_some(path)
    }

    /// Returns a flag such as `--no-verify`, but not the dashes of `<!--comment-->`.
    fn flag(&self, run: &'a str) -> Option<&'a str> {
        let name = run.strip_prefix("--")?;
        if !name.starts_with(|c: char| c.is_ascii_lowercase())
            || name.contains('.') && !is_dotted(name)
            || self.byte_before() == b'!'
        {
            return None;
        }
        Some(run.trim_end_matches(['-', '.'])).filter(|flag| flag.len() >= MIN_NAME_BYTES)
    }

    /// Handles a path component or a single name: `lib.rs`, `fmt.Println`, `read_line`, `ParseError`.
    fn part(&self, part: &'a str, each: &mut impl FnMut(&'a str)) {
        let whole = part.trim_matches(['.', '-']);
        let mut rest = whole;
        // A part that begins with a version is not a name as a whole: `v1.2-arm64.tar.gz`.
        while let Some((head, tail)) = rest.split_once('.') {
            let starts_name = rest.len() == whole.len() || rest.starts_with(char::is_alphabetic);
            if starts_name && is_dotted(rest) && !self.is_sentence_end(rest) {
                if rest.len() >= MIN_NAME_BYTES {
                    each(rest);
                }
                return;
            }
            head.split('-').filter(|word| is_symbol(word)).for_each(&mut *each);
            rest = tail;
        }
        rest.split('-').filter(|word| is_symbol(word)).for_each(each);
    }

    /// Returns whether a dot ends a sentence without a space after it, as in `done.Then`, unlike `strings.Builder`.
    fn is_sentence_end(&self, dotted: &str) -> bool {
        let Some((left, right)) = dotted.rsplit_once('.') else { return false };
        let prose = |word: &str| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        let followed_by_space =
            matches!(self.text.as_bytes().get(self.end), None | Some(b' ' | b'\n'));
        let starts = || STARTERS.split(' ').any(|starter| starter == right);
        prose(left.get(1..).unwrap_or_default()) && followed_by_space && starts()
    }
}

/// Words that often start a sentence and are rarely names.
const STARTERS: &str = "A All Also An And Any As At Because Both But By Do Each Everything First For Here How \
    However I If In It Its Let No Not Nothing Now On Once Only Please Since So That The Their Then There These \
    They This Those To We What When Where Which While Why You Your";

/// Removes the `a/` or `b/` that a diff puts before paths.
fn without_diff_side(path: &str) -> &str {
    let rest = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    rest.filter(|rest| rest.contains('/')).unwrap_or(path)
}

fn is_path(path: &str) -> bool {
    let from_root = path.starts_with(['/', '~']) || path.starts_with("../");
    let mut segments = path.split('/').filter(|segment| !segment.is_empty() && *segment != "~");
    let (Some(first), Some(last)) = (segments.next(), segments.next_back()) else { return false };
    if path.len() < MIN_NAME_BYTES || !has_letter(last) || path.split('/').any(is_data) {
        return false;
    }
    // Two plain words may be a path, but not `and/or` and `I/O`.
    let plain = |word: &str| word.bytes().all(|b| b.is_ascii_alphabetic());
    let is_pair = segments.next().is_none() && !from_root && plain(first) && plain(last);
    !is_pair || (first.len() >= 3 && last.len() >= 4)
}

/// Returns whether the text is a dotted name: each part starts like a name, and the parts are not all initials.
fn is_dotted(name: &str) -> bool {
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let starts_name = |part: &str| {
        part.bytes().next().is_some_and(|b| CLASS[b as usize] & (LETTER | UNDERSCORE | WIDE) != 0)
    };
    has_letter(first)
        && parts.all(starts_name)
        && name.split('.').any(|part| part.len() > 1)
        && !name
            .split('.')
            .any(|part| part.ends_with('-') || part.starts_with('-') || is_data(part))
}

/// Returns whether a single word looks like a name.
fn is_symbol(word: &str) -> bool {
    let bytes = word.as_bytes();
    let Some(&first) = bytes.first() else { return false };
    if bytes.len() < MIN_NAME_BYTES || CLASS[first as usize] & (LETTER | UNDERSCORE | WIDE) == 0 {
        return false;
    }
    is_snake(word) || is_error_code(bytes) || is_camel(bytes)
}

/// Returns whether the word is a name such as `read_line`, `MAX_DEPTH`, `_private_name`.
fn is_snake(word: &str) -> bool {
    let inner = word.trim_matches('_');
    inner.contains('_') && inner.starts_with(|c: char| c.is_alphabetic()) && !is_data(word)
}

/// Returns whether the word is an error code such as `E0308`, `HTTP404`, `TS2345`: one to four capitals, followed by
/// three or more digits.
fn is_error_code(word: &[u8]) -> bool {
    let letters = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let digits = word[letters..].iter().take_while(|b| b.is_ascii_digit()).count();
    (1..=4).contains(&letters) && digits >= 3 && letters + digits == word.len()
}

/// Returns whether the word is in camel case: `parseJSON`, `ParseError`, `HTTPServer`, but not `Hello`, `HELLO` or
/// `UUIDs`.
fn is_camel(word: &[u8]) -> bool {
    let class = |at: usize| word.get(at).map_or(0, |b| CLASS[*b as usize]);
    let hump = |at: usize| match (class(at), class(at + 1)) {
        (LOWER | DIGIT, UPPER) => true,
        (UPPER, UPPER) => class(at + 2) == LOWER && class(at + 3) == LOWER,
        _ => false,
    };
    let has_lower = || word.iter().any(u8::is_ascii_lowercase);
    let plain = || word.iter().all(u8::is_ascii_alphanumeric);
    (0..word.len()).any(hump) && has_lower() && plain() && !is_blob(word)
}

/// Returns whether a part of a name is encoded data, such as the end of `toolu_01At141XJEnXhvRVUpX6pBp3`.
fn is_data(part: &str) -> bool {
    part.split(['_', '-', '.']).any(|word| is_blob(word.as_bytes()))
}

fn has_letter(part: &str) -> bool {
    part.bytes().any(|b| CLASS[b as usize] & (LETTER | WIDE) != 0)
}

#[cfg(test)]
mod tests;
