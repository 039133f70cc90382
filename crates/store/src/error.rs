use std::pin::Pin;

/// Why a store could not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    /// Something else holds the place: another owner, another request under the same key.
    #[error("{0}")]
    Conflict(String),
    /// Disk full or quota reached; reads go on, and writes again when space is back.
    #[error("the disk is full")]
    Full,
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// Bytes on disk are not what was written.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Written by a newer bethink; left untouched.
    #[error("the database has schema {found}, this bethink knows up to {known}")]
    Newer { found: i64, known: i64 },
    #[error("the store is closed")]
    Closed,
    /// Anything else that the engine below said.
    #[error("the store failed: {0}")]
    Failed(String),
}

pub type StoreResult<T> = std::result::Result<T, StoreError>;
/// How a store answers.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = StoreResult<T>> + Send + 'a>>;
