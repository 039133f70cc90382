//! A configuration file of a client, and what becomes of its text.

use std::path::PathBuf;

use crate::edit::{AppliedEdits, NotEdited, SettingsEdit};
use crate::{jsonc, toml};

/// One file of a client with what belongs into it.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    /// TOML or JSON, as its name ends.
    pub path: PathBuf,
    pub edits: Vec<SettingsEdit>,
    /// What it is for, for people.
    pub what: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallState {
    Absent,
    Current,
    /// Something of ours is there and not as it should be: the program has moved, or an older bethink wrote it.
    Stale,
}

impl SettingsFile {
    /// The text with our entries in it. `None` is a file that is not there.
    pub fn put_in(&self, text: Option<&str>) -> Result<AppliedEdits, NotEdited> {
        match (self.is_toml(), text.filter(|text| !text.trim().is_empty())) {
            (true, text) => toml::put_in(text.unwrap_or_default(), &self.edits),
            (false, Some(text)) => jsonc::put_in(text, &self.edits),
            (false, None) => {
                let made = jsonc::put_in("{}", &self.edits)?;
                Ok(AppliedEdits { text: made.text + "\n", ..made })
            }
        }
    }

    /// The text without our entries. `made` are the containers from [`AppliedEdits`].
    pub fn take_out(&self, text: &str, made: &[Vec<String>]) -> Result<String, NotEdited> {
        if text.trim().is_empty() {
            return Ok(text.to_owned());
        }
        match self.is_toml() {
            true => toml::take_out(text, &self.edits, made),
            false => jsonc::take_out(text, &self.edits, made),
        }
    }

    pub fn state(&self, text: Option<&str>) -> Result<InstallState, NotEdited> {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return Ok(InstallState::Absent);
        };
        let has_ours = self.take_out(text, &[])? != text;
        Ok(match (has_ours, self.put_in(Some(text))?.text == text) {
            (false, _) => InstallState::Absent,
            (true, true) => InstallState::Current,
            (true, false) => InstallState::Stale,
        })
    }
    pub(crate) fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "toml")
    }
}
