//! The view: what a prompt shows of a history, given the decisions. Pure and deterministic.
//!
//! Starts at the newest boundary, shows each block as decided and each collapsed span as its text, keeps attachments in their
//! original place, strips thinking that was made from a different prompt if the model checks that, and arranges everything into
//! messages.

use bethink_transcript::arrange::{self, Repair, arrange};
use bethink_transcript::prompt::ShownEntry;
use bethink_transcript::{
    Block, BlockKind, Origin, PromptBlock, PromptMessage, Role, Seq, Variant, json,
};

use crate::decision::{Attachment, Boundary, Decisions, Stripped};
use crate::history::{BlockFacts, History, HistoryEntry};
use crate::placeholder::NO_OUTPUT;

/// Replaces an image or a document that the provider rejected.
const MEDIA_REFUSED: &str = "[image or document left out: it was too large for the provider]";

#[derive(Clone, Copy, Debug, Default)]
pub struct ViewOptions {
    /// Whether the provider checks thinking against the prompt from which it was made.
    pub preserved_thinking: bool,
}

/// The messages that the model would read, before validation.
#[derive(Clone, Debug)]
pub struct View {
    pub messages: Vec<PromptMessage>,
    pub repairs: Vec<Repair>,
    pub summary_tokens: u64,
    pub attachment_tokens: u64,
    /// Index of the first message that is no longer shown as it originally was. Later thinking was made from a different
    /// prompt, unless it is newer than the edit.
    pub first_edited: Option<usize>,
}

impl View {
    pub fn tokens(&self) -> u64 {
        self.messages.iter().map(PromptMessage::tokens).sum()
    }
}

pub fn view(history: &History, decisions: &Decisions, options: ViewOptions) -> View {
    let entries = history.from(decisions.kept_from());
    let mut shown = Vec::with_capacity(entries.len() + 8);
    let mut summary_tokens = 0;
    if let Some(boundary) = &decisions.boundary {
        let head = head(boundary);
        summary_tokens = head.blocks.iter().map(|b| u64::from(b.tokens)).sum();
        shown.push(head);
    }
    let first = entries.first().map_or(Seq(u64::MAX), |e| e.message.seq);
    let mut attachments = decisions.attachments().iter().peekable();
    while let Some(early) = attachments.next_if(|a| a.after < first) {
        shown.push(attached(early));
    }
    let mut shown_span = None;
    for entry in entries {
        let seq = entry.message.seq;
        match decisions.span_of(seq) {
            None => shown.push(show(entry, decisions, options)),
            Some(span) if shown_span != Some(span.first) => {
                shown_span = Some(span.first);
                let block = PromptBlock::span(&span.text, span.first, span.tokens);
                shown.push(in_user_name(span.first, vec![block]));
            }
            Some(_) => {}
        }
        while let Some(attachment) = attachments.next_if(|a| a.after <= seq) {
            if decisions.shows(attachment) {
                shown.push(attached(attachment));
            }
        }
    }
    shown.extend(attachments.map(attached));
    let visible = decisions.attachments().iter().filter(|a| decisions.shows(a));
    let attachment_tokens = visible.map(|a| u64::from(a.tokens)).sum();
    let (messages, repairs) = arrange(shown);
    let holds = |m: &PromptMessage, from: Seq| m.blocks.iter().any(|b| b.origin.seq() >= from);
    let first_edited =
        decisions.first_edit().and_then(|from| messages.iter().position(|m| holds(m, from)));
    View { messages, repairs, summary_tokens, attachment_tokens, first_edited }
}

fn head(boundary: &Boundary) -> ShownEntry {
    let marker_tokens = u32::try_from(boundary.marker.len() / 3).unwrap_or(u32::MAX);
    let marker = PromptBlock::written(&boundary.marker, Seq::ZERO, marker_tokens);
    let summary = PromptBlock::written(&boundary.summary, Seq::ZERO, boundary.tokens);
    in_user_name(Seq::ZERO, vec![marker, summary])
}

fn attached(attachment: &Attachment) -> ShownEntry {
    let Attachment { after, text, tokens, .. } = attachment;
    in_user_name(*after, vec![PromptBlock::written(text, *after, *tokens)])
}

/// Makes an entry from text that bethink adds in the role of the user.
fn in_user_name(seq: Seq, blocks: Vec<PromptBlock>) -> ShownEntry {
    ShownEntry { seq, role: Role::User, assistant_message_id: None, blocks }
}

fn show(entry: &HistoryEntry, decisions: &Decisions, options: ViewOptions) -> ShownEntry {
    let message = &entry.message;
    let seq = message.seq;
    // Thinking is stale if the prompt before it was changed later.
    let is_edited =
        || decisions.edits().iter().any(|edit| edit.from < seq && seq <= edit.made_after);
    let stale =
        options.preserved_thinking && is_edited() || decisions.is_stripped(Stripped::Thinking, seq);
    let blind = decisions.is_stripped(Stripped::Media, seq);
    let blocks = entry
        .blocks()
        .enumerate()
        .filter(|(_, (block, _))| !(stale && block.kind.is_thinking()))
        .map(|(index, (block, facts))| {
            let mut shown = show_block(seq, index, block, facts, decisions);
            if blind && shown.media > 0 {
                arrange::without_media(&mut shown, MEDIA_REFUSED);
            }
            shown
        })
        .collect();
    let assistant_message_id = message.assistant_message_id.clone();
    ShownEntry { seq, role: message.role, assistant_message_id, blocks }
}

fn show_block(
    seq: Seq,
    index: usize,
    block: &Block,
    facts: &BlockFacts,
    decisions: &Decisions,
) -> PromptBlock {
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    let stored = |variant| Origin::Stored { seq, block: index, variant };
    let mut shown = PromptBlock {
        json: block.json.clone(),
        kind: block.kind.clone(),
        origin: stored(Variant::Whole),
        tokens: facts.tokens,
        media: block.media,
        blank: facts.blank,
    };
    let mut set = |json: Option<bytes::Bytes>, variant: Variant, tokens: u32, media: u16| {
        if let Some(json) = json {
            shown.json = json;
            shown.tokens = tokens;
            shown.media = media;
            shown.origin = stored(variant);
        }
    };
    if let BlockKind::ToolResult { tool_use_id, .. } = &block.kind {
        if let Some(other) = decisions.result(tool_use_id, seq) {
            set(Some(other.json.clone()), other.variant, other.tokens, 0);
            return shown;
        }
        if facts.empty_result {
            let literal = json::encode_string(NO_OUTPUT);
            let json = json::with_member(block.as_str(), "content", &literal);
            set(json, Variant::Preview, facts.tokens + 12, 0);
            return shown;
        }
    }
    if let Some(mended) = &block.mended {
        set(Some(mended.clone()), Variant::Mended, facts.tokens, block.media);
    }
    if block.has_cache_control {
        // bethink places its own breakpoints; a client's would count toward the same limit of four.
        let whole = block.mended.as_ref().unwrap_or(&block.json);
        let json =
            std::str::from_utf8(whole).ok().and_then(|w| json::without_key(w, "cache_control"));
        set(json, Variant::Unmarked, facts.tokens, block.media);
    }
    shown
}
