//! Options for opening a store, and the constants of this crate.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use crate::opened::PostgresOpenError;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub address: PostgresAddress,
    /// Maximum number of connections that read, and of those that write, without the one that appends.
    pub readers: u32,
    pub writers: u32,
}

impl PostgresOptions {
    pub fn new(address: PostgresAddress) -> Self {
        Self { address, readers: 4, writers: 4 }
    }
}

/// Where the database is, and who connects. Its debug output has no password.
#[derive(Clone)]
pub struct PostgresAddress(pub(crate) PgConnectOptions);

impl FromStr for PostgresAddress {
    type Err = PostgresOpenError;

    /// Parses a URL such as `postgres://user:password@host/database`.
    fn from_str(url: &str) -> Result<Self, PostgresOpenError> {
        // The cause is dropped, because it may repeat a part of the URL, which may be the password.
        let options = url.parse::<PgConnectOptions>().map_err(|_| PostgresOpenError::Address)?;
        Ok(Self::from(options))
    }
}

impl From<PgConnectOptions> for PostgresAddress {
    fn from(options: PgConnectOptions) -> Self {
        Self(options.application_name("bethink").disable_statement_logging())
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self
            .0
            .get_socket()
            .map_or_else(|| self.0.get_host().to_owned(), |socket| socket.display().to_string());
        f.debug_struct("PostgresAddress")
            .field("host", &host)
            .field("port", &self.0.get_port())
            .field("database", &self.0.get_database())
            .field("user", &self.0.get_username())
            .finish_non_exhaustive()
    }
}

/// How long to wait for a server that does not answer.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);

/// How long to wait for another process that migrates the database, in PostgreSQL's notation.
pub(crate) const MIGRATION_LOCK: &str = "60s";

/// Maximum number of queued appends. When the queue is full, callers wait.
pub(crate) const QUEUE: usize = 1024;
/// Maximum number of requests in one commit, so that no request waits long for the commit.
pub(crate) const GROUP_REQUESTS: usize = 256;
pub(crate) const GROUP_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let address: PostgresAddress =
            "postgres://ann:hunter2@example.org:5433/notes".parse().unwrap();
        let shown = format!("{:?}", PostgresOptions::new(address));
        assert!(shown.contains("ann") && shown.contains("example.org") && shown.contains("5433"));
        assert!(!shown.contains("hunter2"), "{shown}");
        let error = "postgres://ann:hunter2@:x/".parse::<PostgresAddress>().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
