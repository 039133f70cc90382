use bethink_api::MemoryAuthor;
pub use bethink_api::{CandidateState, MemoryKind};
use bethink_transcript::{MessageId, Seq, SessionId, UnixMicros};
use uuid::Uuid;

use crate::error::StoreFuture;

/// Candidates for memory. `put_extraction_plan` adds them in the transaction of their extraction.
pub trait CandidateStore {
    fn candidate(&self, id: Uuid) -> StoreFuture<'_, Option<StoredCandidate>>;
    /// Lists candidates, newest first.
    fn candidates(&self, filter: CandidateFilter) -> StoreFuture<'_, Vec<StoredCandidate>>;
    /// Returns how many candidates of a project were removed to stay within [`WAITING_CANDIDATES`].
    fn removed_candidates(&self, project_dir: String) -> StoreFuture<'_, u64>;
    /// Changes the decision and the offers of candidates; candidates that do not exist are ignored. In each project,
    /// only the newest [`DECIDED_CANDIDATES`] candidates that are no longer waiting are kept.
    fn update_candidates(&self, candidates: Vec<StoredCandidate>) -> StoreFuture<'_, ()>;
}

/// Maximum number of waiting candidates of a project. When there are more, the oldest are removed.
pub const WAITING_CANDIDATES: usize = 200;
/// Number of decided candidates that are kept per project, so that their statements are not offered again.
pub const DECIDED_CANDIDATES: usize = 1_000;

/// The candidates of an extraction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractedCandidates {
    /// New candidates. One that already exists is not changed.
    pub new: Vec<StoredCandidate>,
    /// Waiting candidates that this extraction decided on; see [`CandidateStore::update_candidates`].
    pub decided: Vec<StoredCandidate>,
    /// Waiting candidates that are replaced by better ones from the same session.
    pub replaced: Vec<Uuid>,
}

/// A statement that may be worth remembering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCandidate {
    pub id: Uuid,
    pub project_dir: String,
    pub session: SessionId,
    /// The message that contains the statement.
    pub seq: Seq,
    pub message: Option<MessageId>,
    /// The user's own words.
    pub sentence: String,
    /// The preceding sentence, by the assistant or the user.
    pub context: Option<String>,
    pub kind: MemoryKind,
    /// The rule that found the statement.
    pub rule: String,
    /// Ranks the candidates of a session.
    pub score: i64,
    pub said_at: UnixMicros,
    pub found_at: UnixMicros,
    pub state: CandidateState,
    pub decided_at: Option<UnixMicros>,
    pub decided_by: Option<MemoryAuthor>,
    /// Name of the topic that was written from the statement.
    pub topic: Option<String>,
    /// Conversations in which an agent was asked about the candidate.
    pub offers: Vec<String>,
}

/// Which candidates to list; all of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CandidateFilter {
    pub project_dir: Option<String>,
    pub session: Option<SessionId>,
    pub state: Option<CandidateState>,
}
