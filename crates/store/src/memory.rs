use bethink_transcript::{SessionId, UnixMicros};
use bytes::Bytes;

/// Versions kept of one file, at least; older ones go. Somebody who saves every minute of a working day has them
/// for a month.
pub const VERSIONS_OF_A_FILE: usize = 10_000;

/// What a memory file held at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemoryVersion {
    /// Project and scope, as the daemon names its directories.
    pub directory: String,
    pub file: String,
    /// Of the content; empty where the file was removed.
    pub hash: String,
    /// `None`: the file was removed.
    pub content: Option<Bytes>,
    /// `person`, `agent`, `extraction`, `dream`, `sync`, `restore`, or `found` for what stood there before.
    pub author: String,
    /// The session that it came from.
    pub session: Option<SessionId>,
    /// Why, in words; may be empty.
    pub note: String,
    pub at: UnixMicros,
}

/// A version without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryVersion {
    /// In order of time, over all files.
    pub number: i64,
    pub directory: String,
    pub file: String,
    pub hash: String,
    /// `None`: the file was removed.
    pub bytes: Option<u64>,
    pub author: String,
    pub session: Option<SessionId>,
    pub note: String,
    pub at: UnixMicros,
}

/// Which versions to list, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryVersionFilter {
    pub directory: String,
    /// `None`: of all files.
    pub file: Option<String>,
    pub session: Option<SessionId>,
    /// Only those with smaller numbers.
    pub before: Option<i64>,
    pub limit: usize,
}

/// Something small that a feature remembers, replaced whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Whose kind of thing it is: `import_approval`, `refused_memory`, `proposal`, …
    pub space: String,
    /// A project's key or a session's id.
    pub owner: String,
    pub key: String,
    /// JSON; its shape belongs to the feature.
    pub value: String,
    pub at: UnixMicros,
}
