//! Statements with the port's types for parameters, columns and errors.

use bethink_api::{MemoryAuthor, MemoryKind, parse_word};
use bethink_store::{
    CandidateState, JobState, ProposalAuthor, ProposalState, StoreError, StoreResult,
};
use bethink_transcript::{
    CallId, CollapseId, CompactionId, JobId, MessageId, Role, Seq, SessionId, UnixMicros,
};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{ColumnIndex, Decode, Encode, Executor, Row as _, SqlSafeStr, Sqlite, Type};
use uuid::Uuid;

use crate::error::{from_sqlx, is_unique_violation};
use crate::record::Record;

pub(crate) struct Statement(Query<'static, Sqlite, SqliteArguments>);

pub(crate) fn sql(text: impl SqlSafeStr) -> Statement {
    Statement(sqlx::query(text))
}

impl Statement {
    pub(crate) fn bind(self, value: impl Column) -> Self {
        Self(self.0.bind(value.store()))
    }

    /// Binds the fields of a record.
    pub(crate) fn bind_all(self, record: impl Record) -> Self {
        record.bind(self)
    }

    /// Returns the number of changed rows.
    pub(crate) async fn run(self, db: impl Executor<'_, Database = Sqlite>) -> StoreResult<u64> {
        Ok(self.0.execute(db).await.map_err(from_sqlx)?.rows_affected())
    }

    /// Inserts a row; if the key exists, returns a `Conflict` with this message.
    pub(crate) async fn insert(
        self,
        db: impl Executor<'_, Database = Sqlite>,
        conflict: impl FnOnce() -> String,
    ) -> StoreResult<()> {
        match self.0.execute(db).await {
            Ok(_) => Ok(()),
            Err(error) if is_unique_violation(&error) => Err(StoreError::Conflict(conflict())),
            Err(error) => Err(from_sqlx(error)),
        }
    }

    pub(crate) async fn all<T>(
        self,
        db: impl Executor<'_, Database = Sqlite>,
        read: impl Fn(&Row) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        let rows = self.rows(db).await?;
        rows.iter().map(|row| row.verify().and_then(|()| read(row))).collect()
    }

    /// Returns rows that may be corrupted.
    pub(crate) async fn rows(
        self,
        db: impl Executor<'_, Database = Sqlite>,
    ) -> StoreResult<Vec<Row>> {
        let rows = self.0.fetch_all(db).await.map_err(from_sqlx)?;
        Ok(rows.into_iter().map(Row).collect())
    }

    pub(crate) async fn optional<T>(
        self,
        db: impl Executor<'_, Database = Sqlite>,
        read: impl FnOnce(&Row) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        let row = self.0.fetch_optional(db).await.map_err(from_sqlx)?.map(Row);
        row.map(|row| row.verify().and_then(|()| read(&row))).transpose()
    }

    /// Returns the first column of the only row.
    pub(crate) async fn value<T: Column>(
        self,
        db: impl Executor<'_, Database = Sqlite>,
    ) -> StoreResult<T> {
        Row(self.0.fetch_one(db).await.map_err(from_sqlx)?).get(0)
    }
}

pub(crate) struct Row(pub(crate) SqliteRow);

impl Row {
    pub(crate) fn get<T: Column>(&self, column: impl ColumnIndex<SqliteRow>) -> StoreResult<T> {
        T::read(self.0.try_get(column).map_err(from_sqlx)?)
    }

    /// Reads a JSON column; `what` names it in the error if it is invalid.
    pub(crate) fn json<T: DeserializeOwned>(
        &self,
        column: impl ColumnIndex<SqliteRow>,
        what: &str,
    ) -> StoreResult<T> {
        serde_json::from_str(&self.get::<String>(column)?)
            .map_err(|error| unreadable(format!("{what}: {error}")))
    }
}

/// A type of the port, and the SQLite type it is stored as.
pub(crate) trait Column: Sized {
    type Stored: Type<Sqlite>
        + for<'q> Encode<'q, Sqlite>
        + for<'r> Decode<'r, Sqlite>
        + Send
        + 'static;

    fn store(self) -> Self::Stored;
    fn read(stored: Self::Stored) -> StoreResult<Self>;
}

impl<T: Column> Column for Option<T> {
    type Stored = Option<T::Stored>;

    fn store(self) -> Self::Stored {
        self.map(T::store)
    }

    fn read(stored: Self::Stored) -> StoreResult<Self> {
        stored.map(T::read).transpose()
    }
}

/// One line per type: the type, the stored type, and the conversions.
macro_rules! columns {
    ($($type:ty, $stored:ty, $store:expr, $read:expr;)*) => {$(
        impl Column for $type {
            type Stored = $stored;

            fn store(self) -> $stored {
                let store: fn(Self) -> $stored = $store;
                store(self)
            }

            fn read(stored: $stored) -> StoreResult<Self> {
                let read: fn($stored) -> StoreResult<Self> = $read;
                read(stored)
            }
        }
    )*};
}

columns! {
    bool, bool, std::convert::identity, Ok;
    i64, i64, std::convert::identity, Ok;
    f64, f64, std::convert::identity, Ok;
    String, String, std::convert::identity, Ok;
    Vec<u8>, Vec<u8>, std::convert::identity, Ok;
    Bytes, Vec<u8>, Vec::from, |bytes| Ok(Bytes::from(bytes));
    u64, i64, integer, |column| Ok(unsigned(column));
    usize, i64, |number| integer(number as u64), |column| Ok(usize::try_from(column).unwrap_or_default());
    Seq, i64, |seq| integer(seq.0), |column| Ok(Seq(unsigned(column)));
    UnixMicros, i64, |at| at.0, |column| Ok(UnixMicros(column));
    MessageId, String, |id| id.as_str().to_owned(), |text| read_message_id(&text);
    Uuid, Vec<u8>, |id| id.as_bytes().to_vec(), |bytes| read_uuid(&bytes);
    SessionId, Vec<u8>, |id| id.0.store(), |bytes| read_uuid(&bytes).map(SessionId);
    CompactionId, Vec<u8>, |id| id.0.store(), |bytes| read_uuid(&bytes).map(CompactionId);
    CollapseId, Vec<u8>, |id| id.0.store(), |bytes| read_uuid(&bytes).map(CollapseId);
    JobId, Vec<u8>, |id| id.0.store(), |bytes| read_uuid(&bytes).map(JobId);
    CallId, Vec<u8>, |id| id.0.store(), |bytes| read_uuid(&bytes).map(CallId);
    Role, i64, |role| number_in(&ROLES, &role), |column| at(&ROLES, column, "a message has the unknown role");
    JobState, i64, |state| number_in(&JOB_STATES, &state), |column| at(&JOB_STATES, column, "a job has the unknown state");
    MemoryAuthor, String, |author| author.to_string(), |word| parse_word(&word).ok_or_else(|| unreadable(format!("a memory has the unknown author {word:?}")));
    MemoryKind, String, |kind| kind.to_string(), |word| parse_word(&word).ok_or_else(|| unreadable(format!("a candidate has the unknown type {word:?}")));
    CandidateState, i64, |state| number_in(&CANDIDATE_STATES, &state), |column| at(&CANDIDATE_STATES, column, "a candidate has the unknown state");
    ProposalAuthor, String, |author| author.to_string(), |word| parse_word(&word).ok_or_else(|| unreadable(format!("a proposal has the unknown author {word:?}")));
    ProposalState, i64, |state| number_in(&PROPOSAL_STATES, &state), |column| at(&PROPOSAL_STATES, column, "a proposal has the unknown state");
}

// Stored as the index in these arrays, so the order must not change.
const ROLES: [Role; 2] = [Role::User, Role::Assistant];
const JOB_STATES: [JobState; 4] =
    [JobState::Queued, JobState::Running, JobState::Done, JobState::Failed];
const CANDIDATE_STATES: [CandidateState; 3] =
    [CandidateState::Waiting, CandidateState::Kept, CandidateState::Dropped];
const PROPOSAL_STATES: [ProposalState; 3] =
    [ProposalState::Open, ProposalState::Approved, ProposalState::Rejected];

fn number_in<T: PartialEq>(all: &[T], one: &T) -> i64 {
    all.iter().zip(0..).find(|(other, _)| *other == one).map_or(-1, |(_, number)| number)
}

fn at<T: Copy>(all: &[T], column: i64, what: &str) -> StoreResult<T> {
    let found = usize::try_from(column).ok().and_then(|number| all.get(number).copied());
    found.ok_or_else(|| unreadable(format!("{what} {column}")))
}

/// Returns the error for a value that this version does not know. It is not reported as damage, because a recovery
/// would not change the value: only SQLite and the checksums detect damage.
pub(crate) fn unreadable(why: String) -> StoreError {
    StoreError::Failed(why)
}

fn read_message_id(text: &str) -> StoreResult<MessageId> {
    MessageId::new(text).map_err(|error| unreadable(format!("invalid message id: {error}")))
}

fn read_uuid(bytes: &[u8]) -> StoreResult<Uuid> {
    Uuid::from_slice(bytes).map_err(|error| unreadable(format!("invalid id: {error}")))
}

/// Converts an id to hexadecimal, for SQLite's `unhex`.
pub(crate) fn hex(id: SessionId) -> String {
    id.0.simple().to_string()
}

/// Converts a number to SQLite's signed integers. Larger numbers are never assigned.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(column: i64) -> u64 {
    u64::try_from(column).unwrap_or_default()
}

pub(crate) fn not_found(what: &'static str, id: impl std::fmt::Display) -> StoreError {
    StoreError::NotFound { what, id: id.to_string() }
}
