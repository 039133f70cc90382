use bethink_api::CollapseState;
use bethink_transcript::{CollapseId, CompactionId, Seq, SessionId, UnixMicros};
use serde::{Deserialize, Serialize};

use crate::error::StoreFuture;
use crate::message::{Append, AppendResult, Receipt, SeqRange, StoredMessage};

/// Sessions, their history, and the decisions on how prompts show it.
pub trait SessionStore {
    // sessions
    fn create_session(&self, new: NewSession, receipt: Option<Receipt>)
    -> StoreFuture<'_, Created>;
    /// Returns `NotFound` for a deleted session.
    fn session(&self, id: SessionId) -> StoreFuture<'_, SessionRecord>;
    /// Lists sessions, newest first by `updated_at`, then by id.
    fn sessions(
        &self,
        filter: SessionFilter,
        page: PageRequest,
    ) -> StoreFuture<'_, (Vec<SessionRecord>, Option<String>)>;
    fn update_session(
        &self,
        id: SessionId,
        change: SessionChange,
    ) -> StoreFuture<'_, SessionRecord>;
    /// Removes the session with its messages, records, decisions, compactions, collapsed spans, notes, last request, index
    /// entries, lineage, extraction mark and plan, candidates, transcript positions and client ids. Its rows in the ledger
    /// stay.
    fn delete_session(&self, id: SessionId) -> StoreFuture<'_, ()>;
    /// Returns all project directories with their number of sessions, sorted by name.
    fn projects(&self) -> StoreFuture<'_, Vec<(String, u64)>>;

    // history
    /// Appends messages. Concurrent appends, of one session or many, share a commit.
    fn append(&self, append: Append) -> StoreFuture<'_, AppendResult>;
    /// Returns messages in ascending order of seq.
    fn messages(&self, id: SessionId, range: SeqRange) -> StoreFuture<'_, Vec<StoredMessage>>;
    /// Returns those of the requested messages that exist, in the order of the request.
    fn messages_at(
        &self,
        places: Vec<(SessionId, Seq)>,
    ) -> StoreFuture<'_, Vec<(SessionId, StoredMessage)>>;

    // decisions and compactions
    fn decisions(&self, id: SessionId) -> StoreFuture<'_, Vec<DecisionRecord>>;
    fn add_decisions(&self, id: SessionId, new: Vec<NewDecision>) -> StoreFuture<'_, ()>;
    /// Lists compactions, oldest first, including undone ones.
    fn compactions(&self, id: SessionId) -> StoreFuture<'_, Vec<CompactionRecord>>;
    /// Stores a compaction and the decisions made with it, in one transaction.
    fn add_compaction(
        &self,
        compaction: CompactionRecord,
        with: Vec<NewDecision>,
    ) -> StoreFuture<'_, ()>;
    /// Undoes a compaction and stores the decisions that record this, in one transaction. Undoing it again changes nothing
    /// and returns the same record.
    fn undo_compaction(
        &self,
        session: SessionId,
        id: CompactionId,
        at: UnixMicros,
        with: Vec<NewDecision>,
    ) -> StoreFuture<'_, CompactionRecord>;

    // collapsed spans
    /// Lists staged and committed spans, in order of their messages.
    fn collapses(&self, id: SessionId) -> StoreFuture<'_, Vec<CollapseRecord>>;
    /// Stores new or newly committed spans and the decisions that show them, in one transaction. For an existing span,
    /// only its commit is updated. Staged spans that overlap a new one are removed; an overlapping committed one is a
    /// `Conflict`.
    fn put_collapses(
        &self,
        id: SessionId,
        spans: Vec<CollapseRecord>,
        with: Vec<NewDecision>,
    ) -> StoreFuture<'_, ()>;

    // idempotency of requests other than appends and new sessions
    fn receipt(&self, key: String) -> StoreFuture<'_, Option<StoredReceipt>>;
    fn put_receipt(&self, receipt: Receipt, answer: String, at: UnixMicros) -> StoreFuture<'_, ()>;
}

/// The answer stored for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    pub fingerprint: String,
    pub answer: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    pub id: SessionId,
    pub project_dir: String,
    /// The key of the project that the directory belongs to, if it is known.
    pub project: Option<String>,
    pub title: Option<String>,
    pub tags: Vec<String>,
    pub parent: Option<SessionId>,
    pub forked_at: Option<Seq>,
    /// JSON of the session's model.
    pub model: String,
    pub created_at: UnixMicros,
    /// Hash of the imported file.
    pub content_hash: Option<String>,
}

impl NewSession {
    /// Creates the data of a session without a parent or a title.
    pub fn new(id: SessionId, project_dir: String, model: String, created_at: UnixMicros) -> Self {
        let (title, tags, parent) = (None, Vec::new(), None);
        let (project, forked_at, content_hash) = (None, None, None);
        Self {
            id,
            project_dir,
            project,
            title,
            tags,
            parent,
            forked_at,
            model,
            created_at,
            content_hash,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    pub session: SessionRecord,
    /// The receipt was used before, and `session` was created then.
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    pub id: SessionId,
    pub project_dir: String,
    pub project: Option<String>,
    pub title: Option<String>,
    /// The title was set by a person, so an export must include it.
    pub titled: bool,
    pub tags: Vec<String>,
    pub parent: Option<SessionId>,
    pub forked_at: Option<Seq>,
    pub model: String,
    /// JSON of what must survive a compaction (plan, skills, agents, …); `{}` at first.
    pub state: String,
    pub content_hash: Option<String>,
    pub last_seq: Seq,
    pub created_at: UnixMicros,
    pub updated_at: UnixMicros,
}

/// Changes the fields that are `Some`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChange {
    pub title: Option<String>,
    /// Sets [`Session::titled`].
    pub titled: Option<bool>,
    pub tags: Option<Vec<String>>,
    pub model: Option<String>,
    pub state: Option<String>,
    pub updated_at: UnixMicros,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    pub location: Option<SessionLocation>,
    /// Part of the title or id, case-insensitive.
    pub q: Option<String>,
    pub tag: Option<String>,
    pub parent: Option<SessionId>,
}

/// Where sessions began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLocation {
    pub dir: String,
    /// Keys of the project of `dir` and of its clones. Sessions in `dir` with another key are left out. `None`: the project is not known,
    /// and all sessions in `dir` match.
    pub project_keys: Option<Vec<String>>,
    /// Only sessions that began in `dir` itself.
    pub exact_dir: bool,
}

impl SessionLocation {
    /// Exactly this directory, whatever its project is.
    pub fn directory(dir: impl Into<String>) -> Self {
        Self { dir: dir.into(), project_keys: None, exact_dir: true }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    pub limit: usize,
    /// A cursor from a previous page; an invalid one is a `Conflict`.
    pub cursor: Option<String>,
}

/// A decision about how prompts show part of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRecord {
    pub id: i64,
    pub kind: String,
    /// JSON in the format of the engine that decided.
    pub data: String,
    /// The newest message when the decision was made.
    pub made_after: Seq,
    pub created_at: UnixMicros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDecision {
    pub kind: String,
    pub data: String,
    pub made_after: Seq,
    pub created_at: UnixMicros,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionRecord {
    pub id: CompactionId,
    pub session: SessionId,
    pub trigger: String,
    pub level: String,
    pub first_seq: Seq,
    pub last_seq: Seq,
    pub kept_from: Seq,
    /// The newest message when the compaction was made.
    pub made_after: Seq,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub summary: String,
    pub summary_tokens: u64,
    pub fidelity: f64,
    /// JSON of the details that have no column of their own, such as the restored items and the lost names.
    pub detail: String,
    pub created_at: UnixMicros,
    pub undone_at: Option<UnixMicros>,
}

/// A span of a session, and the text that replaces it in prompts once it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollapseRecord {
    pub id: CollapseId,
    pub session: SessionId,
    pub first_seq: Seq,
    pub last_seq: Seq,
    pub text: String,
    /// Number of tokens that the span's messages took in the prompt.
    pub tokens_before: u64,
    /// Number of tokens in the text.
    pub tokens: u64,
    /// Which strategy wrote the text.
    pub strategy: String,
    /// Newest message when the text was written.
    pub staged_after: Seq,
    pub staged_at: UnixMicros,
    /// When prompts began to show the text: the newest message then, and the time. `None` while the span is staged.
    pub committed: Option<(Seq, UnixMicros)>,
}

impl CollapseRecord {
    /// Returns the state that clients see.
    pub fn state(&self) -> CollapseState {
        if self.committed.is_some() { CollapseState::Committed } else { CollapseState::Staged }
    }
}
