//! A model's answer.

use bethink_transcript::{Block, BlockKind, TokenUsage, ToolUseId};

/// A complete answer. An answer that was cut off in transfer is an error, not a reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The ID that the provider gave to the message.
    pub id: String,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// Blocks in the format of the Messages API, for every provider. Thinking keeps its signature.
    pub content: Vec<Block>,
    pub stop: Stop,
    pub usage: TokenUsage,
    /// Whether some figures in the answer were missing, negative or implausible. If so, the figures in `usage` are
    /// bounded, but must not be used to correct estimates.
    pub usage_doubtful: bool,
}

impl Reply {
    /// Returns the text blocks, joined by line endings.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter(|block| block.kind == BlockKind::Text);
        texts.map(|block| block.text().into_owned()).collect::<Vec<_>>().join("\n")
    }

    /// Returns the id, tool name and JSON input of each tool call.
    pub fn calls(&self) -> impl Iterator<Item = (&ToolUseId, &str, &str)> {
        self.content.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolUse { id, name } => Some((id, &**name, block.input())),
            _ => None,
        })
    }
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    /// The output limit was reached; the answer is incomplete.
    MaxTokens,
    StopSequence,
    ToolUse,
    /// The provider paused a long turn. Sending the same prompt again, followed by this answer, continues the turn.
    PauseTurn,
    Refusal,
    /// The window is full.
    WindowFull,
    Other(String),
}

/// The reasons, with their names in the Messages API.
const NAMES: [(Stop, &str); 7] = [
    (Stop::EndTurn, "end_turn"),
    (Stop::MaxTokens, "max_tokens"),
    (Stop::StopSequence, "stop_sequence"),
    (Stop::ToolUse, "tool_use"),
    (Stop::PauseTurn, "pause_turn"),
    (Stop::Refusal, "refusal"),
    (Stop::WindowFull, "model_context_window_exceeded"),
];

impl Stop {
    pub fn parse(name: &str) -> Self {
        let known = NAMES.into_iter().find(|(_, known)| *known == name);
        known.map_or_else(|| Self::Other(name.chars().take(80).collect()), |(stop, _)| stop)
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => NAMES.iter().find(|(stop, _)| stop == known).map_or("", |(_, name)| name),
        }
    }
}
