//! A service manager, and what it is given.

use std::path::PathBuf;

/// Who starts the daemon at login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    Systemd,
    Launchd,
}

/// A service file and what follows it; commands are words, the program first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) manager: Manager,
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    /// Answers with success where the manager can be spoken to from here.
    pub(crate) probe: Vec<String>,
    /// Answers with success where the manager runs what it was given.
    pub(crate) managed: Vec<String>,
    /// Before anything else, and whatever it answers: what an older file left loaded.
    pub(crate) unload: Vec<Vec<String>>,
    /// Make it run now and at each login.
    pub(crate) enable: Vec<Vec<String>>,
    /// Stop it and forget that it belongs to logins, before the file is removed.
    pub(crate) disable: Vec<Vec<String>>,
    /// After the file is gone.
    pub(crate) forget: Vec<Vec<String>>,
}

impl Manager {
    pub(crate) fn of_this_system() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
        }
    }
}

pub(super) fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|&word| word.to_owned()).collect()
}
