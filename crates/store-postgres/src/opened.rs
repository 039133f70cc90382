//! The result of opening a store: what was found, or why it failed.

use bethink_store::{OpenReport, StoreError};
use sqlx::migrate::MigrateError;

use crate::error::from_sqlx;

/// The state in which a database was found when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostgresOpenReport {
    /// The database was empty.
    pub new: bool,
    /// The server can lose commits in a power failure: `fsync` or `full_page_writes` is off.
    pub unsafe_settings: bool,
}

impl From<PostgresOpenReport> for OpenReport {
    fn from(report: PostgresOpenReport) -> Self {
        Self { new: report.new, ..Self::default() }
    }
}

/// Why a store could not be opened. Migrations may already have been applied.
#[derive(Debug, thiserror::Error)]
pub enum PostgresOpenError {
    #[error("the URL is not valid; use the form postgres://USER@HOST:PORT/DATABASE")]
    Address,
    /// The parameter's name, unless it may be a part of a password.
    #[error(
        "the URL has an unsupported parameter{}; supported parameters: {}",
        .0.as_ref().map(|name| format!(": `{name}`")).unwrap_or_default(),
        bethink_config::database_url::PARAMETERS.join(", ")
    )]
    Parameter(Option<String>),
    #[error(
        "an unencrypted connection to another machine is not allowed; remove sslmode from the URL (and PGSSLMODE from the \
         environment), or set it to verify-full, verify-ca or require"
    )]
    Unencrypted,
    #[error(
        "the database was written by a newer version of bethink (its schema version is {found}; this version of bethink supports up to {known}); \
         use the newer version, or another database"
    )]
    Newer { found: i64, known: i64 },
    #[error("the database contains tables of another program; use an empty database or schema")]
    Foreign,
    #[error(
        "no schema of the user's search path exists, or the user may use none of them; give the user its rights, create one, or name an existing one with options[search_path]"
    )]
    NoSchema,
    #[error("the database has the encoding {0}; create it with the encoding UTF8")]
    Encoding(String),
    #[error(
        "the database is not writable: {0}; connect to the primary server, as a user who may create tables in the schema"
    )]
    ReadOnly(String),
    #[error(
        "another daemon with the same home, or with a copy of it, is using the database ({0}); stop it, or if this home is a copy, \
         delete its file database-id"
    )]
    InUse(String),
    #[error(
        "the database user {user} holds a lock that only your daemons should take; ask an administrator to end that connection: \
         `SELECT pg_terminate_backend({process})`"
    )]
    Locked { user: String, process: i64 },
    #[error(
        "the schema {own} is empty, but your history is in the schema {other} of the same database; to use it there, add the \
         parameter `options[search_path]={other}` to the URL; to move it to {own}, see docs/team.md; to start a new history in {own}, add \
         `options[search_path]={own}`"
    )]
    OtherSchema { own: String, other: String },
    #[error(
        "could not use the tables (in use by {0}): they are being updated or copied, or this version of bethink must update them \
         while no other daemon uses them; stop these daemons, or try again when the update or copy has ended"
    )]
    Shared(String),
    #[error(
        "the database contains an incomplete copy; finish `bethink store copy`, or delete the schema that contains it (not the database, if other people use it)"
    )]
    Unfinished,
    #[error("the server is a standby; connect to the primary server")]
    Standby,
    #[error(
        "the database is in use ({0}); stop the daemons that use it, or wait for the other copy"
    )]
    Daemons(String),
    #[error("the database is empty: it contains no tables of bethink")]
    Empty,
    #[error(
        "the database was written by an older version of bethink; start a daemon that uses it, which updates it, and stop it again"
    )]
    Older,
    #[error("the server's disk is full")]
    Full,
    #[error(
        "could not use the database server: {0}; check that the server is running, and that the URL and the password are correct"
    )]
    Unreachable(String),
    #[error(
        "the database server refused the connection: {0}; check the user, the password and the name of the database"
    )]
    Refused(String),
    #[error("could not migrate the database: {0}")]
    Migrate(String),
    #[error("{0}")]
    Failed(String),
}

impl From<MigrateError> for PostgresOpenError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => {
                match from_sqlx(cause) {
                    fault if fault.is_of_the_disk() => fault.into(),
                    other => Self::Migrate(other.to_string()),
                }
            }
            other => Self::Migrate(other.to_string()),
        }
    }
}

impl From<PostgresOpenError> for StoreError {
    fn from(error: PostgresOpenError) -> Self {
        use PostgresOpenError as E;
        match error {
            E::Full => Self::Full,
            E::ReadOnly(why) => Self::ReadOnly(why),
            E::InUse(holder) => Self::InUse(holder),
            E::Newer { found, known } => Self::Newer { found, known },
            E::Unreachable(why) | E::Refused(why) => Self::Server(why),
            other => Self::Server(other.to_string()),
        }
    }
}

impl From<StoreError> for PostgresOpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            StoreError::ReadOnly(why) | StoreError::Denied(why) => Self::ReadOnly(why),
            StoreError::Server(why) | StoreError::Contended(why) => Self::Unreachable(why),
            StoreError::InUse(holder) => Self::InUse(holder),
            StoreError::Newer { found, known } => Self::Newer { found, known },
            other => Self::Failed(other.to_string()),
        }
    }
}
