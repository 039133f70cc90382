//! Splits a prompt into the client's unchanged messages and those that bethink wrote.

use bethink_context::History;
use bethink_transcript::prompt::whole_messages;
use bethink_transcript::{
    BlockKind, Origin, PromptBlock, PromptMessage, Role, Seq, ValidPrompt, Variant,
};
use bytes::Bytes;

use super::read_request::ReadRequest;
use super::request::{BlockSource, PromptPart, WrittenBlock, WrittenMessage};

/// The request and the history that a prompt was made from.
pub(super) struct PromptSources<'a> {
    pub(super) request: &'a ReadRequest,
    pub(super) history: &'a History,
}

/// Returns the parts of a prompt; `None` if it consists of all the client's messages, unchanged.
pub(super) fn parts(sources: &PromptSources<'_>, prompt: &ValidPrompt) -> Option<Vec<PromptPart>> {
    let mut parts = Vec::with_capacity(prompt.messages().len());
    for message in prompt.messages() {
        match sources.own(&message.blocks) {
            Some(own) => parts.extend(own.into_iter().map(PromptPart::Client)),
            None => parts.push(PromptPart::Written(sources.written(message))),
        }
    }
    let all = 0..sources.request.messages.len();
    let unchanged = parts.len() == all.len()
        && parts.iter().zip(all).all(|(part, index)| *part == PromptPart::Client(index));
    (!unchanged).then_some(parts)
}

impl PromptSources<'_> {
    /// Returns the client's messages that consist of exactly these blocks; `None` if anything differs.
    fn own(&self, blocks: &[PromptBlock]) -> Option<Vec<usize>> {
        let count = |seq| Some(self.history.from(seq).first()?.message.blocks.len());
        whole_messages(blocks, count)?.into_iter().map(|seq| self.index(seq)).collect()
    }

    /// Returns the index of the client's message with this seq. The history and the request contain the same messages.
    fn index(&self, seq: Seq) -> Option<usize> {
        let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
        (index < self.request.messages.len()).then_some(index)
    }

    /// Returns the message, with a cache breakpoint if the client placed one in any of the messages that this message
    /// shows.
    fn written(&self, message: &PromptMessage) -> WrittenMessage {
        let marked = message.blocks.iter().rev().find_map(|block| {
            let index = match block.origin {
                Origin::Stored { seq, .. } => self.index(seq)?,
                Origin::Written { .. } | Origin::Span { .. } => return None,
            };
            let given = self.request.messages.get(index)?;
            self.request.readings.get(index)?.breakpoint(given)
        });
        let last = message.blocks.iter().rposition(|block| !block.kind.is_thinking());
        let place = last.zip(marked.filter(|mark| mark.starts_with(b"{")));
        let room: usize = message.blocks.iter().map(|block| block.json.len() + 1).sum();
        let mut out = Vec::with_capacity(room + 120);
        out.extend_from_slice(match message.role {
            Role::User => br#"{"role":"user","content":["#,
            Role::Assistant => br#"{"role":"assistant","content":["#,
        });
        let mut places = Vec::with_capacity(message.blocks.len());
        for (at, block) in message.blocks.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let start = out.len();
            match (&place, block.json.strip_suffix(b"}")) {
                (Some((here, mark)), Some(open))
                    if *here == at && !matches!(block.kind, BlockKind::Other(_)) =>
                {
                    out.extend_from_slice(open);
                    out.extend_from_slice(br#","cache_control":"#);
                    out.extend_from_slice(mark);
                    out.push(b'}');
                }
                _ => out.extend_from_slice(&block.json),
            }
            places.push(start..out.len());
        }
        out.extend_from_slice(b"]}");
        let json = Bytes::from(out);
        let blocks = places
            .into_iter()
            .zip(&message.blocks)
            .map(|(at, block)| WrittenBlock { json: json.slice(at), source: self.source(block) });
        let (blocks, is_user) = (blocks.collect(), message.role == Role::User);
        WrittenMessage { json, is_user, blocks }
    }

    fn source(&self, block: &PromptBlock) -> Option<BlockSource> {
        let Origin::Stored { seq, block: nth, variant } = block.origin else { return None };
        let is_whole = variant == Variant::Whole;
        Some(BlockSource { message: self.index(seq)?, block: usize::try_from(nth).ok()?, is_whole })
    }
}
