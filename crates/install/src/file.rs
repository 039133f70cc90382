//! A configuration file of a client, and what becomes of its text.

use std::path::PathBuf;

use crate::edit::Edit;
use crate::{jsonc, toml};

/// One file of a client with what belongs into it.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub path: PathBuf,
    pub format: Format,
    pub edits: Vec<Edit>,
    /// What it is for, for people.
    pub what: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// With comments and trailing commas where they are.
    Json,
    Toml,
}

/// How a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Absent,
    Current,
    /// Something of ours is there and not as it should be: the program has moved, or an older bethink wrote it.
    Stale,
}

/// A text with our entries in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub text: String,
    /// Containers that were made for them, by their paths; they go with the last entry.
    pub made: Vec<Vec<String>>,
    /// Places where something stands that is not ours, and stays.
    pub left_alone: Vec<String>,
}

/// Why a text is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct NotEdited {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub what: String,
}

impl NotEdited {
    pub(crate) fn at(text: &str, at: usize, what: impl Into<String>) -> Self {
        let before = &text[..text.floor_char_boundary(at)];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let (line, column) =
            (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
        Self { line, column, what: what.into() }
    }
}

impl File {
    /// The text with our entries in it. `None` is a file that is not there.
    pub fn put_in(&self, text: Option<&str>) -> Result<Applied, NotEdited> {
        match (self.format, text.filter(|text| !text.trim().is_empty())) {
            (Format::Json, Some(text)) => jsonc::put_in(text, &self.edits),
            (Format::Json, None) => {
                let made = jsonc::put_in("{}", &self.edits)?;
                Ok(Applied { text: made.text + "\n", ..made })
            }
            (Format::Toml, text) => toml::put_in(text.unwrap_or_default(), &self.edits),
        }
    }

    /// The text without them. `made` are the containers that [`Applied`] told of.
    pub fn take_out(&self, text: &str, made: &[Vec<String>]) -> Result<String, NotEdited> {
        if text.trim().is_empty() {
            return Ok(text.to_owned());
        }
        match self.format {
            Format::Json => jsonc::take_out(text, &self.edits, made),
            Format::Toml => toml::take_out(text, &self.edits, made),
        }
    }

    pub fn state(&self, text: Option<&str>) -> Result<State, NotEdited> {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return Ok(State::Absent);
        };
        let has_ours = match self.format {
            Format::Json => jsonc::has_ours(text, &self.edits)?,
            Format::Toml => toml::take_out(text, &self.edits, &[])? != text,
        };
        Ok(match (has_ours, self.put_in(Some(text))?.text == text) {
            (false, _) => State::Absent,
            (true, true) => State::Current,
            (true, false) => State::Stale,
        })
    }
}
