//! What a model answered.

use bethink_transcript::{Block, BlockKind, TokenUsage, ToolUseId};

/// A whole answer. One that was cut off on the wire is an error, not a reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The provider's id of the message.
    pub id: String,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// In the shape of the Messages API, whatever the provider speaks; thinking with its signature as
    /// it came.
    pub content: Vec<Block>,
    pub stop: Stop,
    pub usage: TokenUsage,
    /// Figures were missing, negative or absurd: those in `usage` are bounded, and not to be learnt from.
    pub usage_doubtful: bool,
}

impl Reply {
    /// The readable text, blocks joined by line ends.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter(|block| block.kind == BlockKind::Text);
        texts.map(|block| block.text().into_owned()).collect::<Vec<_>>().join("\n")
    }

    /// Calls that it makes: id, tool, input as JSON.
    pub fn calls(&self) -> impl Iterator<Item = (&ToolUseId, &str, &str)> {
        self.content.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolUse { id, name } => Some((id, &**name, block.input())),
            _ => None,
        })
    }
}

/// Why the answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    /// The limit of output was reached; there is more to say.
    MaxTokens,
    StopSequence,
    ToolUse,
    /// The provider paused a long turn; the same prompt with this answer goes on.
    PauseTurn,
    Refusal,
    /// The window is full.
    WindowFull,
    Other(String),
}
