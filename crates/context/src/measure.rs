//! Diagnostics of the transformed prompt: how big it is, and what of the last one still holds.

use bethink_transcript::{Origin, Seq, ValidPrompt};

use crate::decision::Decisions;
use crate::history::History;

/// Where a total came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// The provider's last figure, and an estimate of what came after it.
    Reported,
    Estimate,
}

impl TokenSource {
    pub fn as_str(self) -> &'static str {
        match self {
            TokenSource::Reported => "reported+estimate",
            TokenSource::Estimate => "estimate",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    pub tokens: u64,
    pub source: TokenSource,
}

/// Tokens of the whole prompt: `estimated` is that of all its parts, `model` the session's.
///
/// Usage that was reported before the newest change of the view, or by another model, is void.
pub fn measure(history: &History, decisions: &Decisions, model: &str, estimated: u64) -> Measure {
    let entries = history.from(decisions.kept_from());
    let valid_after = decisions.last_edit();
    let reported =
        entries.iter().enumerate().rev().take_while(|(_, e)| e.message.seq > valid_after).find_map(
            |(at, entry)| {
                let usage = entry.message.usage?;
                let same = entry.message.model.as_deref() == Some(model);
                (same && usage.total() > 0).then_some((at, usage))
            },
        );
    let Some((at, usage)) = reported else {
        return Measure { tokens: estimated, source: TokenSource::Estimate };
    };
    let seq = entries.get(at).map_or(Seq::ZERO, |e| e.message.seq);
    let later: u64 = entries.iter().skip(at + 1).map(crate::history::Entry::tokens).sum();
    let attached: u64 =
        decisions.attachments().iter().filter(|a| a.after > seq).map(|a| u64::from(a.tokens)).sum();
    Measure { tokens: usage.total() + later + attached, source: TokenSource::Reported }
}

/// The outline of a prompt that was handed out, to tell what the next one keeps of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Hash of the system part.
    pub system: u64,
    /// Hash of the tools.
    pub tools: u64,
    messages: Vec<Vec<(Origin, u32)>>,
}

/// How a prompt parted from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parting {
    /// First message that differs; `None` when the old prompt is a prefix of the new one.
    pub first_changed: Option<usize>,
    pub system_changed: bool,
    pub tools_changed: bool,
    /// Tokens of the messages before they part.
    pub stable_tokens: u64,
}

impl Shape {
    pub fn new(prompt: &ValidPrompt, system: u64, tools: u64) -> Self {
        let messages = prompt
            .messages()
            .iter()
            .map(|m| m.blocks.iter().map(|b| (b.origin, b.tokens)).collect())
            .collect();
        Self { system, tools, messages }
    }

    /// Compares with the prompt handed out before this one.
    pub fn parting(&self, before: &Shape) -> Parting {
        let mut stable_tokens = 0;
        let mut first_changed = None;
        for (at, old) in before.messages.iter().enumerate() {
            let new = self.messages.get(at).map_or(&[][..], Vec::as_slice);
            let same = old.iter().zip(new).take_while(|(a, b)| a.0 == b.0);
            let kept: Vec<u32> = same.map(|(a, _)| a.1).collect();
            stable_tokens += kept.iter().map(|t| u64::from(*t)).sum::<u64>();
            // The last message may go on; an earlier one that goes on has changed.
            let last = at + 1 == before.messages.len();
            if kept.len() < old.len() || (!last && new.len() != old.len()) {
                first_changed = Some(at);
                break;
            }
        }
        let system_changed = self.system != before.system;
        let tools_changed = self.tools != before.tools;
        if system_changed || tools_changed {
            stable_tokens = 0;
        }
        Parting { first_changed, system_changed, tools_changed, stable_tokens }
    }
}
