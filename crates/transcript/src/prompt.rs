//! What a prompt is made of: blocks of exact bytes that remember where they came from.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;

use crate::ids::{AssistantMessageId, Seq};
use crate::json;
use crate::message::{BlockKind, Role, is_white};

/// How a stored block is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Its own bytes.
    Whole,
    /// Its own bytes without the client's cache marker.
    Unmarked,
    /// A large tool result's beginning.
    Preview,
    /// An old tool result's placeholder.
    Cleared,
    /// A payload that a later event made worthless.
    Snipped,
    /// Shortened because it alone would not fit after a compaction.
    Clipped,
    /// Text without its trailing white space.
    Trimmed,
    /// With half a surrogate pair replaced.
    Mended,
    /// Without images and documents.
    WithoutMedia,
}

/// Where a prompt's block came from. Two blocks of equal origin have equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    Stored {
        seq: Seq,
        block: u32,
        variant: Variant,
    },
    /// Written by the daemon after message `after`; `hash` tells its bytes apart.
    Written {
        after: Seq,
        hash: u64,
    },
}

impl Origin {
    pub fn seq(&self) -> Seq {
        match self {
            Origin::Stored { seq, .. } => *seq,
            Origin::Written { after, .. } => *after,
        }
    }
}

/// One block of a prompt.
#[derive(Clone, Debug)]
pub struct PromptBlock {
    pub json: Bytes,
    pub kind: BlockKind,
    pub origin: Origin,
    pub tokens: u32,
    pub media: u16,
    /// Holds nothing that a model could read: an empty or white text.
    pub blank: bool,
}

impl PromptBlock {
    /// A text that the daemon writes at the place after message `after`.
    pub fn written(text: &str, after: Seq, tokens: u32) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self {
            json: json::text_block(text),
            kind: BlockKind::Text,
            origin: Origin::Written { after, hash: hasher.finish() },
            tokens,
            media: 0,
            blank: text.chars().all(is_white),
        }
    }

    pub fn is_result(&self) -> bool {
        matches!(self.kind, BlockKind::ToolResult { .. })
    }
}

/// A stored message, or text of the daemon's, as it is about to be shown; not yet arranged.
#[derive(Clone, Debug)]
pub struct Shown {
    pub seq: Seq,
    pub role: Role,
    pub assistant_message_id: Option<AssistantMessageId>,
    pub blocks: Vec<PromptBlock>,
}

/// One message of a prompt.
#[derive(Clone, Debug)]
pub struct PromptMessage {
    pub role: Role,
    pub blocks: Vec<PromptBlock>,
}

impl PromptMessage {
    pub fn tokens(&self) -> u64 {
        self.blocks.iter().map(|b| u64::from(b.tokens)).sum()
    }
}
