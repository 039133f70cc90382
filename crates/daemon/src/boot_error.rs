//! Why the daemon could not start.

use std::io;
use std::path::PathBuf;

use bethink_secret_command::SecretCommandError;
use bethink_service::ServiceError;
use bethink_store::StoreError;
use bethink_store_postgres::PostgresOpenError;
use bethink_store_sqlite::OpenError;

/// The reason why the daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("could not use {home} as bethink's home directory")]
    Home { home: PathBuf, source: io::Error },
    #[error(
        "another daemon is using {home} ({holder}); stop it, or set BETHINK_HOME to another directory"
    )]
    Owned { home: PathBuf, holder: String },
    #[error("could not open the database in {home}")]
    Store { home: PathBuf, source: OpenError },
    #[error("could not use the URL in [store]: {0}")]
    Url(PostgresOpenError),
    #[error("could not read the password of the database")]
    Password(#[from] PasswordError),
    #[error("could not open the {database}")]
    Database { database: String, source: PostgresOpenError },
    #[error("could not read the jobs of the previous daemon")]
    Work(#[from] StoreError),
    #[error("could not read whether recording is paused: {0}")]
    Recording(ServiceError),
    #[error("could not read where agents keep their transcripts: {0}")]
    Transcripts(ServiceError),
    #[error("could not enqueue unfinished indexing: {0}")]
    Index(ServiceError),
}

/// Why the database's password could not be read. Contains no part of it.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("[store] password_command printed no password")]
    Command(#[from] SecretCommandError),
    #[error("could not read the file {path} of [store] password_file")]
    File { path: PathBuf, source: io::Error },
    #[error("{from} contains no password")]
    Empty { from: &'static str },
}

impl BootError {
    pub(crate) fn is_of_the_disk(&self) -> bool {
        match self {
            Self::Work(error) => error.is_of_the_disk(),
            Self::Index(error) | Self::Recording(error) | Self::Transcripts(error) => {
                error.kind.is_of_the_disk()
            }
            Self::Home { .. }
            | Self::Owned { .. }
            | Self::Store { .. }
            | Self::Url(_)
            | Self::Password(_)
            | Self::Database { .. } => false,
        }
    }
}
