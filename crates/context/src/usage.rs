//! The usage that a provider reported: which figures are valid, and how they correct the estimate.
//!
//! An assistant message reports the size of the prompt that it answers. The history shows what was added since the previous
//! prompt, so every turn shows the error of the estimate. A turn is ignored if something else changed the figure: another
//! model, a changed view, a smaller prompt.

use bethink_tokens::Calibration;
use bethink_transcript::{BlockKind, Message, Role, Seq, TokenUsage, Variant};

use crate::decision::Decisions;
use crate::history::{History, HistoryEntry};
use crate::measure::Measure;

/// Returns the usage of an answer by `model`, if it reports the size of the prompt.
///
/// A message without a model name is by the session's model. A name with a date (`claude-x-20250101`) is the same model
/// as the name without.
pub fn reported(message: &Message, model: &str) -> Option<TokenUsage> {
    let usage = message.usage.filter(|usage| usage.prompt() > 0)?;
    let own = message.model.as_deref().is_none_or(|name| undated(name) == undated(model));
    (message.role == Role::Assistant && own).then_some(usage)
}

pub(crate) fn undated(model: &str) -> &str {
    match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => model,
    }
}

/// Returns the number of tokens that a message takes up in the prompt. The text of a collapsed span is counted for the span's
/// first message.
pub fn shown(entry: &HistoryEntry, decisions: &Decisions) -> u64 {
    if let Some(span) = decisions.span_of(entry.message.seq) {
        return if span.first == entry.message.seq { u64::from(span.tokens) } else { 0 };
    }
    tokens(entry, decisions, |_| true)
}

/// Returns the number of tokens in a message if results are replaced only by variants for which `wanted` returns true.
fn tokens(entry: &HistoryEntry, decisions: &Decisions, wanted: impl Fn(Variant) -> bool) -> u64 {
    let shown = entry.blocks().map(|(block, facts)| match &block.kind {
        BlockKind::ToolResult { tool_use_id, .. } => {
            let replaced = decisions.result(tool_use_id, entry.message.seq);
            let replaced = replaced.filter(|shown| wanted(shown.variant));
            replaced.map_or(facts.tokens, |shown| shown.tokens)
        }
        _ => facts.tokens,
    });
    shown.map(u64::from).sum()
}

/// Returns the number of tokens in the texts attached from message `from` on, up to but not including message `before`.
pub(crate) fn attached(decisions: &Decisions, from: Seq, before: Seq) -> u64 {
    let within = decisions.attachments().iter().filter(|a| from <= a.after && a.after < before);
    within.map(|a| u64::from(a.tokens)).sum()
}

/// Follows a session's reported usage, message by message.
#[derive(Clone, Debug, Default)]
pub struct Learner {
    model: String,
    calibration: Calibration,
    /// The first message of the newest answer that reported the size of its prompt, and that size in tokens.
    known: Option<(Seq, u64)>,
    unseen: u64,
}

/// Maximum share of the window, as a divisor, by which the provider's count may exceed the estimate. The difference comes from
/// a system prompt and tools that the client adds, and is expected again; a larger difference would mean a different prompt.
pub const UNSEEN_SHARE: u64 = 4;

impl Learner {
    /// Learns from a history with `model`; `unseen` is the number of tokens by which prompts are already known to exceed
    /// their estimates.
    pub fn replay(model: &str, history: &History, decisions: &Decisions, unseen: u64) -> Self {
        let mut learner = Self { model: model.to_owned(), unseen, ..Self::default() };
        for entry in history.entries() {
            learner.observe(model, entry, history, decisions);
        }
        learner
    }

    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Returns the number of tokens by which the last reported prompt exceeded its estimate.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// Compares an estimate with the measured `size`, in a window of `effective` tokens.
    pub fn compare(&mut self, estimated: u64, size: &Measure, effective: u64) {
        if size.reported > 0 {
            let beyond = size.tokens.saturating_sub(self.calibration.apply(estimated));
            self.unseen = beyond.min(effective / UNSEEN_SHARE);
        }
    }

    /// Learns from the next message; `history` has all messages before it.
    pub fn observe(
        &mut self,
        model: &str,
        entry: &HistoryEntry,
        history: &History,
        decisions: &Decisions,
    ) {
        if self.model != model {
            *self = Self { model: model.to_owned(), ..Self::default() };
        }
        let message = &entry.message;
        let Some(usage) = reported(message, model) else {
            // Another model counts tokens differently.
            if message.usage.is_some() {
                self.known = None;
            }
            return;
        };
        let Some((seq, before)) = self.known.replace((message.seq, usage.prompt())) else { return };
        let answers = history.from(seq);
        if goes_on(answers.first(), message) {
            // A later part of the same answer repeats the figures.
            self.known = Some((seq, before));
            return;
        }
        let edited =
            decisions.edits().iter().any(|e| seq <= e.made_after && e.made_after < message.seq);
        if edited || usage.prompt() <= before {
            return;
        }
        let grown = answers.iter().take_while(|e| e.message.seq < message.seq);
        // A preview was part of the counted prompt; a cleared or clipped result was still whole.
        let is_first = |variant| variant == Variant::Preview;
        let estimated: u64 = grown.map(|e| tokens(e, decisions, is_first)).sum();
        let estimated = estimated + attached(decisions, seq, message.seq);
        self.calibration.observe(estimated, usage.prompt() - before);
    }
}

/// Whether `message` is another part of the answer that begins with `first`.
pub(crate) fn goes_on(first: Option<&HistoryEntry>, message: &Message) -> bool {
    let id = first.and_then(|e| e.message.assistant_message_id.as_ref());
    id.is_some() && id == message.assistant_message_id.as_ref()
}
