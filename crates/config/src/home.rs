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

    /// Returns the file with the bearer token that clients send. Its mode is 0600.
    pub fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// Returns the file that describes the running daemon: its URL, process, version and socket.
    pub fn daemon_file(&self) -> PathBuf {
        self.0.join("daemon.json")
    }

    /// Returns the draft of `daemon.json`, which is written first and then renamed. While no daemon is running, it
    /// reserves disk space for the next daemon's file.
    pub fn daemon_file_draft(&self) -> PathBuf {
        self.0.join("daemon.json.new")
    }

    /// Returns the Unix socket, which serves the same routes as TCP.
    pub fn socket(&self) -> PathBuf {
        self.0.join("daemon.sock")
    }

    /// Returns the file that the running daemon locks.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Returns the file with the id by which a PostgreSQL database knows this home.
    pub fn database_id(&self) -> PathBuf {
        self.0.join("database-id")
    }

    /// Returns the file with the port of this home, for a daemon whose settings name no port.
    pub fn port(&self) -> PathBuf {
        self.0.join("port")
    }

    /// Returns the file that records that another program has taken the home's port.
    pub fn moved_note(&self) -> PathBuf {
        self.0.join("port.moved")
    }

    /// Returns the file with the stderr of a daemon that a client started.
    pub fn log_file(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    /// Returns the directory with the notes of all sessions, one Markdown file each. Its mode is 0700.
    pub fn notes(&self) -> PathBuf {
        self.0.join("session-memory")
    }

    /// Returns the user's own template for notes.
    pub fn notes_template(&self) -> PathBuf {
        self.notes().join("config").join("template.md")
    }

    /// Returns the user's own instruction for the model that writes notes.
    pub fn notes_prompt(&self) -> PathBuf {
        self.notes().join("config").join("prompt.md")
    }

    /// Returns the directory with the hook events that the daemon has not handled yet, one file each. Its mode is 0700.
    pub fn hook_spool(&self) -> PathBuf {
        self.0.join("spool").join("hooks")
    }

    /// Returns the file with hook failures, one per line.
    pub fn hook_faults(&self) -> PathBuf {
        self.0.join("hooks.log")
    }

    /// Returns the directory that contains the projects' memory directories, in bethink's own layout.
    pub fn memory(&self) -> PathBuf {
        self.0.join("memory")
    }

    /// Returns the directory with what this home's memory last had in common with that of other machines.
    pub fn memory_sync(&self) -> PathBuf {
        self.0.join("memory-sync")
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("bethink.db")
    }
}

/// Returns bethink's directory below the one that an XDG variable names, or else below the usual one in the user's home
/// directory.
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
