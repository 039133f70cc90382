//! Which database types hold the port's types.

use bethink_store::{CandidateState, JobState, ProposalState, StoreError, StoreResult};
use bethink_transcript::{MessageId, Role};
use serde::Deserialize;

/// Implements the trait `Column` of the calling module for the port's types, one line per type: the type, the type that
/// it is stored as, and the conversions. The module implements the trait for `String` and `Uuid` itself.
#[macro_export]
macro_rules! columns {
    () => {
        impl<T: Column> Column for Option<T> {
            type Stored = Option<T::Stored>;

            fn store(self) -> Self::Stored {
                self.map(T::store)
            }

            fn read(stored: Self::Stored) -> ::bethink_store::StoreResult<Self> {
                stored.map(T::read).transpose()
            }
        }

        $crate::columns! { @each
            bool, bool, std::convert::identity, Ok;
            i64, i64, std::convert::identity, Ok;
            f64, f64, std::convert::identity, Ok;
            Vec<u8>, Vec<u8>, std::convert::identity, Ok;
            ::bytes::Bytes, Vec<u8>, Vec::from, |bytes| Ok(::bytes::Bytes::from(bytes));
            u64, i64, $crate::integer, |column| Ok($crate::unsigned(column));
            usize, i64, |number| $crate::integer(number as u64), |column| Ok(usize::try_from(column).unwrap_or_default());
            ::bethink_transcript::Seq, i64, |seq| $crate::integer(seq.0), |column| Ok(::bethink_transcript::Seq($crate::unsigned(column)));
            ::bethink_transcript::UnixMicros, i64, |at| at.0, |column| Ok(::bethink_transcript::UnixMicros(column));
            ::bethink_transcript::MessageId, String, |id| id.as_str().to_owned(), |text| $crate::read_message_id(&text);
            ::bethink_transcript::SessionId, <::uuid::Uuid as Column>::Stored, |id| id.0.store(), |stored| <::uuid::Uuid as Column>::read(stored).map(::bethink_transcript::SessionId);
            ::bethink_transcript::CompactionId, <::uuid::Uuid as Column>::Stored, |id| id.0.store(), |stored| <::uuid::Uuid as Column>::read(stored).map(::bethink_transcript::CompactionId);
            ::bethink_transcript::CollapseId, <::uuid::Uuid as Column>::Stored, |id| id.0.store(), |stored| <::uuid::Uuid as Column>::read(stored).map(::bethink_transcript::CollapseId);
            ::bethink_transcript::JobId, <::uuid::Uuid as Column>::Stored, |id| id.0.store(), |stored| <::uuid::Uuid as Column>::read(stored).map(::bethink_transcript::JobId);
            ::bethink_transcript::CallId, <::uuid::Uuid as Column>::Stored, |id| id.0.store(), |stored| <::uuid::Uuid as Column>::read(stored).map(::bethink_transcript::CallId);
            ::bethink_transcript::Role, i64, |role| $crate::number_in(&$crate::ROLES, &role), |column| $crate::at(&$crate::ROLES, column, "a message has the unknown role");
            ::bethink_store::JobState, i64, |state| $crate::number_in(&$crate::JOB_STATES, &state), |column| $crate::at(&$crate::JOB_STATES, column, "a job has the unknown state");
            ::bethink_store::CandidateState, i64, |state| $crate::number_in(&$crate::CANDIDATE_STATES, &state), |column| $crate::at(&$crate::CANDIDATE_STATES, column, "a candidate has the unknown state");
            ::bethink_store::ProposalState, i64, |state| $crate::number_in(&$crate::PROPOSAL_STATES, &state), |column| $crate::at(&$crate::PROPOSAL_STATES, column, "a proposal has the unknown state");
            ::bethink_store::MemoryAuthor, String, |author| author.to_string(), |text| $crate::word(&text, "a memory has the unknown author");
            ::bethink_store::MemoryKind, String, |kind| kind.to_string(), |text| $crate::word(&text, "a candidate has the unknown type");
            ::bethink_store::TeamRole, String, |role| role.to_string(), |text| $crate::word(&text, "a member has the unknown role");
            ::bethink_store::ProposalAuthor, String, |author| author.to_string(), |text| $crate::word(&text, "a proposal has the unknown author");
        }
    };
    (@each $($type:ty, $stored:ty, $store:expr, $read:expr;)*) => {$(
        impl Column for $type {
            type Stored = $stored;

            fn store(self) -> $stored {
                let store: fn(Self) -> $stored = $store;
                store(self)
            }

            fn read(stored: $stored) -> ::bethink_store::StoreResult<Self> {
                let read: fn($stored) -> ::bethink_store::StoreResult<Self> = $read;
                read(stored)
            }
        }
    )*};
}

// Stored as the index in these arrays, so the order must not change.
pub const ROLES: [Role; 2] = [Role::User, Role::Assistant];
pub const JOB_STATES: [JobState; 4] =
    [JobState::Queued, JobState::Running, JobState::Done, JobState::Failed];
pub const CANDIDATE_STATES: [CandidateState; 3] =
    [CandidateState::Waiting, CandidateState::Kept, CandidateState::Dropped];
pub const PROPOSAL_STATES: [ProposalState; 3] =
    [ProposalState::Open, ProposalState::Approved, ProposalState::Rejected];

/// Returns the number under which a value of a closed set is stored.
pub fn number_in<T: PartialEq>(all: &[T], one: &T) -> i64 {
    all.iter().zip(0..).find(|(other, _)| *other == one).map_or(-1, |(_, number)| number)
}

/// Returns the value that is stored under a number.
pub fn at<T: Copy>(all: &[T], column: i64, what: &str) -> StoreResult<T> {
    let found = usize::try_from(column).ok().and_then(|number| all.get(number).copied());
    found.ok_or_else(|| unreadable(format!("{what} {column}")))
}

/// Reads a value of a closed set from the word that clients see.
pub fn word<'de, T: Deserialize<'de>>(word: &'de str, what: &str) -> StoreResult<T> {
    bethink_api::parse_word(word).ok_or_else(|| unreadable(format!("{what} {word:?}")))
}

/// Returns the error for a value that this version does not know. It is not reported as damage, because a recovery
/// would not change the value: only the database and the checksums detect damage.
pub fn unreadable(why: String) -> StoreError {
    StoreError::Failed(why)
}

pub fn read_message_id(text: &str) -> StoreResult<MessageId> {
    MessageId::new(text).map_err(|error| unreadable(format!("invalid message id: {error}")))
}

/// Reads a mark of a conversation that is not recorded.
pub fn read_mark(text: &str) -> StoreResult<u128> {
    u128::from_str_radix(text, 16).map_err(|_| {
        unreadable(
            "a `mark` in the `unrecorded_marks` table does not consist of 32 hexadecimal digits"
                .to_owned(),
        )
    })
}

/// Converts a number to the signed integers of databases. Larger numbers are never assigned.
pub fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub fn unsigned(column: i64) -> u64 {
    u64::try_from(column).unwrap_or_default()
}

pub fn not_found(what: &'static str, id: impl std::fmt::Display) -> StoreError {
    StoreError::NotFound { what, id: id.to_string() }
}
