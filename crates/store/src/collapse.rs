use bethink_transcript::{CollapseId, Seq, SessionId, UnixMicros};

/// A span of a session and the text that stands for it, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collapse {
    pub id: CollapseId,
    pub session: SessionId,
    pub first_seq: Seq,
    pub last_seq: Seq,
    pub text: String,
    /// Of its messages as the prompt showed them, and of the text.
    pub tokens_before: u64,
    pub tokens: u64,
    /// Which strategy wrote the text.
    pub strategy: String,
    /// Newest message when the text was written.
    pub staged_after: Seq,
    pub staged_at: UnixMicros,
    /// Since when prompts show the text: newest message, and time. `None` while it is staged.
    pub committed: Option<(Seq, UnixMicros)>,
}

impl Collapse {
    /// As clients read it.
    pub fn state(&self) -> &'static str {
        if self.committed.is_some() { "committed" } else { "staged" }
    }
}
