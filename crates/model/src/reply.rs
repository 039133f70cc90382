//! A model's answer.

use bethink_transcript::{Block, BlockKind, TokenUsage, ToolUseId};

/// A complete answer. One that was cut off on the wire is an error, not a reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The provider's id of the message.
    pub id: String,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// In the shape of the Messages API, whatever the provider's format; thinking keeps its signature.
    pub content: Vec<Block>,
    pub stop: Stop,
    pub usage: TokenUsage,
    /// Figures were missing, negative or implausible: those in `usage` are bounded, and must not be learned from.
    pub usage_doubtful: bool,
}

impl Reply {
    /// The readable text, blocks joined by line ends.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter(|block| block.kind == BlockKind::Text);
        texts.map(|block| block.text().into_owned()).collect::<Vec<_>>().join("\n")
    }

    /// Its tool calls: id, tool, input as JSON.
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
    /// The output limit was reached; the answer is incomplete.
    MaxTokens,
    StopSequence,
    ToolUse,
    /// The provider paused a long turn; the same prompt with this answer continues it.
    PauseTurn,
    Refusal,
    /// The window is full.
    WindowFull,
    Other(String),
}
