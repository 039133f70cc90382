//! The port through which the daemon stores sessions.
//!
//! Every implementation guarantees the following, which the suite in `tests/store-conformance` checks:
//!
//! * Acknowledged writes are durable: they survive `kill -9` and power loss.
//! * History is append-only: no method changes or removes a stored message of an existing session.
//! * The store assigns `seq`: from 1, without gaps, in commit order.
//! * A message id is stored once per session; a [`Receipt`] is applied once.
//! * An append or an import is searchable as soon as it is acknowledged: its transaction records what is not indexed yet,
//!   and a search finishes the index first. The search service does that with `unindexed` and `index`, because only it
//!   can analyze messages.
//! * The index contains nothing that is not in history, so it can be rebuilt at any time. The index does no ranking.
//! * Readers never wait for the writer.
//! * Every method is atomic.

mod call;
mod candidate;
mod error;
mod gateway;
mod health;
mod hook;
mod job;
mod memory;
mod message;
mod notes;
mod peer;
mod project;
mod record;
mod recording;
mod search;
mod sent;
mod session;
mod synced;
mod team;
mod team_history;

pub use bethink_api::MemorySource;
pub use call::{LedgerStore, MOST_OF_A_CALL, ModelCall, UsageFilter, UsageSum};
pub use candidate::{
    CandidateFilter, CandidateState, CandidateStore, DECIDED_CANDIDATES, ExtractedCandidates,
    MemoryKind, StoredCandidate, WAITING_CANDIDATES,
};
pub use error::{StoreError, StoreFuture, StoreResult};
pub use gateway::{ClientSession, GatewayStore, Lineage, Relative};
pub use health::{CheckStore, Damage, HealthStore, OpenReport, RecoveredTable};
pub use hook::{DeliveredMemories, HookStore, TranscriptPlace, TranscriptPosition};
pub use job::{JobOutcome, JobRecord, JobState, JobStore, Lease, NewJob, Progress};
pub use memory::{
    ExtractionPlan, LastDream, MemoryAuthor, MemoryStore, MemoryVersionFilter, NewMemoryVersion,
    PlannedWrite, RefusedStatement, SecretAllowance, TopicVectors, VERSIONS_OF_A_FILE,
    VersionRecord,
};
pub use message::{Append, AppendResult, NewMessage, Receipt, SeqRange, StoredMessage, Terms};
pub use notes::{NotesRecord, NotesStore};
pub use peer::{MAX_PEER_TEXT, PeerNews, PeerStore};
pub use project::ProjectStore;
pub use record::{ImportBatch, ImportStore, NewRecord, StoredRecord};
pub use recording::{PauseRecord, RecordingStore};
pub use search::{
    Counts, Family, IndexBatch, IndexLookup, IndexStore, IndexedSession, Posting, SearchScope,
    TermPlaces,
};
pub use sent::{SentRequestStore, StoredRequest};
pub use session::{
    CollapseRecord, CompactionRecord, Created, DecisionRecord, NewDecision, NewSession,
    PageRequest, SessionChange, SessionFilter, SessionLocation, SessionRecord, SessionStore,
    StoredReceipt,
};
pub use synced::{DirectoryRevision, SyncedChange, SyncedDirectory, SyncedFile, SyncedMemoryStore};
pub use team::{
    ProposalAuthor, ProposalFilter, ProposalState, StoredProposal, TeamBase, TeamStore,
};
pub use team_history::{
    CopiedBatch, CopiedExtent, CopiedMessage, SharedProject, StoredTeamProject, StoredTeamSession,
    TeamHistoryStore, TeamRole, TeamScope, TeamTables,
};

/// The storage of sessions, with one trait for each service, and three for the daemon.
pub trait Store:
    SessionStore
    + ImportStore
    + IndexStore
    + NotesStore
    + MemoryStore
    + CandidateStore
    + TeamStore
    + ProjectStore
    + HookStore
    + RecordingStore
    + GatewayStore
    + SentRequestStore
    + LedgerStore
    + JobStore
    + HealthStore
    + CheckStore
    + PeerStore
    + SyncedMemoryStore
    + TeamHistoryStore
    + Send
    + Sync
    + std::fmt::Debug
    + 'static
{
    /// Finishes pending writes and closes the store; later calls return `Closed`.
    fn close(&self) -> StoreFuture<'_, ()>;
}
