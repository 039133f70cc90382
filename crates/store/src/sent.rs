use bethink_transcript::{SessionId, UnixMicros};

use crate::error::StoreFuture;

/// Everything in the last request of each session except its messages.
pub trait SentRequestStore {
    /// Returns `None` if nothing is stored.
    fn sent_request(&self, id: SessionId) -> StoreFuture<'_, Option<StoredRequest>>;
    /// Replaces the system prompt, the tools and the parameters.
    fn put_sent_frame(&self, id: SessionId, frame: String, at: UnixMicros) -> StoreFuture<'_, ()>;
    /// Replaces the breakpoints.
    fn put_sent_marks(&self, id: SessionId, marks: String, at: UnixMicros) -> StoreFuture<'_, ()>;
}

/// A session's last request. The session service defines the format of both strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRequest {
    /// JSON with the system prompt, the tools and the parameters.
    pub frame: String,
    /// JSON of the breakpoints; `None` if none were stored.
    pub marks: Option<String>,
}
