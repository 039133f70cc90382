//! The port through which the daemon keeps sessions: what a store promises, not how it keeps it.
//!
//! Promises that every implementation makes, and that the `conformance` suite checks:
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
mod collapse;
mod error;
mod index;
mod job;
mod lineage;
mod memory;
mod message;
mod notes;
mod record;
mod search;
mod session;

#[cfg(feature = "conformance")]
pub mod conformance;

use std::future::Future;
use std::pin::Pin;

use bethink_transcript::{CompactionId, JobId, Seq, SessionId, UnixMicros};

pub use call::{MOST_OF_A_CALL, ModelCall, UsageFilter, UsageSum};
pub use collapse::Collapse;
pub use error::StoreError;
pub use index::IndexBatch;
pub use job::{Job, JobOutcome, JobState, Lease, NewJob, Progress};
pub use lineage::{Lineage, Relative};
pub use memory::{Kept, MemoryVersion, MemoryVersionFilter, NewMemoryVersion, VERSIONS_OF_A_FILE};
pub use message::{Append, Appended, NewMessage, SeqRange, StoredMessage, Terms};
pub use notes::Notes;
pub use record::{ImportBatch, ImportedMessage, NewRecord, Record};
pub use search::{Counts, Family, Found, IndexedSession, Lookup, Posting, Scope};
pub use session::{
    ClientSession, Compaction, Created, Decision, NewDecision, NewSession, Page, Receipt, Session,
    SessionChange, SessionFilter, StoredReceipt,
};

pub type Result<T> = std::result::Result<T, StoreError>;
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Where sessions live.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    // sessions
    fn create_session(&self, new: NewSession, receipt: Option<Receipt>) -> Reply<'_, Created>;
    /// A deleted session is `NotFound`.
    fn session(&self, id: SessionId) -> Reply<'_, Session>;
    /// Newest first, by `updated_at` then id.
    fn sessions(
        &self,
        filter: SessionFilter,
        page: Page,
    ) -> Reply<'_, (Vec<Session>, Option<String>)>;
    fn update_session(&self, id: SessionId, change: SessionChange) -> Reply<'_, Session>;
    /// Removes the session with its messages, records, decisions, compactions, collapsed spans, notes,
    /// index entries and the ids that clients know it by.
    /// What models were paid for it stays.
    fn delete_session(&self, id: SessionId) -> Reply<'_, ()>;
    /// Distinct project directories with the number of their sessions, in order of name.
    fn projects(&self) -> Reply<'_, Vec<(String, u64)>>;

    // history
    /// Concurrent appends, of one session or many, share a commit.
    fn append(&self, append: Append) -> Reply<'_, Appended>;
    /// In ascending order of seq.
    fn messages(&self, id: SessionId, range: SeqRange) -> Reply<'_, Vec<StoredMessage>>;
    /// Those of the messages asked for that are there, in the order asked.
    fn messages_at(
        &self,
        places: Vec<(SessionId, Seq)>,
    ) -> Reply<'_, Vec<(SessionId, StoredMessage)>>;

    // decisions and compactions
    fn decisions(&self, id: SessionId) -> Reply<'_, Vec<Decision>>;
    fn add_decisions(&self, id: SessionId, new: Vec<NewDecision>) -> Reply<'_, ()>;
    /// Oldest first, undone ones included.
    fn compactions(&self, id: SessionId) -> Reply<'_, Vec<Compaction>>;
    /// One transaction: the boundary with all that belongs to it, and the decisions made with it.
    fn add_compaction(&self, compaction: Compaction, with: Vec<NewDecision>) -> Reply<'_, ()>;
    /// Undoing what is undone changes nothing and answers the same.
    fn undo_compaction(
        &self,
        session: SessionId,
        id: CompactionId,
        at: UnixMicros,
    ) -> Reply<'_, Compaction>;

    // collapsed spans
    /// In order of their messages, staged and committed.
    fn collapses(&self, id: SessionId) -> Reply<'_, Vec<Collapse>>;
    /// One transaction: the spans, new or newly committed, and the decisions that show them. Of a span
    /// that is there only the commit is taken. Staged spans that share a message with a new one go; a
    /// committed one is `Conflict`.
    fn put_collapses(
        &self,
        id: SessionId,
        spans: Vec<Collapse>,
        with: Vec<NewDecision>,
    ) -> Reply<'_, ()>;

    // sessions of clients
    /// Which session a client means by an id of its own; `None` once that session is deleted.
    fn client_session(&self, client: String, key: String) -> Reply<'_, Option<SessionId>>;
    /// Replaces what the client meant by it before.
    fn put_client_session(&self, known: ClientSession) -> Reply<'_, ()>;

    // what clients send again
    /// One transaction: a new session, the marks of what is about to be appended to it, and the client that means it.
    fn begin_session(
        &self,
        new: NewSession,
        lineage: Lineage,
        known: Option<ClientSession>,
    ) -> Reply<'_, ()>;
    /// Writes down the marks of a session's beginnings that are longer than `after`, in place of those that
    /// stand there.
    fn put_lineage(&self, lineage: Lineage, after: Seq) -> Reply<'_, ()>;
    /// All of them; `None` where there is none.
    fn lineage(&self, id: SessionId) -> Reply<'_, Option<Lineage>>;
    /// Sessions of the scope that have the longest of these beginnings, given from the shortest on: whole
    /// histories first, then the newest; some of them, where they are many.
    fn relatives(&self, scope: u64, marks: Vec<u128>) -> Reply<'_, Vec<Relative>>;

    /// Scope and mark of every session's first message.
    fn beginnings(&self) -> Reply<'_, Vec<(u64, u128)>>;

    // notes
    /// What is known of a session's notes; `None` before the first.
    fn notes(&self, id: SessionId) -> Reply<'_, Option<Notes>>;
    /// Replaces them whole.
    fn put_notes(&self, notes: Notes) -> Reply<'_, ()>;

    // calls of models
    /// Writes down a call; of a session that is gone, too. The same id again is `Conflict`.
    fn add_model_call(&self, call: ModelCall) -> Reply<'_, ()>;
    /// Sums of calls, those with the newest call first.
    fn model_usage(&self, filter: UsageFilter) -> Reply<'_, Vec<UsageSum>>;

    // memory files, and what features remember
    /// One transaction. The newest [`VERSIONS_OF_A_FILE`] of each file stay. Versions outlive the session that they came from.
    fn add_memory_versions(&self, versions: Vec<NewMemoryVersion>) -> Reply<'_, ()>;
    /// Newest first, without their contents.
    fn memory_versions(&self, filter: MemoryVersionFilter) -> Reply<'_, Vec<MemoryVersion>>;
    fn memory_content(&self, number: i64) -> Reply<'_, Option<NewMemoryVersion>>;
    /// Puts it in place of what is kept under the same space, owner and key.
    fn keep(&self, kept: Kept) -> Reply<'_, ()>;
    /// In order of key.
    fn kept(&self, space: String, owner: String) -> Reply<'_, Vec<Kept>>;
    /// Whether there was something to forget.
    fn forget_kept(&self, space: String, owner: String, key: String) -> Reply<'_, bool>;

    // records of imported files
    /// One transaction: the records, the messages among them, and the job's progress.
    fn import(&self, batch: ImportBatch) -> Reply<'_, ()>;
    /// Records of an imported session from `after_line` on, in order of line.
    fn records(&self, id: SessionId, after_line: u64, limit: usize) -> Reply<'_, Vec<Record>>;
    /// The session that was imported from a file with this content hash, if it still lives.
    fn imported(&self, content_hash: &str) -> Reply<'_, Option<SessionId>>;

    // the index, made after the messages
    /// The end of the history that is not indexed yet, without a limit.
    fn unindexed(&self, id: SessionId) -> Reply<'_, Option<SeqRange>>;
    /// Sessions that have such an end, at most so many.
    fn lagging(&self, limit: usize) -> Reply<'_, Vec<SessionId>>;
    /// One transaction: the entries, and the mark. Done twice it is done once. Answers whether
    /// [`tidy`](Self::tidy) has something to do.
    fn index(&self, batch: IndexBatch) -> Reply<'_, bool>;
    /// Where terms stand, in what is indexed: the answer tells what is not.
    fn lookup(&self, lookup: Lookup) -> Reply<'_, Found>;
    /// Forgets what is indexed of a session: all of it is to be indexed again.
    fn reindex(&self, id: SessionId) -> Reply<'_, ()>;
    /// One step of keeping the index quick to read, in transactions of a few milliseconds. Answers
    /// whether there is more to do. Broken off, it is begun again.
    fn tidy(&self) -> Reply<'_, bool>;

    // jobs
    fn enqueue(&self, new: NewJob) -> Reply<'_, ()>;
    fn job(&self, id: JobId) -> Reply<'_, Job>;
    /// The newest, at most so many.
    fn jobs(&self, limit: usize) -> Reply<'_, Vec<Job>>;
    /// Takes the oldest job that is queued, or whose lease ran out before `now`; one in the background
    /// only if asked for, and when there is no other.
    fn lease(&self, lease: Lease) -> Reply<'_, Option<Job>>;
    /// Extends the lease and notes progress. `Conflict` if another owner has it.
    fn heartbeat(&self, id: JobId, lease: Lease, progress: Progress) -> Reply<'_, ()>;
    fn finish(
        &self,
        id: JobId,
        owner: String,
        outcome: JobOutcome,
        at: UnixMicros,
    ) -> Reply<'_, ()>;
    /// Hands unfinished work of this owner back, so that the next daemon need not wait for a lease.
    fn release(&self, owner: String) -> Reply<'_, ()>;

    // idempotency of what is neither an append nor a new session
    fn receipt(&self, key: String) -> Reply<'_, Option<StoredReceipt>>;
    fn put_receipt(&self, receipt: Receipt, answer: String, at: UnixMicros) -> Reply<'_, ()>;

    /// Flushes what is pending and closes; later calls answer `Closed`.
    fn close(&self) -> Reply<'_, ()>;
}
