//! Turns recorded messages into messages that the Messages API accepts.
//!
//! Joins the chunks of one assistant message, merges neighbors with the same role, puts tool results first in the user
//! message after their call, and repairs invalid structure, in the view only. Every repair is reported, except for
//! removed white space at the end. The result is deterministic, and stable when messages are added at the end.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ids::{AssistantMessageId, Seq, ToolUseId};
use crate::json;
use crate::message::{Block, BlockKind, Role, is_white};
use crate::prompt::{Origin, PromptBlock, PromptMessage, ShownEntry, Variant};

/// The most images and documents that the Messages API accepts in one prompt.
pub const MAX_MEDIA: usize = 100;
/// Media beyond the limit are dropped twenty at a time, so that the beginning of the prompt does not change
/// with every image.
const MEDIA_STEP: usize = 20;

/// Shown in place of a result that never arrived.
pub const NO_RESULT: &str = "No result was recorded for this tool call: it was interrupted. Call it again if its result is needed.";
const HEAD_MISSING: &str = "(The conversation begins with the assistant's message below.)";
const MEDIA_LEFT_OUT: &str = "[image or document left out: a prompt can have at most 100]";

/// One repair of the view. The history keeps what arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "repair", rename_all = "snake_case")]
pub enum Repair {
    #[error("call {tool_use_id} in message {seq} has no result; an error result was added")]
    ResultSynthesised { tool_use_id: ToolUseId, seq: Seq },
    #[error("result of {tool_use_id} in message {seq} left out: its call is not in the prompt")]
    OrphanResultDropped { tool_use_id: ToolUseId, seq: Seq },
    #[error("second result of {tool_use_id} in message {seq} left out")]
    DuplicateResultDropped { tool_use_id: ToolUseId, seq: Seq },
    #[error("call in message {seq} left out: its id {tool_use_id} was used before")]
    DuplicateCallDropped { tool_use_id: ToolUseId, seq: Seq },
    #[error(
        "the call in message {seq} got a new id, because an earlier call has the id {tool_use_id}"
    )]
    ReusedIdRenamed { tool_use_id: ToolUseId, seq: Seq },
    #[error("late result of {tool_use_id} in message {seq} moved up to its call")]
    LateResultMoved { tool_use_id: ToolUseId, seq: Seq },
    #[error("block in message {seq} left out: not allowed in this role")]
    MisplacedBlockDropped { seq: Seq },
    #[error("empty text in message {seq} left out")]
    EmptyTextDropped { seq: Seq },
    #[error("thinking at the end of assistant message {seq} left out")]
    LastThinkingDropped { seq: Seq },
    #[error("the prompt began with assistant message {seq}; a user message was added before it")]
    HeadAdded { seq: Seq },
    #[error("images and documents left out, oldest first: {count}")]
    MediaDropped { count: usize },
}

/// Arranges `shown` into prompt messages and returns what had to be repaired.
pub fn arrange(shown: impl IntoIterator<Item = ShownEntry>) -> (Vec<PromptMessage>, Vec<Repair>) {
    let mut table = TurnTable::default();
    for message in shown {
        match message.role {
            Role::Assistant => table.assistant(message),
            Role::User => table.user(message),
        }
    }
    table.finish()
}

/// An assistant message and the user message after it.
#[derive(Default)]
struct ArrangedTurn {
    ids: Vec<AssistantMessageId>,
    /// The blocks of the assistant message.
    speech: Vec<PromptBlock>,
    /// The blocks of the user message: first the results, then the rest.
    results: Vec<PromptBlock>,
    rest: Vec<PromptBlock>,
    /// Whether the user has said something. If so, later chunks of the assistant's message do not belong here.
    user_spoke: bool,
    /// Whether a user message has begun, even if it has only results.
    answered: bool,
}

struct ArrangedCall {
    turn: usize,
    is_answered: bool,
    /// The block as it was given.
    json: Bytes,
    /// Whether an earlier call has the same id and the same bytes.
    is_copy: bool,
}

#[derive(Default)]
struct TurnTable {
    turns: Vec<ArrangedTurn>,
    /// Every call so far, by its id in the prompt.
    calls: HashMap<ToolUseId, ArrangedCall>,
    /// For ids that the client used again: the id that the newest call has in the prompt.
    renamed: HashMap<ToolUseId, ToolUseId>,
    repairs: Vec<Repair>,
}

impl TurnTable {
    fn assistant(&mut self, message: ShownEntry) {
        let id = message.assistant_message_id;
        let joins = self.turns.last().is_some_and(|turn| {
            let is_chunk = id.as_ref().is_some_and(|id| turn.ids.contains(id));
            !turn.speech.is_empty() && (!turn.answered || !turn.user_spoke && is_chunk)
        });
        if !joins {
            self.turns.push(ArrangedTurn::default());
        }
        let place = self.turns.len() - 1;
        for mut block in message.blocks {
            let seq = block.origin.seq();
            if block.blank {
                self.repairs.push(Repair::EmptyTextDropped { seq });
                continue;
            }
            match &block.kind {
                BlockKind::ToolResult { .. } => {
                    self.repairs.push(Repair::MisplacedBlockDropped { seq });
                    continue;
                }
                BlockKind::ToolUse { id, .. } => {
                    let (given, json) = (id.clone(), block.json.clone());
                    let Some((id, is_copy)) = self.free_id(&given, place, seq, &json) else {
                        let tool_use_id = given;
                        self.repairs.push(Repair::DuplicateCallDropped { tool_use_id, seq });
                        continue;
                    };
                    if id != given {
                        rename(&mut block, &id);
                        let tool_use_id = given;
                        self.repairs.push(Repair::ReusedIdRenamed { tool_use_id, seq });
                    }
                    let call = ArrangedCall { turn: place, is_answered: false, json, is_copy };
                    self.calls.insert(id, call);
                }
                _ => {}
            }
            if let Some(turn) = self.turns.last_mut() {
                turn.speech.push(block);
            }
        }
        if let (Some(turn), Some(id)) = (self.turns.last_mut(), id)
            && !turn.ids.contains(&id)
        {
            turn.ids.push(id);
        }
    }

    /// Returns the id of a new call in the prompt, and whether it is a copy of an earlier call. The id is the call's own, or
    /// one with its message's number if an earlier turn has used it: some servers count their calls anew in each answer.
    /// Returns `None` for a second call of the same turn, and for a copy of a call that waits for its result.
    fn free_id(
        &mut self,
        given: &ToolUseId,
        place: usize,
        seq: Seq,
        json: &Bytes,
    ) -> Option<(ToolUseId, bool)> {
        let newest = self.renamed.get(given).unwrap_or(given);
        let Some(call) = self.calls.get(newest) else { return Some((given.clone(), false)) };
        let is_copy = call.json == *json;
        if call.turn == place || is_copy && !call.is_answered {
            return None;
        }
        let own = ToolUseId::new(&format!("{given}-{seq}")).ok()?;
        if self.calls.contains_key(&own) {
            return None;
        }
        self.renamed.insert(given.clone(), own.clone());
        Some((own, is_copy))
    }

    fn user(&mut self, message: ShownEntry) {
        if self.turns.is_empty() {
            self.turns.push(ArrangedTurn::default());
        }
        for block in message.blocks {
            let seq = block.origin.seq();
            if block.blank {
                self.repairs.push(Repair::EmptyTextDropped { seq });
                continue;
            }
            match &block.kind {
                BlockKind::ToolUse { .. } | BlockKind::Thinking | BlockKind::RedactedThinking => {
                    self.repairs.push(Repair::MisplacedBlockDropped { seq });
                }
                BlockKind::ToolResult { tool_use_id, .. } => {
                    let tool_use_id = tool_use_id.clone();
                    self.result(tool_use_id, block);
                }
                _ => {
                    if let Some(turn) = self.turns.last_mut() {
                        // Text that the daemon added is not the user's. The text of a collapsed span
                        // counts, because it separates assistant messages.
                        turn.user_spoke |= !matches!(block.origin, Origin::Written { .. });
                        turn.answered = true;
                        turn.rest.push(block);
                    }
                }
            }
        }
    }

    fn result(&mut self, tool_use_id: ToolUseId, mut block: PromptBlock) {
        let seq = block.origin.seq();
        let newest = self.turns.len() - 1;
        let renamed = self.renamed.get(&tool_use_id);
        match self.calls.get_mut(renamed.unwrap_or(&tool_use_id)) {
            None => self.repairs.push(Repair::OrphanResultDropped { tool_use_id, seq }),
            Some(call) if call.is_answered => {
                self.repairs.push(Repair::DuplicateResultDropped { tool_use_id, seq });
            }
            Some(call) => {
                call.is_answered = true;
                let place = call.turn;
                if let Some(id) = renamed {
                    rename(&mut block, id);
                }
                if place != newest {
                    self.repairs.push(Repair::LateResultMoved { tool_use_id, seq });
                }
                if let Some(turn) = self.turns.get_mut(place) {
                    turn.results.push(block);
                    turn.answered = true;
                }
            }
        }
    }

    fn finish(mut self) -> (Vec<PromptMessage>, Vec<Repair>) {
        self.answer_open_calls();
        self.drop_last_thinking();
        let mut messages: Vec<PromptMessage> = Vec::with_capacity(self.turns.len() * 2);
        for turn in self.turns {
            if !turn.speech.is_empty() {
                push(&mut messages, Role::Assistant, turn.speech);
            }
            let mut blocks = turn.results;
            blocks.extend(turn.rest);
            if !blocks.is_empty() {
                push(&mut messages, Role::User, blocks);
            }
        }
        if let Some(first) = messages.first()
            && first.role == Role::Assistant
        {
            let seq = first.blocks.first().map_or(Seq::ZERO, |b| b.origin.seq());
            self.repairs.push(Repair::HeadAdded { seq });
            let head = PromptBlock::written(HEAD_MISSING, Seq::ZERO, 16);
            messages.insert(0, PromptMessage { role: Role::User, blocks: vec![head] });
        }
        trim_end(&mut messages);
        let dropped = drop_media(&mut messages);
        if dropped > 0 {
            self.repairs.push(Repair::MediaDropped { count: dropped });
        }
        (messages, self.repairs)
    }

    /// Removes thinking that nothing follows, because providers reject an assistant message that ends with it.
    fn drop_last_thinking(&mut self) {
        for turn in &mut self.turns {
            while let Some(last) = turn.speech.pop_if(|block| block.kind.is_thinking()) {
                self.repairs.push(Repair::LastThinkingDropped { seq: last.origin.seq() });
            }
        }
    }

    fn answer_open_calls(&mut self) {
        let Self { turns, calls, repairs, .. } = self;
        for turn in turns {
            let results = &mut turn.results;
            turn.speech.retain(|block| {
                let BlockKind::ToolUse { id, .. } = &block.kind else { return true };
                let Some(call) = calls.get(id).filter(|call| !call.is_answered) else {
                    return true;
                };
                let (tool_use_id, seq) = (id.clone(), block.origin.seq());
                if call.is_copy {
                    repairs.push(Repair::DuplicateCallDropped { tool_use_id, seq });
                    return false;
                }
                results.push(missing_result(id, seq));
                repairs.push(Repair::ResultSynthesised { tool_use_id, seq });
                true
            });
        }
    }
}

/// Appends a message, or joins it with the last one if that has the same role.
fn push(messages: &mut Vec<PromptMessage>, role: Role, blocks: Vec<PromptBlock>) {
    match messages.last_mut() {
        Some(last) if last.role == role => last.blocks.extend(blocks),
        _ => messages.push(PromptMessage { role, blocks }),
    }
}

/// Gives a call or a result this id.
fn rename(block: &mut PromptBlock, id: &ToolUseId) {
    let member = match &mut block.kind {
        BlockKind::ToolUse { id: own, .. } => {
            *own = id.clone();
            "id"
        }
        BlockKind::ToolResult { tool_use_id, .. } => {
            *tool_use_id = id.clone();
            "tool_use_id"
        }
        _ => return,
    };
    let json = std::str::from_utf8(&block.json).unwrap_or_default();
    if let Some(json) = json::with_member(json, member, &json::encode_string(id.as_str())) {
        block.json = json;
    }
    if let Origin::Stored { variant: variant @ (Variant::Whole | Variant::Mended), .. } =
        &mut block.origin
    {
        *variant = Variant::Renamed;
    }
}

fn missing_result(id: &ToolUseId, seq: Seq) -> PromptBlock {
    let json = format!(
        r#"{{"type":"tool_result","tool_use_id":{},"is_error":true,"content":{}}}"#,
        json::encode_string(id.as_str()),
        json::encode_string(NO_RESULT),
    );
    PromptBlock {
        kind: BlockKind::ToolResult { tool_use_id: id.clone(), is_error: true },
        json: Bytes::from(json),
        ..PromptBlock::written(NO_RESULT, seq, 60)
    }
}

/// Removes white space at the end of a final assistant message, because providers reject it.
pub fn trim_end(messages: &mut Vec<PromptMessage>) {
    let Some(last) = messages.last_mut().filter(|m| m.role == Role::Assistant) else { return };
    while let Some(block) = last.blocks.last_mut().filter(|b| b.kind == BlockKind::Text) {
        let source = Block::shown(block.json.clone(), BlockKind::Text);
        let text = source.text();
        let kept = text.trim_end_matches(is_white);
        if kept.is_empty() {
            last.blocks.pop();
            continue;
        }
        let literal = json::encode_string(kept);
        let trimmed = (kept.len() < text.len())
            .then(|| json::with_member(source.as_str(), "text", &literal))
            .flatten();
        match (trimmed, &mut block.origin) {
            (None, _) => {}
            (Some(json), Origin::Stored { variant, .. }) => {
                *variant = Variant::Trimmed;
                block.json = json;
            }
            (Some(json), origin) => {
                let after = origin.seq();
                let trimmed = Block::shown(json, BlockKind::Text);
                *block = PromptBlock::answered(&trimmed, after, block.tokens);
            }
        }
        break;
    }
    if last.blocks.is_empty() {
        messages.pop();
    }
}

fn drop_media(messages: &mut [PromptMessage]) -> usize {
    let all: usize = messages.iter().flat_map(|m| &m.blocks).map(|b| usize::from(b.media)).sum();
    if all <= MAX_MEDIA {
        return 0;
    }
    let wanted = (all - MAX_MEDIA).div_ceil(MEDIA_STEP) * MEDIA_STEP;
    let mut dropped = 0;
    for block in messages.iter_mut().flat_map(|m| &mut m.blocks) {
        if dropped >= wanted {
            break;
        }
        if block.media > 0 {
            dropped += usize::from(block.media);
            without_media(block, MEDIA_LEFT_OUT);
        }
    }
    dropped
}

/// Replaces images and documents in the block with the text `note`.
pub fn without_media(block: &mut PromptBlock, note: &str) {
    let text = std::str::from_utf8(&block.json).unwrap_or_default();
    block.json = match &block.kind {
        BlockKind::ToolResult { .. } => {
            media_in_words(text, &|_| note).unwrap_or_else(|| block.json.clone())
        }
        _ => {
            block.kind = BlockKind::Text;
            json::text_block(note)
        }
    };
    block.media = 0;
    // Only text is left.
    block.tokens = block.tokens.min(u32::try_from(block.json.len() / 3).unwrap_or(u32::MAX));
    if let Origin::Stored { variant, .. } = &mut block.origin {
        *variant = Variant::WithoutMedia;
    }
}

/// Returns a tool result in which each image or document is replaced with the text that `words` gives for its type.
/// Other parts keep their bytes. Returns `None` if the result's content is not a list.
pub fn media_in_words<'w>(result: &str, words: &dyn Fn(&str) -> &'w str) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Result<'a> {
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct TypedPart<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    let parts = serde_json::from_str::<Result<'_>>(result).ok()?.content;
    let parts = parts.into_iter().map(|part| {
        match serde_json::from_str::<TypedPart<'_>>(part.get()).as_ref().map(|part| &*part.kind) {
            Ok(kind @ ("image" | "document")) => json::text_block(words(kind)),
            _ => Bytes::copy_from_slice(part.get().as_bytes()),
        }
    });
    let content = parts.collect::<Vec<_>>().join(&b',');
    json::with_member(result, "content", &format!("[{}]", std::str::from_utf8(&content).ok()?))
}
