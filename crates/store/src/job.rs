use bethink_transcript::{JobId, SessionId, UnixMicros};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
    pub unit: String,
    /// JSON that the work needs to go on from here after a crash.
    pub watermark: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub id: JobId,
    pub kind: String,
    pub session: Option<SessionId>,
    /// JSON.
    pub payload: String,
    /// Nobody waits for it: all other work goes first.
    pub background: bool,
    pub created_at: UnixMicros,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    Queued,
    Running,
    Done,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub kind: String,
    pub session: Option<SessionId>,
    pub payload: String,
    pub state: JobState,
    pub owner: Option<String>,
    /// How often it has been leased.
    pub attempts: u64,
    pub progress: Progress,
    /// JSON, when done.
    pub result: Option<String>,
    pub error: Option<String>,
    pub created_at: UnixMicros,
    pub updated_at: UnixMicros,
}

/// Who works on it, and until when without a sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub owner: String,
    /// Also work in the background, if there is no other.
    pub background: bool,
    pub now: UnixMicros,
    pub until: UnixMicros,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// JSON.
    Done(String),
    Failed(String),
}
