//! The port through which the daemon keeps sessions: what a store promises, not how it keeps it.
//!
//! Promises that every implementation makes, and that the suite in `tests/store-conformance` checks:
//!
//! * What was answered is durable: it survives `kill -9` and power loss.
//! * History is append-only: no method changes or removes a stored message of a living session.
//! * `seq` is given by the store, from 1, without gaps, in order of commit.
//! * A message id is stored once a session; a [`Receipt`] is honoured once.
//! * An append is searchable when it is answered: what the index lacks is marked in the append's own
//!   transaction, and a search finishes the index first. That is two calls, `unindexed` and `index`,
//!   which the one who searches makes: only he can analyse a message. An import is marked likewise.
//! * The index holds nothing that history does not: it can be made anew at any time, and ranks nothing.
//! * Readers never wait for the writer.
//! * Every method is all or nothing.

mod call;
mod error;
mod gateway;
mod hook;
mod job;
mod memory;
mod message;
mod notes;
mod record;
mod search;
mod session;
mod team;

pub use bethink_api::MemorySource;
pub use call::{LedgerStore, MOST_OF_A_CALL, ModelCall, UsageFilter, UsageSum};
pub use error::{StoreError, StoreFuture, StoreResult};
pub use gateway::{ClientSession, GatewayStore, Lineage, Relative};
pub use hook::{DeliveredMemories, HookStore, TranscriptPosition};
pub use job::{JobOutcome, JobRecord, JobState, JobStore, Lease, NewJob, Progress};
pub use memory::{
    ExtractionPlan, LastDream, MemoryAuthor, MemoryStore, MemoryVersionFilter, NewMemoryVersion,
    PlannedWrite, RefusedStatement, VERSIONS_OF_A_FILE, VersionRecord,
};
pub use message::{Append, AppendResult, NewMessage, Receipt, SeqRange, StoredMessage, Terms};
pub use notes::{NotesRecord, NotesStore};
pub use record::{ImportBatch, ImportStore, NewRecord, StoredRecord};
pub use search::{
    Counts, Family, IndexBatch, IndexLookup, IndexStore, IndexedSession, Posting, SearchScope,
    TermPlaces,
};
pub use session::{
    CollapseRecord, CompactionRecord, Created, DecisionRecord, NewDecision, NewSession,
    PageRequest, SessionChange, SessionFilter, SessionRecord, SessionStore, StoredReceipt,
};
pub use team::{ProposalFilter, ProposalState, StoredProposal, TeamBase, TeamStore};

/// Where sessions live: one trait for each service.
pub trait Store:
    SessionStore
    + ImportStore
    + IndexStore
    + NotesStore
    + MemoryStore
    + TeamStore
    + HookStore
    + GatewayStore
    + LedgerStore
    + JobStore
    + Send
    + Sync
    + std::fmt::Debug
    + 'static
{
    /// Flushes what is pending and closes; later calls answer `Closed`.
    fn close(&self) -> StoreFuture<'_, ()>;
}
