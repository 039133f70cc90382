use std::pin::Pin;

/// Errors of a store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{what} {id} not found")]
    NotFound { what: &'static str, id: String },
    /// Something else is there: another owner, or another request with the same key.
    #[error("{0}")]
    Conflict(String),
    /// Disk full or quota reached; reads still work, and writes will when there is space again.
    #[error("the disk is full")]
    Full,
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// Bytes on disk differ from what was written.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Written by a newer bethink; left untouched.
    #[error(
        "the database has schema {found}, but this version of bethink only knows up to {known}: install a newer version"
    )]
    Newer { found: i64, known: i64 },
    #[error("the store is closed")]
    Closed,
    /// Any other error of the database engine.
    #[error("database error: {0}")]
    Failed(String),
}

pub type StoreResult<T> = std::result::Result<T, StoreError>;
/// The result of a store's method.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = StoreResult<T>> + Send + 'a>>;
