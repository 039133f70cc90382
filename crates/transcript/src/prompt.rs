//! The parts of a prompt: blocks with exact bytes and their origin.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::ids::{AssistantMessageId, Seq};
use crate::json;
use crate::message::{Block, BlockKind, Role, is_white};

/// How a stored block is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Its own bytes.
    Whole,
    /// Its own bytes without the client's cache marker.
    Unmarked,
    /// A large tool result's beginning.
    Preview,
    /// An old tool result's placeholder.
    Cleared,
    /// The placeholder of a result that a later event made worthless.
    Snipped,
    /// Shortened, because otherwise the messages kept by a compaction would not fit.
    Clipped,
    /// Text without its trailing white space.
    Trimmed,
    /// Changed so that a provider accepts it.
    Mended,
    /// With a new id, because the client had already used the id for another call.
    Renamed,
    /// Without images and documents.
    WithoutMedia,
}

/// Where a prompt's block came from. Two blocks of equal origin have equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Stored {
        seq: Seq,
        block: u32,
        variant: Variant,
    },
    /// Written by the daemon after message `after`. Blocks with different bytes have a different `hash`.
    Written {
        after: Seq,
        hash: u64,
    },
    /// The text of a collapsed span that begins with message `first`.
    Span {
        first: Seq,
        hash: u64,
    },
}

impl Origin {
    pub fn seq(&self) -> Seq {
        match self {
            Origin::Stored { seq, .. } => *seq,
            Origin::Written { after, .. } => *after,
            Origin::Span { first, .. } => *first,
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
    /// Whether this is a text that is empty or has only white space.
    pub blank: bool,
}

impl PromptBlock {
    /// Makes a text block that the daemon adds after message `after`.
    pub fn written(text: &str, after: Seq, tokens: u32) -> Self {
        Self {
            json: json::text_block(text),
            kind: BlockKind::Text,
            origin: Origin::Written { after, hash: hash_of(text) },
            tokens,
            media: 0,
            blank: text.chars().all(is_white),
        }
    }

    /// Makes the text block of a collapsed span that begins with message `first`.
    pub fn span(text: &str, first: Seq, tokens: u32) -> Self {
        let origin = Origin::Span { first, hash: hash_of(text) };
        Self { origin, ..Self::written(text, first, tokens) }
    }

    /// Makes a prompt's block from a block of a model's answer.
    pub fn answered(block: &Block, after: Seq, tokens: u32) -> Self {
        Self {
            json: block.json.clone(),
            kind: block.kind.clone(),
            origin: Origin::Written { after, hash: hash_of(&block.json) },
            tokens,
            media: block.media,
            blank: block.kind == BlockKind::Text && block.text().chars().all(is_white),
        }
    }
}

/// Returns a hash that distinguishes values, but may collide.
pub fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A stored message or a text from the daemon, before it is arranged.
#[derive(Clone, Debug)]
pub struct ShownEntry {
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

    /// Makes a message with a text from the daemon, in the role `user`.
    pub fn said(text: &str, after: Seq, tokens: u32) -> Self {
        Self { role: Role::User, blocks: vec![PromptBlock::written(text, after, tokens)] }
    }
}

/// A block with a cache breakpoint: the index of its message, and its index in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheMark {
    pub message: usize,
    pub block: usize,
}

const CACHE_CONTROL: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Returns the `messages` of a request as a JSON array, joined from bytes that already exist. Marks for blocks that do
/// not exist are ignored.
pub fn messages_json(messages: &[PromptMessage], marks: &[CacheMark]) -> Vec<u8> {
    let bytes: usize = messages.iter().flat_map(|m| &m.blocks).map(|b| b.json.len() + 1).sum();
    let room = bytes + messages.len() * 40 + marks.len() * CACHE_CONTROL.len() + 2;
    let mut out = Vec::with_capacity(room);
    out.push(b'[');
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_message(&mut out, at, message, marks);
    }
    out.push(b']');
    out
}

/// Returns one message of a request as JSON; `at` is its index in the prompt.
pub fn message_json(at: usize, message: &PromptMessage, marks: &[CacheMark]) -> Bytes {
    let mut out = Vec::new();
    push_message(&mut out, at, message, marks);
    Bytes::from(out)
}

/// Returns the stored messages that these blocks consist of, each shown whole; `None` if anything else is among them.
/// `count` returns how many blocks a message has.
pub fn whole_messages(
    blocks: &[PromptBlock],
    count: impl Fn(Seq) -> Option<usize>,
) -> Option<Vec<Seq>> {
    let (mut whole, mut rest) = (Vec::new(), blocks);
    while let Some(first) = rest.first() {
        let seq = first.origin.seq();
        let (message, after) = rest.split_at_checked(count(seq)?)?;
        let is_whole = message.iter().zip(0..).all(|(block, at)| {
            block.origin == Origin::Stored { seq, block: at, variant: Variant::Whole }
        });
        if message.is_empty() || !is_whole {
            return None;
        }
        whole.push(seq);
        rest = after;
    }
    (!whole.is_empty()).then_some(whole)
}

fn push_message(out: &mut Vec<u8>, at: usize, message: &PromptMessage, marks: &[CacheMark]) {
    let frame = match message.role {
        Role::User => r#"{"role":"user","content":["#,
        Role::Assistant => r#"{"role":"assistant","content":["#,
    };
    out.extend_from_slice(frame.as_bytes());
    for (i, block) in message.blocks.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        match block.json.strip_suffix(b"}") {
            // The marker goes last, so that the bytes before it stay a prefix.
            Some(open) if marks.contains(&CacheMark { message: at, block: i }) => {
                out.extend_from_slice(open);
                out.extend_from_slice(CACHE_CONTROL.as_bytes());
                out.push(b'}');
            }
            _ => out.extend_from_slice(&block.json),
        }
    }
    out.extend_from_slice(b"]}");
}
