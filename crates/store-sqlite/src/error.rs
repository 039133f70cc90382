//! Maps SQLite's result codes to the port's errors.

use bethink_store::StoreError;

// Primary result codes, https://www.sqlite.org/rescode.html.
const ERROR: u32 = 1;
const PERM: u32 = 3;
const BUSY: u32 = 5;
const READONLY: u32 = 8;
const IOERR: u32 = 10;
const CORRUPT: u32 = 11;
const FULL: u32 = 13;
const CANTOPEN: u32 = 14;
const AUTH: u32 = 23;
const NOTADB: u32 = 26;
/// An extended code: there was no room for the index of the WAL.
const IOERR_SHMSIZE: u32 = 4874;

pub(crate) fn from_sqlx(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => StoreError::Closed,
        sqlx::Error::Database(cause) => {
            let code = cause.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or_default();
            from_code(code, cause.to_string())
        }
        sqlx::Error::Io(cause) => StoreError::of_file(&cause),
        // A value that no statement of this store has written.
        unread @ (sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => {
            StoreError::Damaged(unread.to_string())
        }
        other => StoreError::Failed(other.to_string()),
    }
}

/// Returns whether a statement did not find something that the migrations created. If so, the text of the schema was
/// altered in the file.
fn lacks_a_part(message: &str) -> bool {
    ["no such table", "no such column"].iter().any(|sign| message.contains(sign))
}

/// Returns whether a different row already has this key.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// Returns whether the whole transaction failed, so that retrying its requests separately does not help.
pub(crate) fn fails_all(error: &StoreError) -> bool {
    !matches!(error, StoreError::NotFound { .. } | StoreError::Conflict(_) | StoreError::Failed(_))
}

fn from_code(code: u32, message: String) -> StoreError {
    if code == IOERR_SHMSIZE {
        return StoreError::Full;
    }
    // The lowest byte of an extended code is the primary one.
    match code & 0xff {
        FULL => StoreError::Full,
        READONLY | PERM | AUTH => StoreError::ReadOnly(message),
        CORRUPT | NOTADB => StoreError::Damaged(message),
        // For BUSY, another program, such as a backup, has the lock. This is treated like a disk that is too slow.
        IOERR | CANTOPEN | BUSY => StoreError::Disk(message),
        ERROR if lacks_a_part(&message) => StoreError::Damaged(message),
        _ => StoreError::Failed(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of page writes, of syncs and of the WAL's index are disk errors, not internal errors.
    #[test]
    fn faults_of_the_disk_are_told_from_others() {
        let is = |code: u32| from_code(code, "why".to_owned());
        assert!(matches!((is(13), is(4874)), (StoreError::Full, StoreError::Full)));
        for readonly in [8, 8 | 1 << 8, 8 | 3 << 8, 3] {
            assert!(matches!(is(readonly), StoreError::ReadOnly(_)), "{readonly}");
        }
        for failed in (0..35).map(|detail| 10 | detail << 8).filter(|code| *code != 4874) {
            assert!(matches!(is(failed), StoreError::Disk(_)), "{failed}");
        }
        for failed in [14, 14 | 1 << 8, 5] {
            assert!(matches!(is(failed), StoreError::Disk(_)), "{failed}");
        }
        assert!(matches!(is(11), StoreError::Damaged(_)));
        assert!(matches!(is(1), StoreError::Failed(_)));
    }
}
