use bethink_transcript::{Seq, SessionId};

/// Marks of the beginnings of a session's history: the first is that of its first message, the second that of
/// its first two, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    pub session: SessionId,
    /// Whose requests are compared with it.
    pub scope: u64,
    pub marks: Vec<u128>,
}

/// A session that begins like a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relative {
    pub session: SessionId,
    /// So many of its messages.
    pub through: Seq,
    /// Its newest message; below `through` where marks were written and their messages were not.
    pub last_seq: Seq,
}
