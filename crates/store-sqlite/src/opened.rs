//! What comes of opening a store: what was found, or why it could not be.

use std::path::PathBuf;

use bethink_store::StoreError;

use crate::error::from_io;

/// What was found when a store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// There was no file.
    pub new: bool,
    pub damage: Option<Damage>,
    /// The last stop was not clean and the file is too large to be checked before serving: call
    /// [`SqliteStore::check`](crate::SqliteStore::check) when there is time.
    pub check_due: bool,
}

/// What became of a damaged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What was wrong, as far as the first look saw.
    pub reason: String,
    /// Copy of the damaged file; its `-wal` and `-shm`, if any, lie beside it.
    pub copy: PathBuf,
    pub recovered: Vec<RecoveredTable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredTable {
    pub table: &'static str,
    /// Rows that are whole.
    pub rows: u64,
    /// Rows that could be read but whose bytes are not what was written.
    pub spoiled: u64,
}

/// Why a store could not be opened. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the database was written by a newer bethink (schema {found}, this one knows up to \
         {known}); use that one, or another home"
    )]
    Newer { found: i64, known: i64 },
    #[error("{0} is a database, but not one of bethink's; move it away, or use another home")]
    Foreign(PathBuf),
    #[error("the database can't be written: {0}")]
    ReadOnly(String),
    #[error("the disk is full")]
    Full,
    #[error("SQLite {0} can damage a database in use; build with 3.51.3 or later")]
    Engine(String),
    #[error("the database could not be brought up to date")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("the database could not be opened: {0}")]
    Failed(String),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Full,
            StoreError::ReadOnly(why) => Self::ReadOnly(why),
            StoreError::Newer { found, known } => Self::Newer { found, known },
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<std::io::Error> for OpenError {
    fn from(error: std::io::Error) -> Self {
        from_io(&error).into()
    }
}
