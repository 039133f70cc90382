//! Where the files of a home lie; shared by the daemon and its clients.

use std::path::{Path, PathBuf};

use crate::error::ConfigError;

/// `$BETHINK_HOME`: the directory that holds all state of one daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The home that was named, else `BETHINK_HOME`, else `$XDG_DATA_HOME/bethink`, else
    /// `~/.local/share/bethink`; always absolute.
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
        // An empty path is the only one that cannot be made absolute.
        std::path::absolute(path).map(Self).map_err(|_| ConfigError::NoHome)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The bearer token of every client, 0600.
    pub fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// Where the running daemon serves: url, pid, version, socket.
    pub fn daemon_file(&self) -> PathBuf {
        self.0.join("daemon.json")
    }

    /// Unix socket with the same routes as TCP.
    pub fn socket(&self) -> PathBuf {
        self.0.join("daemon.sock")
    }

    /// What a daemon that was started by a client says on stderr.
    pub fn log_file(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    /// Notes of sessions, one Markdown file each, 0700.
    pub fn notes(&self) -> PathBuf {
        self.0.join("session-memory")
    }

    /// A person's own template of the notes.
    pub fn notes_template(&self) -> PathBuf {
        self.notes().join("config").join("template.md")
    }

    /// A person's own instruction for a model that writes notes.
    pub fn notes_prompt(&self) -> PathBuf {
        self.notes().join("config").join("prompt.md")
    }

    /// Events of clients that the daemon has not taken yet, one file each, 0700.
    pub fn hook_spool(&self) -> PathBuf {
        self.0.join("spool").join("hooks")
    }

    /// What went wrong with hooks, a line each.
    pub fn hook_faults(&self) -> PathBuf {
        self.0.join("hooks.log")
    }

    /// Memories of projects, in bethink's own layout.
    pub fn memory(&self) -> PathBuf {
        self.0.join("memory")
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("bethink.db")
    }
}

/// bethink's directory below that of an XDG variable, or below its usual place in the person's home.
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
    fn files_lie_in_the_home() {
        let home = Home::new("/b");
        let files = [
            home.token(),
            home.daemon_file(),
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
