//! A hash of a message's meaning.

use std::ops::Range;

use bytes::Bytes;

use crate::NotComparable;
use crate::canon;
use crate::chain::first_half;
use crate::shape::MessageShape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
    /// `system` or `developer`: instructions within a conversation.
    Other,
}

/// The properties of a message that are used to compare histories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageReading {
    pub speaker: Speaker,
    /// Hash of the role and the canonical content.
    pub likeness: u128,
    /// Number of images and documents, including those in tool results.
    pub media: u32,
    cuts: Vec<Range<usize>>,
    last_mark: Option<Range<usize>>,
}

impl MessageReading {
    /// Returns the message's bytes without breakpoints, otherwise unchanged.
    pub fn unmarked(&self, message: &Bytes) -> Bytes {
        if self.cuts.is_empty() {
            return message.clone();
        }
        let mut out = Vec::with_capacity(message.len());
        let mut from = 0;
        for cut in &self.cuts {
            out.extend_from_slice(message.get(from..cut.start).unwrap_or_default());
            from = cut.end;
        }
        out.extend_from_slice(message.get(from..).unwrap_or_default());
        Bytes::from(out)
    }

    /// Returns the value of the message's last breakpoint.
    pub fn breakpoint(&self, message: &Bytes) -> Option<Bytes> {
        let range = self.last_mark.clone()?;
        (range.end <= message.len()).then(|| message.slice(range))
    }
}

/// Reads messages. Reuse the same reader, because it keeps its buffer.
#[derive(Debug, Default)]
pub struct LikenessReader {
    canonical: Vec<u8>,
}

impl LikenessReader {
    pub fn read(&mut self, message: &[u8]) -> Result<MessageReading, NotComparable> {
        let shape = MessageShape::of(message)?;
        let role = canon::decoded(shape.role);
        let speaker = match role.as_ref() {
            b"user" => Speaker::User,
            b"assistant" => Speaker::Assistant,
            _ => Speaker::Other,
        };
        self.canonical.clear();
        self.canonical.extend_from_slice(&role);
        self.canonical.push(0xFF);
        let mut media = 0;
        let trims = speaker == Speaker::Assistant;
        canon::content(&mut self.canonical, &shape.content, trims, &mut media)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.canonical);
        let likeness = first_half(&hasher);
        let mut cuts = shape.marks.cuts;
        // A block's own breakpoint may come before those inside it.
        cuts.sort_by_key(|cut| cut.start);
        Ok(MessageReading { speaker, likeness, media, cuts, last_mark: shape.marks.last })
    }
}
