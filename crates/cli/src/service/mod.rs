//! The daemon as a user service: the service file and the commands that enable it. This module is pure;
//! `commands::service` writes the file and runs the commands.
//!
//! The templates are the files in `deploy/`. Only the program's path and the variables differ between a file that was copied
//! from there by hand and one that `bethink up --install` writes.

mod launchd;
mod manager;
mod systemd;

use std::path::{Path, PathBuf};

pub(crate) use manager::{Manager, Service};

/// Part of every service file that bethink writes.
const MARK: &str = "Written by `bethink up --install`";
/// The variables that a service keeps: they name the daemon's home and settings. Other variables are meant for a single run.
const KEPT: [&str; 2] = ["BETHINK_HOME", "BETHINK_CONFIG"];

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum SupervisorError {
    #[error("could not find the directory for the service file: HOME is not set")]
    NoHome,
    #[error(
        "{what} {value:?} has a control character or is not UTF-8, so a service file cannot contain it"
    )]
    UnwritablePath { what: &'static str, value: String },
}

impl Manager {
    /// Returns this user's service that runs `daemon`. `uid` is the user's id.
    pub(crate) fn service(
        self,
        daemon: &Path,
        uid: u32,
        env: &impl Fn(&str) -> Option<String>,
    ) -> Result<Service, SupervisorError> {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        let person = set("HOME").map(PathBuf::from).ok_or(SupervisorError::NoHome)?;
        let program = checked_path("the path", daemon.to_str().map(str::to_owned), daemon)?;
        let mut variables = Vec::new();
        for name in KEPT {
            if let Some(value) = set(name) {
                // A service has no current directory to resolve relative paths.
                let path = std::path::absolute(&value).unwrap_or_else(|_| PathBuf::from(&value));
                variables
                    .push((name, checked_path(name, path.to_str().map(str::to_owned), &path)?));
            }
        }
        Ok(match self {
            Self::Systemd => {
                let config = set("XDG_CONFIG_HOME").map(PathBuf::from);
                let config = config.filter(|dir| dir.is_absolute());
                let config = config.unwrap_or_else(|| person.join(".config"));
                systemd::service(&config, &program, &variables)
            }
            Self::Launchd => launchd::service(&person, uid, &program, &variables, set("PATH")),
        })
    }
}

/// Returns whether the file was written by bethink or copied from `deploy/`.
pub(crate) fn is_ours(text: &str) -> bool {
    text.contains(MARK)
}

fn checked_path(
    what: &'static str,
    text: Option<String>,
    raw: &Path,
) -> Result<String, SupervisorError> {
    let text = text.filter(|text| !text.contains(char::is_control));
    text.ok_or_else(|| SupervisorError::UnwritablePath { what, value: raw.display().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn service(
        manager: Manager,
        daemon: &str,
        pairs: &[(&str, &str)],
    ) -> Result<Service, SupervisorError> {
        let env = |name: &str| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        manager.service(Path::new(daemon), 501, &env)
    }

    #[test]
    fn a_service_needs_a_home_and_paths_without_control_characters() {
        for manager in [Manager::Systemd, Manager::Launchd] {
            assert_eq!(service(manager, "/b/bethinkd", &[]), Err(SupervisorError::NoHome));
            let odd = service(manager, "/b\n[Service]\nUser=root/bethinkd", &[("HOME", "/h")]);
            assert!(matches!(odd, Err(SupervisorError::UnwritablePath { what: "the path", .. })));
            let odd = [("HOME", "/h"), ("BETHINK_HOME", "/x\ny")];
            let odd = service(manager, "/b/bethinkd", &odd);
            assert!(matches!(
                odd,
                Err(SupervisorError::UnwritablePath { what: "BETHINK_HOME", .. })
            ));
        }
    }

    #[test]
    fn a_file_that_was_copied_by_hand_is_recognized() {
        assert!(is_ours(systemd::TEMPLATE) && is_ours(launchd::TEMPLATE));
        assert!(!is_ours("[Service]\nExecStart=/usr/bin/bethinkd\n"));
    }
}
