//! Maps SQLite's result codes to the port's errors.

use bethink_store::StoreError;

// Primary result codes, https://www.sqlite.org/rescode.html.
const PERM: u32 = 3;
const READONLY: u32 = 8;
const IOERR: u32 = 10;
const CORRUPT: u32 = 11;
const FULL: u32 = 13;
const CANTOPEN: u32 = 14;
const AUTH: u32 = 23;
const NOTADB: u32 = 26;

pub(crate) fn from_sqlx(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => StoreError::Closed,
        sqlx::Error::Database(cause) => {
            let code = cause.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or_default();
            // The lowest byte of an extended code is the primary one.
            from_code(code & 0xff, cause.to_string())
        }
        sqlx::Error::Io(cause) => from_io(&cause),
        other => StoreError::Failed(other.to_string()),
    }
}

pub(crate) fn from_io(error: &std::io::Error) -> StoreError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreError::Full,
        std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(error.to_string())
        }
        _ => StoreError::Failed(error.to_string()),
    }
}

/// Returns whether a different row already has this key.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// Returns whether the disk or the file caused the error. Retrying the request separately does not help then.
pub(crate) fn is_of_the_disk(error: &StoreError) -> bool {
    !matches!(error, StoreError::NotFound { .. } | StoreError::Conflict(_) | StoreError::Failed(_))
}

fn from_code(code: u32, message: String) -> StoreError {
    match code {
        FULL => StoreError::Full,
        READONLY | PERM | AUTH | CANTOPEN => StoreError::ReadOnly(message),
        CORRUPT | NOTADB => StoreError::Damaged(message),
        IOERR => StoreError::Failed(format!("disk I/O error: {message}")),
        _ => StoreError::Failed(message),
    }
}
