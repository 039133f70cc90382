//! The daemon's home, and how a client finds the daemon in it.

use std::fs::{File, TryLockError};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use bethink_api::DaemonFile;
use bethink_config::Home;
use bethink_credentials::HomeToken;

use crate::address::DaemonAddress;
use crate::proof::{ExpectedDaemon, ProofError};

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

    /// Uses this home and ignores the environment.
    pub fn at(home: PathBuf) -> Self {
        Self { home: Home::new(home), url: None, token: None }
    }

    /// Returns the path of the file that a client locks while it starts a daemon, so that two clients start only one
    /// daemon.
    pub fn start_lock(&self) -> PathBuf {
        self.home.path().join("start.lock")
    }

    /// Reads `daemon.json`. The daemon in the file may no longer be running.
    pub fn daemon(&self) -> Option<DaemonFile> {
        serde_json::from_slice(&std::fs::read(self.home.daemon_file()).ok()?).ok()
    }

    /// Returns the address for display. Another program may be listening there.
    pub fn address(&self) -> Option<String> {
        self.url.clone().or_else(|| self.daemon().map(|daemon| daemon.url))
    }

    /// Returns how to reach the daemon, or `None` if none is running. The socket comes first, because only this user's
    /// processes can serve it. While a socket exists, TCP is not tried, even if the socket refuses connections: a
    /// daemon that serves no socket removes an old one. No address is guessed.
    pub(crate) fn contact(&self) -> Option<Contact> {
        if let Some(url) = &self.url {
            return Some(Contact::Tcp(url.clone()));
        }
        let socket = self.home.socket();
        if socket.symlink_metadata().is_ok_and(|found| found.file_type().is_socket()) {
            return Some(Contact::Socket(socket));
        }
        // The lock is checked first: a daemon that takes it removes the file of an earlier daemon.
        self.is_locked().then(|| self.daemon())?.map(|daemon| Contact::Tcp(daemon.url))
    }

    /// Returns whether a daemon is running: it holds the home's lock. Only a shared lock is tried, so that several
    /// clients can check at the same time.
    pub(crate) fn is_locked(&self) -> bool {
        let Ok(lock) = File::open(self.home.lock()) else { return false };
        matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Returns the daemon that must prove itself at an address.
    pub(crate) fn expected(&self, address: DaemonAddress) -> Result<ExpectedDaemon, ProofError> {
        let name = match self.token {
            Some(_) => "the daemon whose token is in BETHINK_TOKEN".to_owned(),
            None => format!("the daemon of {}", self.home.path().display()),
        };
        match self.token() {
            Some(token) => Ok(ExpectedDaemon { address, token: HomeToken::new(&token), name }),
            None => Err(ProofError::NoToken {
                address: address.authority(),
                place: self.home.token().display().to_string(),
            }),
        }
    }

    fn token(&self) -> Option<String> {
        let read = || std::fs::read_to_string(self.home.token()).ok();
        let token = self.token.clone().or_else(read)?.trim().to_owned();
        (!token.is_empty()).then_some(token)
    }
}

/// How to reach a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contact {
    Socket(PathBuf),
    /// The daemon must prove itself before anything else is sent.
    Tcp(String),
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

    fn with_daemon_file(dir: &tempfile::TempDir) -> DaemonPlaces {
        let places = DaemonPlaces::at(dir.path().to_owned());
        let file = r#"{"url":"http://127.0.0.1:9","pid":1,"version":"0","later":true}"#;
        std::fs::write(places.home.daemon_file(), file).unwrap();
        places
    }

    #[test]
    fn without_a_socket_the_address_counts_only_while_a_daemon_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let places = DaemonPlaces::at(dir.path().to_owned());
        std::fs::write(places.home.token(), "secret\n").unwrap();
        assert_eq!(places.contact(), None);
        let places = with_daemon_file(&dir);
        assert_eq!(places.contact(), None, "no daemon has ever locked the home");
        let lock = File::create(places.home.lock()).unwrap();
        assert_eq!(places.contact(), None, "nobody holds the lock");
        lock.lock().unwrap();
        let tcp = Some(Contact::Tcp("http://127.0.0.1:9".to_owned()));
        assert_eq!(places.contact(), tcp);
        drop(lock);
        assert_eq!(places.contact(), None, "the daemon was killed");
        assert!(!format!("{places:?}").contains("secret"));
    }

    #[test]
    fn a_socket_comes_first_and_nothing_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let places = with_daemon_file(&dir);
        let lock = File::create(places.home.lock()).unwrap();
        lock.lock().unwrap();
        std::fs::write(places.home.socket(), "no socket").unwrap();
        assert!(matches!(places.contact(), Some(Contact::Tcp(_))));
        std::fs::remove_file(places.home.socket()).unwrap();
        // No process accepts connections on the socket any more.
        drop(std::os::unix::net::UnixListener::bind(places.home.socket()).unwrap());
        assert_eq!(places.contact(), Some(Contact::Socket(places.home.socket())));
        let elsewhere = DaemonPlaces { url: Some("http://box:1".into()), ..places };
        assert_eq!(elsewhere.contact(), Some(Contact::Tcp("http://box:1".into())));
    }
}
