//! Names of topics, checked once: whoever holds a [`Name`] may make a path of it.

mod suggest;

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;

/// The index of a directory; no topic has its name.
pub const INDEX: &str = "MEMORY.md";
/// The directory of a project that several people share.
pub const TEAM: &str = "team";
/// Folders that a topic may lie in, one in the other, and itself.
pub const MOST_PARTS: usize = 4;
/// Bytes of one part: every file system takes 255, and a suffix needs room.
pub const MOST_BYTES: usize = 200;

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Private,
    Team,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Private => "private",
            Scope::Team => "team",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        match text {
            "private" => Ok(Scope::Private),
            "team" => Ok(Scope::Team),
            _ => Err(BadName::new(text, "is no scope: use \"private\" or \"team\"")),
        }
    }
}

/// Why a text is not the name of a topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} {why}")]
pub struct BadName {
    /// The beginning of what was given.
    pub name: String,
    pub why: &'static str,
}

impl BadName {
    fn new(name: &str, why: &'static str) -> Self {
        Self { name: name.chars().take(80).collect(), why }
    }
}

/// A topic's file within its directory, without `.md`: `fog`, or `plans/fog`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// With or without `.md`.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let bad = |why| BadName::new(text, why);
        let stem = text.strip_suffix(".md").unwrap_or(text);
        if stem.is_empty() {
            return Err(bad("is empty: name the topic"));
        }
        if stem.split('/').count() > MOST_PARTS {
            return Err(bad("lies too deep: at most 4 parts"));
        }
        for part in stem.split('/') {
            check(part).map_err(bad)?;
        }
        if stem.eq_ignore_ascii_case("MEMORY") {
            return Err(bad("is the index, not a topic"));
        }
        Ok(Self(stem.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Relative to the directory.
    pub fn file(&self) -> String {
        format!("{}.md", self.0)
    }

    /// What two names share that some file system or reader takes for one.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }
}

/// As [`Name::folded`], for any entry of a directory.
pub fn fold(name: &str) -> String {
    name.nfkc().flat_map(char::to_lowercase).collect()
}

/// One part of a path.
fn check(part: &str) -> Result<(), &'static str> {
    match part {
        "" => return Err("has an empty part"),
        "." | ".." => return Err("leads out of the directory"),
        _ => {}
    }
    if part.len() > MOST_BYTES {
        return Err("is too long: at most 200 bytes a part");
    }
    if part.starts_with('.') {
        return Err("is hidden: it must not begin with a dot");
    }
    if part.ends_with(['.', ' ']) || part.starts_with(' ') {
        return Err("begins or ends with a space or ends with a dot, which some systems drop");
    }
    Ok(())
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
