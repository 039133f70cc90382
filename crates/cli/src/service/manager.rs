//! Service managers, and the service that they run.

use std::path::PathBuf;

/// The program that starts the daemon at login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    Systemd,
    Launchd,
}

/// A service file and its commands, each as a list of words with the program first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) manager: Manager,
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    /// A command that succeeds if the service manager can be reached.
    pub(crate) probe: Vec<String>,
    /// A command that succeeds if the service manager is running the service.
    pub(crate) managed: Vec<String>,
    /// Commands that unload an older version of the service. These commands run before `enable`, and may fail.
    pub(crate) unload: Vec<Vec<String>>,
    /// Commands that start the service now and at each login.
    pub(crate) enable: Vec<Vec<String>>,
    /// Commands that stop and disable the service. These commands run before the file is removed.
    pub(crate) disable: Vec<Vec<String>>,
    /// Commands that make the service manager forget the service. These commands run after the file is removed.
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
