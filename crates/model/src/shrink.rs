//! Makes requests smaller. Every change keeps the request valid and makes it strictly smaller, or returns `None`.

use bethink_transcript::arrange::media_in_words;
use bethink_transcript::{
    Block, BlockKind, CacheMark, Origin, PromptBlock, PromptMessage, Role, Seq, ValidPrompt, json,
};

use crate::request::{ModelRequest, about_tokens};

/// If an error does not say how far the prompt exceeds the limit, one in this many rounds is dropped (20%).
const ROUNDS_PER_DROP: usize = 5;
/// Replaces dropped rounds if the prompt would otherwise begin with an assistant message.
pub const MARKER: &str =
    "(Earlier messages in this conversation are left out: they did not fit in the context window.)";
const MARKER_TOKENS: u32 = 24;
const IMAGE: &str = "[image]";
const DOCUMENT: &str = "[document]";

/// Drops the oldest API rounds: enough to save `gap` tokens, or one in five if `gap` is unknown. At least one round is
/// dropped and at least one stays. The last `tail` messages (the instruction and what follows it), and the summary at
/// the beginning of a compacted session, are always kept. `None` if nothing can be dropped.
pub fn drop_rounds(request: &ModelRequest, tail: usize, gap: Option<u64>) -> Option<ModelRequest> {
    let messages = request.prompt.messages();
    let session = messages.get(..messages.len().saturating_sub(tail))?;
    let last_round = session.iter().rposition(|m| m.role == Role::Assistant)?;
    let enough = enough(session, last_round, gap);
    // A cut must not separate results from their calls, and must save more than the marker costs. If the first place
    // does not work, later places are tried, then earlier ones.
    let places = (enough..=last_round).chain((1..enough).rev());
    let cuts = places.filter_map(|at| cut(request, at));
    let mut cuts = cuts.filter(|cut| cut.weight() < request.weight());
    cuts.next()
}

/// Returns the index of the first message before which enough can be dropped; the beginning of the last round if that comes
/// first.
fn enough(session: &[PromptMessage], last_round: usize, gap: Option<u64>) -> usize {
    let wanted = (rounds(session) / ROUNDS_PER_DROP).max(1);
    let (mut tokens, mut dropped) = (0u64, 0);
    for (at, [gone, head]) in session.array_windows().enumerate() {
        tokens += gone.tokens();
        dropped += usize::from(gone.role == Role::Assistant);
        let marker = if head.role == Role::Assistant { u64::from(MARKER_TOKENS) } else { 0 };
        let covered = gap.map(|gap| tokens >= gap.saturating_add(marker));
        if covered.unwrap_or(dropped >= wanted) {
            return last_round.min(at + 1);
        }
    }
    last_round
}

fn rounds(messages: &[PromptMessage]) -> usize {
    messages.iter().filter(|message| message.role == Role::Assistant).count()
}

/// Returns the request from message `at` on, preceded by the summary of an even earlier part, if there is one. The
/// marker from a previous cut is dropped.
fn cut(request: &ModelRequest, at: usize) -> Option<ModelRequest> {
    let all = request.prompt.messages();
    let mut messages = all.get(at..)?.to_vec();
    let mut head: Vec<PromptBlock> = summary(all.first()?).to_vec();
    let kept = head.len();
    if messages.first()?.role == Role::Assistant {
        head.push(PromptBlock::written(MARKER, Seq::ZERO, MARKER_TOKENS));
        messages.insert(0, PromptMessage { role: Role::User, blocks: Vec::new() });
    }
    let shift = messages.len() - (all.len() - at);
    let (added, first) = (head.len(), messages.first_mut()?);
    head.append(&mut first.blocks);
    first.blocks = head;
    let moved = request.marks.iter().filter_map(|mark| match *mark {
        CacheMark { message: 0, block } if block < kept => Some(*mark),
        CacheMark { message, .. } if message < at => None,
        CacheMark { message, block } => {
            let joined = if message == at && shift == 0 { added } else { 0 };
            Some(CacheMark { message: message - at + shift, block: block + joined })
        }
    });
    let marks = moved.collect();
    Some(ModelRequest { prompt: ValidPrompt::check(messages).ok()?, marks, ..request.clone() })
}

/// Returns the summary at the beginning of the prompt. The summary must be kept, because the messages that it covers
/// are not in the prompt.
fn summary(first: &PromptMessage) -> &[PromptBlock] {
    let marker = json::text_block(MARKER);
    let ours = |block: &PromptBlock| {
        matches!(block.origin, Origin::Written { after: Seq::ZERO, .. }) && block.json != marker
    };
    let count = first.blocks.iter().take_while(|block| ours(block)).count();
    first.blocks.get(..count).unwrap_or_default()
}

/// Replaces each image and document, also in tool results, with a short text.
pub fn strip_media(request: &ModelRequest) -> Option<ModelRequest> {
    let prompt = without_media(&request.prompt);
    let stripped = ModelRequest { prompt, ..request.clone() };
    (stripped.weight() < request.weight()).then_some(stripped)
}

/// Returns the prompt without images and documents. Every other block keeps its bytes and its place.
pub fn without_media(prompt: &ValidPrompt) -> ValidPrompt {
    let mut messages = prompt.messages().to_vec();
    let media = messages.iter_mut().flat_map(|m| &mut m.blocks).filter(|block| block.media > 0);
    for block in media {
        if let Some(words) = in_words(block) {
            *block = words;
        }
    }
    ValidPrompt::check(messages).unwrap_or_else(|_| prompt.clone())
}

fn in_words(block: &PromptBlock) -> Option<PromptBlock> {
    let after = block.origin.seq();
    let written = |text: &str| {
        let json = json::text_block(text);
        PromptBlock::answered(&Block::shown(json, BlockKind::Text), after, about_tokens(text.len()))
    };
    match &block.kind {
        BlockKind::Image => Some(written(IMAGE)),
        BlockKind::Document => Some(written(DOCUMENT)),
        kind @ BlockKind::ToolResult { .. } => {
            let words = |kind: &str| if kind == "image" { IMAGE } else { DOCUMENT };
            let json = media_in_words(std::str::from_utf8(&block.json).ok()?, &words)?;
            let tokens = block.tokens.min(about_tokens(json.len()));
            Some(PromptBlock::answered(&Block::shown(json, kind.clone()), after, tokens))
        }
        _ => None,
    }
}

/// Removes thinking. A message that contains nothing else is removed too, and the messages around it are joined.
pub fn strip_thinking(request: &ModelRequest) -> Option<ModelRequest> {
    let mut messages: Vec<PromptMessage> = Vec::new();
    let mut marks = Vec::new();
    for (at, message) in request.prompt.messages().iter().enumerate() {
        let kept = message.blocks.iter().enumerate().filter(|(_, b)| !b.kind.is_thinking());
        for (i, block) in kept {
            if messages.last().is_none_or(|last| last.role != message.role) {
                messages.push(PromptMessage { role: message.role, blocks: Vec::new() });
            }
            let place = messages.len() - 1;
            let last = messages.last_mut()?;
            if request.marks.contains(&CacheMark { message: at, block: i }) {
                marks.push(CacheMark { message: place, block: last.blocks.len() });
            }
            last.blocks.push(block.clone());
        }
    }
    let stripped =
        ModelRequest { prompt: ValidPrompt::check(messages).ok()?, marks, ..request.clone() };
    (stripped.weight() < request.weight()).then_some(stripped)
}

/// Lowers the output limit.
pub fn shrink_output(request: &ModelRequest, max_tokens: u64) -> Option<ModelRequest> {
    let smaller = max_tokens > 0 && max_tokens < request.max_tokens;
    smaller.then(|| ModelRequest { max_tokens, ..request.clone() })
}

#[cfg(test)]
mod tests;
