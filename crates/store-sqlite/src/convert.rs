//! Between columns and the port's types.

use bethink_store::{Result, StoreError};
use bethink_transcript::{CollapseId, CompactionId, JobId, MessageId, Role, Seq, SessionId};
use uuid::Uuid;

pub(crate) fn not_found(what: &'static str, id: impl std::fmt::Display) -> StoreError {
    StoreError::NotFound { what, id: id.to_string() }
}

pub(crate) fn session_id(bytes: &[u8]) -> Result<SessionId> {
    uuid(bytes).map(SessionId)
}

pub(crate) fn compaction_id(bytes: &[u8]) -> Result<CompactionId> {
    uuid(bytes).map(CompactionId)
}

pub(crate) fn collapse_id(bytes: &[u8]) -> Result<CollapseId> {
    uuid(bytes).map(CollapseId)
}

pub(crate) fn job_id(bytes: &[u8]) -> Result<JobId> {
    uuid(bytes).map(JobId)
}

pub(crate) fn message_id(text: &str) -> Result<MessageId> {
    MessageId::new(text).map_err(|error| StoreError::Damaged(format!("a message id: {error}")))
}

/// Sequences are stored as SQLite's signed integers; one beyond them can't have been handed out.
pub(crate) fn seq_column(seq: Seq) -> i64 {
    integer(seq.0)
}

pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn seq(column: i64) -> Seq {
    Seq(unsigned(column))
}

pub(crate) fn unsigned(column: i64) -> u64 {
    u64::try_from(column).unwrap_or_default()
}

pub(crate) fn role_column(role: Role) -> i64 {
    match role {
        Role::User => 0,
        Role::Assistant => 1,
    }
}

pub(crate) fn role(column: i64) -> Result<Role> {
    match column {
        0 => Ok(Role::User),
        1 => Ok(Role::Assistant),
        other => Err(StoreError::Damaged(format!("a message has the role {other}"))),
    }
}

fn uuid(bytes: &[u8]) -> Result<Uuid> {
    Uuid::from_slice(bytes).map_err(|error| StoreError::Damaged(format!("an id: {error}")))
}
