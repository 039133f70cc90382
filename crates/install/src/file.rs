//! An agent's settings file, and the edits to its text.

use std::path::PathBuf;

use crate::edit::{AppliedEdits, NotEdited, SettingsEdit};
use crate::{jsonc, toml};

/// A settings file of an agent, with our entries.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    /// The file's extension decides between TOML and JSON.
    pub path: PathBuf,
    pub edits: Vec<SettingsEdit>,
    /// What our entries are for, as shown to the user.
    pub what: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallState {
    Absent,
    Current,
    /// Our entries exist but are outdated: the program has moved, or an older version wrote them.
    Stale,
}

impl SettingsFile {
    /// Returns the text with our entries. `text` is `None` if the file does not exist.
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

    /// Returns the text without our entries. `made` lists the containers from [`AppliedEdits`].
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
