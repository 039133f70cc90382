//! Measures a prompt: its size, and how much of the previous prompt it repeats.

pub use bethink_api::TokenSource;
use bethink_tokens::Calibration;
use bethink_transcript::{CacheMark, Origin, PromptMessage, Seq, TokenUsage};

use crate::decision::Decisions;
use crate::history::{History, HistoryEntry};
use crate::usage::{Learner, attached, goes_on, reported, shown};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    pub tokens: u64,
    /// Number of tokens that the provider last reported; 0 if the whole count is estimated.
    pub reported: u64,
    /// The correction that is applied to the estimate of the other tokens.
    pub calibration: Calibration,
}

impl Measure {
    pub fn source(&self) -> TokenSource {
        if self.reported > 0 { TokenSource::Reported } else { TokenSource::Estimate }
    }
}

/// Measures a whole prompt. `estimated` is the sum of the estimates of its parts, and `model` is the session's model.
/// Usage that was reported before the newest change to the view, or by another model, is ignored.
pub fn measure(
    history: &History,
    decisions: &Decisions,
    model: &str,
    estimated: u64,
    learner: &Learner,
) -> Measure {
    let calibration = learner.calibration();
    let entries = history.from(decisions.kept_from());
    let Some((at, usage)) = newest_answer(entries, decisions.last_edit(), model) else {
        let tokens = calibration.apply(estimated) + learner.unseen();
        return Measure { tokens, reported: 0, calibration };
    };
    let answer = entries.get(at..).unwrap_or_default();
    let later: u64 = answer.iter().map(|e| shown(e, decisions)).sum();
    let first = answer.first().map_or(Seq::ZERO, |e| e.message.seq);
    let later = calibration.apply(later + attached(decisions, first, Seq(u64::MAX)));
    // The larger number counts: the reported output is too small if the answer is still streaming, and the estimate of
    // its text is too small if it contains hidden thinking.
    let unseen = usage.output_tokens.saturating_sub(calibration.apply(said(answer)));
    let tokens = usage.prompt() + later + unseen;
    Measure { tokens, reported: usage.prompt(), calibration }
}

/// Finds the newest answer after `valid_after` that has reported usage. Returns where it begins, and its usage.
fn newest_answer(
    entries: &[HistoryEntry],
    valid_after: Seq,
    model: &str,
) -> Option<(usize, TokenUsage)> {
    let valid =
        || entries.iter().enumerate().rev().take_while(|(_, e)| e.message.seq > valid_after);
    let (last, usage) = valid().find_map(|(at, e)| Some((at, reported(&e.message, model)?)))?;
    let message = &entries.get(last)?.message;
    let parts = valid().filter(|(at, e)| *at == last || goes_on(Some(e), message));
    Some((parts.map(|(at, _)| at).min()?, usage))
}

/// Returns the estimated number of tokens in all parts of the answer at the start of `entries`.
fn said(entries: &[HistoryEntry]) -> u64 {
    let Some(first) = entries.first() else { return 0 };
    let later = entries.iter().skip(1).filter(|e| goes_on(Some(first), &e.message));
    first.tokens() + later.map(HistoryEntry::tokens).sum::<u64>()
}

/// The outline of a prompt that was handed out, to compare the next one with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptShape {
    /// Hashes of the system prompt and tools; `None` if they are unknown and assumed not to change.
    pub around: Option<[u64; 2]>,
    /// The compaction in force.
    pub boundary: Option<String>,
    messages: Vec<Vec<(Origin, u32)>>,
}

/// How a prompt differs from the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptDifference {
    /// First message that differs; `None` if the old prompt is a prefix of the new one.
    pub first_changed: Option<usize>,
    pub system_changed: bool,
    pub tools_changed: bool,
    /// Whether a compaction was made or undone in between.
    pub boundary_changed: bool,
    /// Number of tokens in the messages before the first difference.
    pub stable_tokens: u64,
}

impl PromptShape {
    pub fn new(
        messages: &[PromptMessage],
        around: Option<[u64; 2]>,
        boundary: Option<String>,
    ) -> Self {
        let blocks = |message: &PromptMessage| -> Vec<(Origin, u32)> {
            message.blocks.iter().map(|block| (block.origin, block.tokens)).collect()
        };
        Self { around, boundary, messages: messages.iter().map(blocks).collect() }
    }

    /// Makes the shape of a prompt with another compaction, whose messages are not known. The shape has no beginning in
    /// common with any other prompt.
    pub fn with_other_boundary(around: Option<[u64; 2]>, boundary: Option<String>) -> Self {
        let other = Origin::Written { after: Seq::ZERO, hash: 0 };
        Self { around, boundary, messages: vec![vec![(other, 0)]] }
    }

    /// Returns the last block of the newest user message, where the prompt's newest breakpoint is.
    pub(crate) fn end(&self) -> Option<CacheMark> {
        // The first message is the user's, and roles alternate.
        let message = self.messages.len().checked_sub(1)? / 2 * 2;
        let block = self.messages.get(message)?.len().checked_sub(1)?;
        Some(CacheMark { message, block })
    }

    pub fn difference(&self, before: &PromptShape) -> PromptDifference {
        let mut stable_tokens = 0;
        let mut first_changed = None;
        for (at, old) in before.messages.iter().enumerate() {
            let new = self.messages.get(at).map_or(&[][..], Vec::as_slice);
            let same = old.iter().zip(new).take_while(|(a, b)| a.0 == b.0);
            let kept: Vec<u32> = same.map(|(a, _)| a.1).collect();
            stable_tokens += kept.iter().map(|t| u64::from(*t)).sum::<u64>();
            // The last message may grow; an earlier one that grew has changed.
            let last = at + 1 == before.messages.len();
            if kept.len() < old.len() || (!last && new.len() != old.len()) {
                first_changed = Some(at);
                break;
            }
        }
        let [system_changed, tools_changed] = match (self.around, before.around) {
            (Some(new), Some(old)) => [new[0] != old[0], new[1] != old[1]],
            _ => [false, false],
        };
        let boundary_changed = self.boundary != before.boundary;
        if system_changed || tools_changed {
            stable_tokens = 0;
        }
        PromptDifference {
            first_changed,
            system_changed,
            tools_changed,
            boundary_changed,
            stable_tokens,
        }
    }
}
