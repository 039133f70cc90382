//! Names of topics. A [`Name`] is checked when it is made, so it is safe to use in a path.

mod suggest;

use std::fmt;

pub use bethink_api::MemoryScope as Scope;
use unicode_normalization::UnicodeNormalization;

use crate::unseen::suspect;

/// File name of the index. No topic may have it.
pub const INDEX: &str = "MEMORY.md";
/// File name of the list of rejected proposals. No topic may have it.
pub const REJECTIONS: &str = "REJECTED-PROPOSALS.md";
/// Name of the directory that a project's team shares.
pub const TEAM: &str = "team";
/// Maximum number of path components of a topic, including its own name.
pub const MOST_PARTS: usize = 4;
/// Maximum length of a path component, in bytes: every file system accepts 255, and suffixes need some room.
pub const MOST_BYTES: usize = 200;

/// A string that is not a valid topic name, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} {why}")]
pub struct BadName {
    /// The beginning of the string.
    pub name: String,
    pub why: &'static str,
}

impl BadName {
    fn new(name: &str, why: &'static str) -> Self {
        Self { name: name.chars().take(80).collect(), why }
    }
}

/// Path of a topic's file in its directory, without `.md`: `fog`, or `plans/fog`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Parses a name with or without `.md`.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let bad = |why| BadName::new(text, why);
        let stem = text.strip_suffix(".md").unwrap_or(text);
        if stem.is_empty() {
            return Err(bad("is empty: give the topic a name"));
        }
        if stem.split('/').count() > MOST_PARTS {
            return Err(bad("has more than 4 path components"));
        }
        for part in stem.split('/') {
            check(part).map_err(bad)?;
        }
        let folded = fold(stem);
        if folded == "memory" {
            return Err(bad("is the index, not a topic"));
        }
        if folded == "rejected-proposals" {
            return Err(bad("is the list of rejected proposals, not a topic"));
        }
        // Otherwise `fog.md.md` would be the file of a topic named `fog.md`.
        if folded.ends_with(".md") {
            return Err(bad("ends in .md twice"));
        }
        Ok(Self(stem.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the file's path relative to the directory.
    pub fn file(&self) -> String {
        format!("{}.md", self.0)
    }

    /// Returns a form that is equal for names that some file system or reader treats as the same.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }

    /// Like [`Name::folded`], with `-` between words, because people who link to a topic mix up `-`, `_` and spaces.
    pub fn hyphenated(&self) -> String {
        self.folded().replace(['_', ' '], "-")
    }
}

/// Like [`Name::folded`], but for any entry of a directory.
pub fn fold(name: &str) -> String {
    if is_plain(name) {
        return name.to_ascii_lowercase();
    }
    name.nfkc().flat_map(char::to_lowercase).filter(|c| !suspect(*c)).nfc().collect()
}

/// Whether a name has only visible ASCII characters and spaces, which Unicode normalization does not change.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Checks a path component both as written and after compatibility normalization, which turns a full-width solidus into
/// a separator and a two-dot leader into `..`.
fn check(part: &str) -> Result<(), &'static str> {
    check_as_read(part)?;
    if is_plain(part) {
        return Ok(());
    }
    let read: String = part.nfkc().collect();
    if read != part { check_as_read(&read) } else { Ok(()) }
}

fn check_as_read(part: &str) -> Result<(), &'static str> {
    let is_control = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    Err(match part {
        "" => "has an empty path component",
        "." | ".." => "has `.` or `..` as a path component",
        _ if part.len() > MOST_BYTES => "has a path component longer than 200 bytes",
        _ if part.starts_with('.') => "has a path component that begins with a dot",
        _ if part.starts_with(['~', '-']) => {
            "has a path component that begins with ~ or -, which many programs treat specially"
        }
        _ if part.ends_with(['.', ' ']) || part.starts_with(' ') => {
            "has a path component that begins or ends with a space, or ends with a dot"
        }
        _ if part.contains(is_control) => "has a control character",
        _ if part.contains(SEPARATING) => {
            "has a character that is a path separator on some systems: / \\ :"
        }
        _ if part.contains(|c: char| suspect(c) && !JOINING.contains(&c)) => {
            "has an invisible character"
        }
        _ if has_encoded(part) => "has an encoded character, such as %2e",
        _ if is_device(part) => "has a path component that is a device name on some systems",
        _ => return Ok(()),
    })
}

/// Separators of folders, volumes or streams on some systems.
const SEPARATING: [char; 3] = ['/', '\\', ':'];
/// Invisible characters that legitimate text needs: Persian, Indic scripts, emoji.
const JOINING: [char; 4] = ['\u{200c}', '\u{200d}', '\u{fe0e}', '\u{fe0f}'];

/// Whether the name contains an encoding of a forbidden character: `%2e`, or `%u002e`, which old servers decode, or
/// `%25`, which hides another encoding. `%20` is allowed, because it is a common encoding of a space.
fn has_encoded(part: &str) -> bool {
    part.split('%').skip(1).any(|rest| {
        let (rest, digits) = rest.strip_prefix('u').map_or((rest, 2), |rest| (rest, 4));
        let hex = rest.get(..digits).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
        code.is_some_and(|c| !matches!(c, ' '..='~') || matches!(c, '.' | '%' | '/' | '\\' | ':'))
    })
}

/// Windows opens a device for these names, with any extension.
fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    let upper = stem.to_ascii_uppercase();
    let numbered = |name: &str| {
        let digit = upper.strip_prefix(name);
        digit.is_some_and(|d| d.len() == 1 && d.as_bytes()[0].is_ascii_digit())
    };
    matches!(upper.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$")
        || numbered("COM")
        || numbered("LPT")
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
