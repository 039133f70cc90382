use bethink_transcript::{CompactionId, Seq, SessionId, UnixMicros};

/// An `Idempotency-Key` with the fingerprint of the request that it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub key: String,
    /// Hash of method, path and body: the same key with another request is a conflict.
    pub fingerprint: String,
}

/// The answer that was given under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    pub fingerprint: String,
    pub answer: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    pub id: SessionId,
    pub project_dir: String,
    pub title: Option<String>,
    pub tags: Vec<String>,
    pub parent: Option<SessionId>,
    pub forked_at: Option<Seq>,
    /// JSON of the model that the session talks to.
    pub model: String,
    pub created_at: UnixMicros,
    /// Hash of the file that it is imported from.
    pub content_hash: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    pub session: Session,
    /// The receipt had been honoured before; `session` is the one made then.
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub project_dir: String,
    pub title: Option<String>,
    /// The title was given or changed by a person, so an export must carry it.
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

/// What is `Some` changes.
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
    pub project_dir: Option<String>,
    /// Part of the title or id, case-insensitive.
    pub q: Option<String>,
    pub tag: Option<String>,
    pub parent: Option<SessionId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: usize,
    /// As handed out; one that is not ours is `Conflict`.
    pub cursor: Option<String>,
}

/// A decision record: how something of the history is shown from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub id: i64,
    pub kind: String,
    /// JSON; its shape belongs to the engine that decided.
    pub data: String,
    /// Newest message when it was made.
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

#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    pub id: CompactionId,
    pub session: SessionId,
    pub trigger: String,
    pub level: String,
    pub first_seq: Seq,
    pub last_seq: Seq,
    pub kept_from: Seq,
    /// Newest message when it was made.
    pub made_after: Seq,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub summary: String,
    pub summary_tokens: u64,
    pub fidelity: f64,
    /// JSON: restored attachments, clips, fidelity detail.
    pub detail: String,
    pub created_at: UnixMicros,
    pub undone_at: Option<UnixMicros>,
}

/// A client that knows nothing of bethink has a session id of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSession {
    /// The client's name, such as `claude-code`: two clients may use the same id.
    pub client: String,
    pub key: String,
    pub session: SessionId,
}
