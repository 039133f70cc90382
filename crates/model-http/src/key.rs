//! Keys: reads them, limits each to one origin, and keeps them secret.

use std::fmt;
use std::sync::Arc;

use bethink_secret_command::{SecretCommandError, output};
use reqwest::Url;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Origin;

use crate::limits::{KEY_AGAIN, MAX_KEY};
use crate::provider::{EndpointError, Provider};

/// The source of a key.
#[derive(Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The server needs no key.
    None,
    /// The environment variable with this name.
    Env(String),
    /// The output of this shell command.
    Command(String),
}

impl KeySource {
    /// Chooses the source from the settings; a command overrides a variable. The provider's usual variable is used only for the
    /// provider's own server, because the key is meant for that server.
    pub fn chosen(provider: Provider, base_url: &str, env: &str, command: &str) -> Self {
        match (command, env, base_url) {
            ("", "", "") => Self::Env(provider.usual_key_env().to_owned()),
            ("", "", _) => Self::None,
            ("", env, _) => Self::Env(env.to_owned()),
            (command, _, _) => Self::Command(command.to_owned()),
        }
    }

    pub(crate) fn check(&self) -> Result<(), EndpointError> {
        let known = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        match self {
            Self::Env(name) if name.is_empty() || !name.bytes().all(known) => {
                Err(EndpointError::KeyName)
            }
            Self::Command(command) if command.trim().is_empty() => Err(EndpointError::KeyCommand),
            _ => Ok(()),
        }
    }
}

/// Hides the values, because a command may contain a secret, and people put keys where a variable name belongs.
impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Env(_) => "Env(…)",
            Self::Command(_) => "Command(…)",
        })
    }
}

/// A key. It has no `Debug`, `Display`, `Clone` or `Serialize`, and is wiped from memory on drop.
pub(crate) struct ApiKey(SecretString);

impl ApiKey {
    /// Removes the white space that files and shells add around a key. Only visible ASCII is allowed, because the key
    /// is sent in a header.
    pub(crate) fn new(text: &SecretString) -> Result<Self, KeyError> {
        let bare = text.expose_secret().trim();
        if bare.is_empty() {
            return Err(KeyError::Empty);
        }
        if bare.len() > MAX_KEY {
            return Err(KeyError::TooLong);
        }
        if bare.contains('\n') {
            return Err(KeyError::Lines);
        }
        if !bare.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(KeyError::Characters);
        }
        Ok(Self(SecretString::from(bare)))
    }

    /// Returns a header value of `prefix` and the key, marked as sensitive so that no library logs it.
    pub(crate) fn header(&self, prefix: &str) -> Result<HeaderValue, KeyError> {
        let text = SecretString::from(format!("{prefix}{}", self.0.expose_secret()));
        let mut value =
            HeaderValue::from_str(text.expose_secret()).map_err(|_| KeyError::Characters)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Returns the key, for removing it from texts.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

/// Why a key could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error(
        "no API key: {0} is not set in the daemon's environment; set it and restart the daemon, or set api_key_command in [model] to a command that prints the key"
    )]
    NotSet(String),
    #[error("the API key is empty")]
    Empty,
    #[error("the API key is longer than {MAX_KEY} bytes")]
    TooLong,
    #[error(
        "the API key has more than one line; the variable or the command must provide the key only"
    )]
    Lines,
    #[error("the API key contains invalid characters: only visible ASCII is allowed")]
    Characters,
    #[error("could not start the command that prints the API key: {0}")]
    NotStarted(std::io::ErrorKind),
    #[error("the command that prints the API key failed: {0}")]
    Failed(String),
    #[error("the command that prints the API key did not finish within {0} seconds")]
    TooSlow(u64),
    #[error("the API key belongs to another origin and was not sent")]
    OtherOrigin,
}

impl From<SecretCommandError> for KeyError {
    fn from(error: SecretCommandError) -> Self {
        match error {
            SecretCommandError::NotStarted(kind) => Self::NotStarted(kind),
            SecretCommandError::Failed(how) => Self::Failed(how),
            SecretCommandError::TooSlow(seconds) => Self::TooSlow(seconds),
            SecretCommandError::TooLong => Self::TooLong,
            SecretCommandError::NotText => Self::Characters,
        }
    }
}

/// Caches the key of one origin.
pub(crate) struct KeyCache {
    source: KeySource,
    origin: Origin,
    held: Mutex<KeyState>,
}

#[derive(Default)]
struct KeyState {
    got: Option<Result<Arc<ApiKey>, KeyError>>,
    asked: Option<Instant>,
    /// Whether the server has rejected the key.
    refused: bool,
}

impl KeyCache {
    pub(crate) fn new(source: KeySource, origin: Origin) -> Self {
        Self { source, origin, held: Mutex::default() }
    }

    pub(crate) fn has_key(&self) -> bool {
        self.source != KeySource::None
    }

    /// Returns the key for a request to `url`; `None` if no key is configured. The key is read at its first use. It is
    /// read again, at most once a minute, if the server has rejected it or if it could not be read.
    pub(crate) async fn key_for(&self, url: &Url) -> Result<Option<Arc<ApiKey>>, KeyError> {
        if url.origin() != self.origin {
            return Err(KeyError::OtherOrigin);
        }
        if !self.has_key() {
            return Ok(None);
        }
        let mut held = self.held.lock().await;
        let lately = held.asked.is_some_and(|at| at.elapsed() < KEY_AGAIN);
        match &held.got {
            Some(Ok(key)) if lately || !held.refused => return Ok(Some(key.clone())),
            Some(Err(error)) if lately => return Err(error.clone()),
            _ => {}
        }
        let got = self.ask().await.and_then(|text| ApiKey::new(&text)).map(Arc::new);
        *held = KeyState { got: Some(got.clone()), asked: Some(Instant::now()), refused: false };
        got.map(Some)
    }

    /// Records that the server rejected the key, so that the key is read again.
    pub(crate) async fn refused(&self) {
        self.held.lock().await.refused = true;
    }

    async fn ask(&self) -> Result<SecretString, KeyError> {
        match &self.source {
            KeySource::None => Err(KeyError::Empty),
            KeySource::Env(name) => match std::env::var(name) {
                Ok(value) => Ok(SecretString::from(value)),
                Err(std::env::VarError::NotPresent) => Err(KeyError::NotSet(name.clone())),
                Err(std::env::VarError::NotUnicode(_)) => Err(KeyError::Characters),
            },
            KeySource::Command(line) => Ok(output(line).await?),
        }
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.origin.ascii_serialization();
        f.debug_struct("KeyCache").field("source", &self.source).field("origin", &origin).finish()
    }
}

#[cfg(test)]
mod tests;
