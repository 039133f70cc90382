//! The paths of the files in a home directory, for the daemon and its clients.

use std::path::{Path, PathBuf};

use crate::error::ConfigError;

/// `$BETHINK_HOME`: the directory with all of a daemon's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the home that an argument names, else `BETHINK_HOME`, else `$XDG_DATA_HOME/bethink`, else
    /// `~/.local/share/bethink`. The path is absolute.
    pub fn find(
        env: &dyn Fn(&str) -> Option<String>,
        named: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let variable = || env("BETHINK_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let path = named
            .map(Path::to_path_buf)
            .or_else(variable)
            .or_else(|| xdg_dir(env, "XDG_DATA_HOME", ".local/share"));
        let path = path.ok_or(ConfigError::NoHome)?;
        // Only an empty path cannot be made absolute.
        std::path::absolute(path).map(Self).map_err(|_| ConfigError::NoHome)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The bearer token that clients send. Its mode is 0600.
    pub fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// Describes the running daemon: its URL, process, version and socket.
    pub fn daemon_file(&self) -> PathBuf {
        self.0.join("daemon.json")
    }

    /// Written first and then renamed. While no daemon runs, it keeps room on the disk for the next one's file.
    pub fn daemon_file_draft(&self) -> PathBuf {
        self.0.join("daemon.json.new")
    }

    /// The Unix socket, which has the same routes as TCP.
    pub fn socket(&self) -> PathBuf {
        self.0.join("daemon.sock")
    }

    /// Locked by the running daemon.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// The port of this home, for a daemon whose settings name none.
    pub fn port(&self) -> PathBuf {
        self.0.join("port")
    }

    /// Says that another program has taken the home's port.
    pub fn moved_note(&self) -> PathBuf {
        self.0.join("port.moved")
    }

    /// The stderr of a daemon that was started by a client.
    pub fn log_file(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    /// The notes of all sessions, one Markdown file each. The directory's mode is 0700.
    pub fn notes(&self) -> PathBuf {
        self.0.join("session-memory")
    }

    /// The user's own template for notes.
    pub fn notes_template(&self) -> PathBuf {
        self.notes().join("config").join("template.md")
    }

    /// The user's own instruction for the model that writes notes.
    pub fn notes_prompt(&self) -> PathBuf {
        self.notes().join("config").join("prompt.md")
    }

    /// Hook events that the daemon has not handled yet, one file each. The directory's mode is 0700.
    pub fn hook_spool(&self) -> PathBuf {
        self.0.join("spool").join("hooks")
    }

    /// Hook failures, one per line.
    pub fn hook_faults(&self) -> PathBuf {
        self.0.join("hooks.log")
    }

    /// The projects' memory directories, in bethink's own layout.
    pub fn memory(&self) -> PathBuf {
        self.0.join("memory")
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("bethink.db")
    }
}

/// Returns bethink's directory below an XDG variable's, or below the usual one in the user's home directory.
pub(crate) fn xdg_dir(
    env: &dyn Fn(&str) -> Option<String>,
    variable: &str,
    usual: &str,
) -> Option<PathBuf> {
    let base = match env(variable).filter(|path| Path::new(path).is_absolute()) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env("HOME").filter(|home| !home.is_empty())?).join(usual),
    };
    Some(base.join("bethink"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vars: &[(&str, &str)], named: Option<&str>, expect: &str) {
        let env = |name: &str| {
            vars.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        let home = Home::find(&env, named.map(Path::new)).unwrap();
        assert_eq!(home.path(), Path::new(expect), "{vars:?}");
    }

    #[test]
    fn the_nearest_name_wins() {
        let all = [("BETHINK_HOME", "/b"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        check(&all, Some("/n"), "/n");
        check(&all, None, "/b");
        check(&all[1..], None, "/x/bethink");
        check(&all[2..], None, "/h/.local/share/bethink");
        check(&[("BETHINK_HOME", ""), ("HOME", "/h")], None, "/h/.local/share/bethink");
        check(&[("XDG_DATA_HOME", "relative"), ("HOME", "/h")], None, "/h/.local/share/bethink");
    }

    #[test]
    fn files_are_in_the_home() {
        let home = Home::new("/b");
        let files = [
            home.token(),
            home.daemon_file(),
            home.daemon_file_draft(),
            home.lock(),
            home.port(),
            home.moved_note(),
            home.socket(),
            home.log_file(),
            home.notes_template(),
            home.notes_prompt(),
            home.memory(),
            home.hook_spool(),
            home.hook_faults(),
        ];
        assert!(files.iter().chain([&home.database()]).all(|file| file.starts_with("/b")));
    }
}
