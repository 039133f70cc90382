//! The result of opening a store: what was found, or why it failed.

use std::path::PathBuf;

use bethink_store::StoreError;
pub use bethink_store::{Damage, OpenReport, RecoveredTable};
use sqlx::migrate::MigrateError;

use crate::error::from_sqlx;

/// Why a store could not be opened, not even for reading. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the database was written by a newer version of bethink (its schema is {found}; this version supports up to {known}); \
         use the newer version, or set BETHINK_HOME to another directory"
    )]
    Newer { found: i64, known: i64 },
    #[error(
        "{0} is the database of another program; move it, or set BETHINK_HOME to another directory"
    )]
    Foreign(PathBuf),
    #[error("the database is not writable: {0}")]
    ReadOnly(String),
    #[error("the disk is full")]
    Full,
    #[error("could not access the database files: {0}")]
    Disk(String),
    #[error("SQLite {0} can corrupt a database that is in use; build with SQLite 3.51.3 or later")]
    Engine(String),
    #[error("the database is damaged ({reason}) and could not be recovered: {cause}")]
    Unrecovered { reason: String, cause: String },
    #[error("{0} does not exist")]
    Missing(PathBuf),
    #[error(
        "the database was written by an older version of bethink; start its daemon, which updates it"
    )]
    Older,
    #[error("the database is damaged: {0}; start its daemon, which recovers the intact rows")]
    Damaged(String),
    #[error(
        "{} contains an unfinished copy of {found}; finish that copy, or delete the file", file.display()
    )]
    OtherCopy { found: String, file: PathBuf },
    #[error(
        "{} is an unfinished copy of another database; finish `bethink store copy`, or delete the file", .0.display()
    )]
    UnfinishedCopy(PathBuf),
    #[error("could not migrate the database: {0}")]
    Migrate(String),
    #[error("could not open the database: {0}")]
    Failed(String),
}

impl OpenError {
    /// Returns the error as a disk error; `None` if it has another cause.
    pub(crate) fn of_the_disk(&self) -> Option<StoreError> {
        match self {
            Self::Full => Some(StoreError::Full),
            Self::ReadOnly(why) => Some(StoreError::ReadOnly(why.clone())),
            Self::Disk(why) => Some(StoreError::Disk(why.clone())),
            _ => None,
        }
    }
}

impl From<MigrateError> for OpenError {
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

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            StoreError::ReadOnly(why) => Self::ReadOnly(why),
            StoreError::Disk(why) => Self::Disk(why),
            StoreError::Newer { found, known } => Self::Newer { found, known },
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        StoreError::of_file(&error).into()
    }
}
