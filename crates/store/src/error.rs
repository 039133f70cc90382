use std::io;
use std::pin::Pin;

use bethink_transcript::{Seq, SessionId};

/// Errors of a store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{what} {id} not found")]
    NotFound { what: &'static str, id: String },
    /// The request conflicts with what is stored, such as another owner, or another request with the same key.
    #[error("{0}")]
    Conflict(String),
    /// These messages of the append are stored already, each with its number in the request and its seq; nothing was
    /// written.
    #[error("the session already has {} of these messages", .0.len())]
    AlreadyStored(Vec<(usize, Seq)>),
    /// The disk is full or the quota is reached. Reads still work, and writes will work again once there is space.
    #[error("the disk is full")]
    Full,
    #[error("the database is read-only: {0}")]
    ReadOnly(String),
    /// The database user lacks a privilege.
    #[error("could not access the database: permission denied: {0}")]
    Denied(String),
    /// The disk failed, or a file could not be opened or is locked. The request can be retried later.
    #[error("could not access the database files: {0}")]
    Disk(String),
    /// The database server could not be reached, did not answer in time, or refused because of its own state. The request
    /// can be retried later.
    #[error("could not use the database server: {0}")]
    Server(String),
    /// Another transaction was in the way, or the statement took too long. The request can be retried later.
    #[error("could not finish a database transaction: {0}")]
    Contended(String),
    /// Another daemon has the lock of this home in the database; nothing was written.
    #[error("another daemon with the same home is using the database: {0}")]
    InUse(String),
    /// The session does not belong to this daemon; nothing was written.
    #[error("this daemon does not have the session; it belongs to {holder}")]
    Moved { session: SessionId, holder: String },
    /// Bytes on disk differ from what was written.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// The database was written by a newer version of bethink, and was not changed.
    #[error(
        "the database has schema version {found}, but this version of bethink supports {known}: use the version that matches"
    )]
    Newer { found: i64, known: i64 },
    #[error("the store is closed")]
    Closed,
    /// Any other error of the database engine.
    #[error("database error: {0}")]
    Failed(String),
}

impl StoreError {
    /// Classifies a file error by what a person can do about it.
    pub fn of_file(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnly(error.to_string())
            }
            _ => Self::Disk(error.to_string()),
        }
    }

    /// Returns whether the cause is the disk or its permissions, or the database server, rather than the request or the
    /// data.
    pub fn is_of_the_disk(&self) -> bool {
        matches!(
            self,
            Self::Full
                | Self::ReadOnly(_)
                | Self::Denied(_)
                | Self::Disk(_)
                | Self::Server(_)
                | Self::Contended(_)
                | Self::InUse(_)
        )
    }
}

pub type StoreResult<T> = std::result::Result<T, StoreError>;
/// The result of a store's method.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = StoreResult<T>> + Send + 'a>>;
