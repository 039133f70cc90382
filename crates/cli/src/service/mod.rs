//! The daemon as a user service: the file of the service manager, and the commands that enable it. This module is pure;
//! `commands::service` writes the file and runs the commands.
//!
//! The files in `deploy/` are the templates, so a file copied by hand and one that `bethink up --install` writes differ
//! only in the program's path and the variables.

mod launchd;
mod manager;
mod systemd;

use std::path::{Path, PathBuf};

pub(crate) use manager::{Manager, Service};

/// Marks the files that we wrote.
const MARK: &str = "Written by `bethink up --install`";
/// Variables that name the daemon's home and settings. Others are for a single run.
const KEPT: [&str; 2] = ["BETHINK_HOME", "BETHINK_CONFIG"];

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum SupervisorError {
    #[error("could not find the directory for the service: HOME is not set")]
    NoHome,
    #[error(
        "{what} {value:?} has a control character or is not UTF-8, so a service file cannot contain it"
    )]
    Unspeakable { what: &'static str, value: String },
}

impl Manager {
    /// The service of this user that runs `daemon`; `uid` is the user's.
    pub(crate) fn service(
        self,
        daemon: &Path,
        uid: u32,
        env: &impl Fn(&str) -> Option<String>,
    ) -> Result<Service, SupervisorError> {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        let person = set("HOME").map(PathBuf::from).ok_or(SupervisorError::NoHome)?;
        let program = speakable("the path", daemon.to_str().map(str::to_owned), daemon)?;
        let mut variables = Vec::new();
        for name in KEPT {
            if let Some(value) = set(name) {
                // A service has no current directory to resolve relative paths.
                let path = std::path::absolute(&value).unwrap_or_else(|_| PathBuf::from(&value));
                variables.push((name, speakable(name, path.to_str().map(str::to_owned), &path)?));
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

/// Whether we wrote a file, or it is a copy from `deploy/`.
pub(crate) fn is_ours(text: &str) -> bool {
    text.contains(MARK)
}

fn speakable(
    what: &'static str,
    text: Option<String>,
    raw: &Path,
) -> Result<String, SupervisorError> {
    let spoken = text.filter(|text| !text.contains(char::is_control));
    spoken.ok_or_else(|| SupervisorError::Unspeakable { what, value: raw.display().to_string() })
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
    fn a_service_needs_a_person_and_names_that_can_be_said() {
        for manager in [Manager::Systemd, Manager::Launchd] {
            assert_eq!(service(manager, "/b/bethinkd", &[]), Err(SupervisorError::NoHome));
            let odd = service(manager, "/b\n[Service]\nUser=root/bethinkd", &[("HOME", "/h")]);
            assert!(matches!(odd, Err(SupervisorError::Unspeakable { what: "the path", .. })));
            let odd = [("HOME", "/h"), ("BETHINK_HOME", "/x\ny")];
            let odd = service(manager, "/b/bethinkd", &odd);
            assert!(matches!(odd, Err(SupervisorError::Unspeakable { what: "BETHINK_HOME", .. })));
        }
    }

    #[test]
    fn what_a_person_copies_by_hand_is_ours_too() {
        assert!(is_ours(systemd::TEMPLATE) && is_ours(launchd::TEMPLATE));
        assert!(!is_ours("[Service]\nExecStart=/usr/bin/bethinkd\n"));
    }
}
