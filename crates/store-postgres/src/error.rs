//! Maps PostgreSQL's error codes to the port's errors.

use bethink_store::StoreError;

pub(crate) fn from_sqlx(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => StoreError::Closed,
        sqlx::Error::PoolTimedOut => StoreError::Server("it did not answer in time".to_owned()),
        sqlx::Error::Database(cause) => {
            let code = cause.code().unwrap_or_default();
            from_code(&code, cause.message().to_owned())
        }
        // Any file error here is one of a socket.
        sqlx::Error::Io(cause) => StoreError::Server(format!("no connection: {cause}")),
        sqlx::Error::Tls(cause) => StoreError::Server(format!("no secure connection: {cause}")),
        // A value that no statement of this store has written.
        unread @ (sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => {
            StoreError::Damaged(unread.to_string())
        }
        // Its text may contain a part of the address.
        sqlx::Error::Configuration(_) => {
            StoreError::Failed("the settings of the connection are not valid".to_owned())
        }
        other => StoreError::Failed(other.to_string()),
    }
}

/// Returns whether a different row already has this key.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

/// Returns whether the whole transaction failed, so that retrying its requests separately does not help.
pub(crate) fn fails_all(error: &StoreError) -> bool {
    !matches!(
        error,
        StoreError::NotFound { .. }
            | StoreError::Conflict(_)
            | StoreError::Moved { .. }
            | StoreError::Failed(_)
    )
}

/// Classifies an error by its code (https://www.postgresql.org/docs/current/errcodes-appendix.html).
fn from_code(code: &str, message: String) -> StoreError {
    match code {
        "53100" => StoreError::Full,
        // A standby server.
        "25006" => StoreError::ReadOnly(message),
        "42501" => StoreError::Denied(message),
        // What functions of the team's tables refuse.
        "BT010" => StoreError::Conflict(message),
        // A table or a column that the migrations created is missing.
        "42P01" | "42703" => StoreError::Damaged(message),
        // The server is stopping or starting, or this process had a transaction too long.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03" => StoreError::Server(message),
        // The statement took too long, another process had a lock too long, or two transactions were in each other's way.
        "57014" | "55P03" | "40001" | "40P01" => StoreError::Contended(message),
        // An unknown database.
        "3D000" => StoreError::Server(message),
        _ => match code.get(..2).unwrap_or_default() {
            "XX" if matches!(code, "XX001" | "XX002") => StoreError::Damaged(message),
            // The connection, the login, the server's resources, and its system.
            "08" | "28" | "53" | "58" => StoreError::Server(message),
            _ => StoreError::Failed(message),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_the_server_are_told_from_others() {
        let is = |code: &str| from_code(code, "why".to_owned());
        assert!(matches!(is("53100"), StoreError::Full));
        assert!(matches!(is("25006"), StoreError::ReadOnly(_)));
        assert!(matches!(is("42501"), StoreError::Denied(_)));
        for code in ["08006", "25P03", "28P01", "3D000", "53300", "57P01", "57P03", "58030"] {
            assert!(matches!(is(code), StoreError::Server(_)), "{code}");
        }
        for code in ["40001", "40P01", "55P03", "57014"] {
            assert!(matches!(is(code), StoreError::Contended(_)), "{code}");
        }
        for code in ["XX001", "XX002", "42P01"] {
            assert!(matches!(is(code), StoreError::Damaged(_)), "{code}");
        }
        for code in ["XX000", "23505", "22021", "42601", "", "5"] {
            assert!(matches!(is(code), StoreError::Failed(_)), "{code}");
        }
    }
}
