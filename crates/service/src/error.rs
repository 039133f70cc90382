//! Errors of services, in terms that a caller can act on.

use std::path::Path;
use std::{fmt, io};

use bethink_api::{BothVersions, ContextReport};
use bethink_store::{StoreError, StoreResult};
use serde::Serialize;

pub type Result<T> = std::result::Result<T, ServiceError>;

/// The kinds of error. The server maps each to a status, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request breaks a rule; `field` says where.
    Invalid,
    NotFound,
    /// The state differs from what the request assumes.
    Conflict,
    /// The `If-Match` header no longer matches.
    Stale,
    /// The `Idempotency-Key` was already used for a different request.
    KeyReused,
    TooLarge,
    /// The context window is full of content that cannot be reduced.
    ContextOverflow,
    /// There is nothing to compact, or no compaction would help.
    NotCompactable,
    StorageFull,
    ReadOnly,
    /// The disk, a file or the database server failed; the request may succeed later.
    StorageFailed,
    /// Bytes in the database differ from what was written.
    StorageDamaged,
    ShuttingDown,
    /// Another machine did not respond, or refused access.
    Unreachable,
    /// An internal error.
    Internal,
}

impl ErrorKind {
    /// Returns whether the cause is the disk or its permissions, or the database server, so that the same request may succeed
    /// later.
    pub fn is_of_the_disk(self) -> bool {
        matches!(self, Self::StorageFull | Self::ReadOnly | Self::StorageFailed)
    }
}

/// Writes the stable name of the kind.
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What failed, in which field, which limit applies, and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct ServiceError {
    pub kind: ErrorKind,
    pub detail: String,
    pub field: Option<String>,
    pub limit: Option<u64>,
    pub actual: Option<u64>,
    pub hint: Option<String>,
    pub context: Option<Box<ContextReport>>,
    pub versions: Option<Box<BothVersions>>,
}

impl ServiceError {
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            field: None,
            limit: None,
            actual: None,
            hint: None,
            context: None,
            versions: None,
        }
    }

    pub fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::new(ErrorKind::Invalid, detail) }
    }

    /// Returns an error unless `dir` is an absolute path.
    pub fn check_project_dir(dir: &str) -> Result<()> {
        if Path::new(dir).is_absolute() && !dir.contains('\0') {
            return Ok(());
        }
        let detail = format!("{dir:?} is not an absolute path");
        Err(Self::invalid("project_dir", detail).hint("use the full path of the project"))
    }

    /// Returns the detail, with the field if the detail lacks a subject, as in "must not be empty".
    pub fn sentence(&self) -> String {
        const VERBS: [&str; 5] = ["must ", "is ", "has ", "needs ", "may "];
        match &self.field {
            Some(field) if VERBS.iter().any(|verb| self.detail.starts_with(verb)) => {
                format!("`{field}` {}", self.detail)
            }
            _ => self.detail.clone(),
        }
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, detail)
    }

    /// Returns an internal error. The server logs the cause and does not show it to the client.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Internal, cause.to_string())
    }

    /// Returns the error for one of bethink's own files: `failed` says what could not be done, and with which file.
    pub fn of_file(failed: impl fmt::Display, error: &io::Error) -> Self {
        let refusal = Self::from(StoreError::of_file(error));
        Self { detail: format!("{failed}: {error}"), ..refusal }
    }

    pub fn bounded(mut self, limit: u64, actual: u64) -> Self {
        self.limit = Some(limit);
        self.actual = Some(actual);
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Converts a store's error for a write with an `Idempotency-Key`.
pub fn key_reused(error: StoreError) -> ServiceError {
    match error {
        StoreError::Conflict(detail) => ServiceError::new(ErrorKind::KeyReused, detail)
            .hint("use a new Idempotency-Key for each request"),
        other => other.into(),
    }
}

/// Returns the store's answer, or `None` if the record does not exist.
pub fn if_found<T>(answer: StoreResult<T>) -> Result<Option<T>> {
    match answer {
        Err(StoreError::NotFound { .. }) => Ok(None),
        answer => Ok(Some(answer?)),
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        use StoreError as E;
        let detail = error.to_string();
        match error {
            E::NotFound { .. } => Self::new(ErrorKind::NotFound, detail),
            E::Conflict(_) | E::AlreadyStored(_) => Self::new(ErrorKind::Conflict, detail),
            E::Full => Self::new(ErrorKind::StorageFull, "the disk is full; reads still work")
                .hint("free some space, and writes will work again"),
            E::ReadOnly(_) => Self::new(ErrorKind::ReadOnly, detail)
                .hint("check the permissions of bethink's home directory, or of its user in the database"),
            E::Denied(_) => Self::new(ErrorKind::ReadOnly, detail)
                .hint("give bethink's user its rights in the database again"),
            E::Disk(_) => Self::new(ErrorKind::StorageFailed, detail)
                .hint("check the disk of bethink's home directory, then send the request again"),
            E::Server(_) | E::Contended(_) => Self::new(ErrorKind::StorageFailed, detail).hint(
                "check the database server and the connection to it, then send the request again",
            ),
            E::InUse(_) => Self::new(ErrorKind::StorageFailed, detail)
                .hint("stop the other daemon, then send the request again"),
            E::Moved { .. } => Self::new(ErrorKind::Conflict, detail)
                .hint("send the request again; this daemon then takes the session"),
            E::Closed => Self::new(ErrorKind::ShuttingDown, "the daemon is stopping"),
            E::Damaged(_) => Self::new(ErrorKind::StorageDamaged, detail).hint(
                "restart the daemon with `bethink down` and `bethink up`: it then copies an SQLite database and recovers the intact rows; \
                 restore a PostgreSQL database from a backup",
            ),
            E::Newer { .. } | E::Failed(_) => Self::new(ErrorKind::Internal, detail),
        }
    }
}
