//! The daemon's home, and how a client finds the daemon in it.

use std::path::{Path, PathBuf};

use bethink_api::DaemonFile;
use bethink_config::Home;

/// The home of a daemon, and what the environment overrides.
#[derive(Clone)]
pub struct DaemonPlaces {
    pub home: Home,
    /// `BETHINK_URL`: a daemon that is managed elsewhere, so it is never started or stopped from here.
    pub url: Option<String>,
    /// `BETHINK_TOKEN`.
    token: Option<String>,
}

/// The home directory is unknown.
#[derive(Debug, thiserror::Error)]
#[error("could not find bethink's home directory; set BETHINK_HOME")]
pub struct NoHome(#[source] bethink_config::ConfigError);

impl DaemonPlaces {
    /// Reads `BETHINK_HOME`, `BETHINK_URL` and `BETHINK_TOKEN`; an empty variable counts as absent.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, NoHome> {
        let home = Home::find(&lookup, None).map_err(NoHome)?;
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        Ok(Self { home, url: set("BETHINK_URL"), token: set("BETHINK_TOKEN") })
    }

    /// This home, ignoring the environment.
    pub fn at(home: PathBuf) -> Self {
        Self { home: Home::new(home), url: None, token: None }
    }

    /// Locked by a client while it starts a daemon, so that two clients start only one.
    pub fn start_lock(&self) -> PathBuf {
        self.home.path().join("start.lock")
    }

    /// Reads `daemon.json`. Its daemon may no longer be running.
    pub fn daemon(&self) -> Option<DaemonFile> {
        serde_json::from_slice(&std::fs::read(self.home.daemon_file()).ok()?).ok()
    }

    pub fn token(&self) -> Option<String> {
        self.token.clone().or_else(|| read_token(&self.home.token()))
    }

    /// The address to try. It is never guessed: a token must not be sent to another program that listens there.
    pub fn address(&self) -> Option<String> {
        self.url.clone().or_else(|| self.daemon().map(|daemon| daemon.url))
    }
}

fn read_token(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let token = text.trim();
    (!token.is_empty()).then(|| token.to_owned())
}

impl std::fmt::Debug for DaemonPlaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DaemonPlaces")
            .field("home", &self.home.path())
            .field("url", &self.url)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(pairs: &[(&str, &str)]) -> Option<String> {
        let found = DaemonPlaces::from_env(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        });
        found.ok().map(|places| places.home.path().display().to_string())
    }

    #[test]
    fn the_nearest_variable_decides_the_home() {
        let check = |pairs: &[(&str, &str)], expect: &str| {
            assert_eq!(home(pairs).as_deref(), Some(expect), "{pairs:?}");
        };
        check(&[("HOME", "/h")], "/h/.local/share/bethink");
        check(&[("HOME", "/h"), ("XDG_DATA_HOME", "/d")], "/d/bethink");
        check(&[("HOME", "/h"), ("XDG_DATA_HOME", "relative")], "/h/.local/share/bethink");
        check(&[("HOME", "/h"), ("BETHINK_HOME", "/b"), ("XDG_DATA_HOME", "/d")], "/b");
        check(&[("HOME", "/h"), ("BETHINK_HOME", "")], "/h/.local/share/bethink");
        assert_eq!(home(&[]), None);
    }

    #[test]
    fn no_address_is_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let places = DaemonPlaces::at(dir.path().to_owned());
        assert_eq!(places.address(), None);
        std::fs::write(places.home.token(), "secret\n").unwrap();
        assert_eq!(places.address(), None);
        std::fs::write(
            places.home.daemon_file(),
            r#"{"url":"http://127.0.0.1:9","pid":1,"version":"0","later":true}"#,
        )
        .unwrap();
        assert_eq!(places.address().as_deref(), Some("http://127.0.0.1:9"));
        assert!(!format!("{places:?}").contains("secret"));
    }
}
