//! Detects from the provider's figures that a cached prefix was not found again, and finds the cause.
//!
//! An answer reports how much of its prompt was read from the cache and how much was written to it. The next prompt
//! should read all of that. If it reads much less, the prefix changed or the cache expired. The prompts that were
//! handed out in between show what changed.

use bethink_api::PromptChange;
use bethink_transcript::{AssistantMessageId, Message, Role, Seq, UnixMicros};

use crate::usage::undated;

/// Minimum percentage of the prefix that must be lost for a cache drop.
pub const LOST_PERCENT: u64 = 5;
/// Minimum number of tokens that must be lost for a cache drop. Smaller losses come from where the breakpoints are.
pub const LOST_TOKENS: u64 = 2_000;

/// A drop in the number of tokens read from the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheDrop {
    pub cause: PromptChange,
    /// Number of tokens that were in the cache.
    pub cached: u64,
    /// Number of tokens that were read from the cache.
    pub read: u64,
    /// The answer that reported the drop.
    pub seq: Seq,
    pub at: UnixMicros,
}

impl CacheDrop {
    /// Whether the drop is intended, so that there is nothing to fix: a compaction replaces the prefix on purpose.
    pub fn is_expected(&self) -> bool {
        self.cause == PromptChange::Compaction
    }
}

/// What one answer reported about the cache.
#[derive(Clone, Debug)]
struct CacheReading {
    /// Number of tokens read and written, all of which the next prompt can read.
    cached: u64,
    model: String,
    answer: Option<AssistantMessageId>,
    at: UnixMicros,
}

/// What changed in the prompts that were handed out since the last reading.
#[derive(Clone, Debug, Default)]
struct CacheChanges {
    compacted: bool,
    tools: bool,
    system: bool,
    other: Option<PromptChange>,
}

/// Watches the cache of one session.
#[derive(Clone, Debug, Default)]
pub struct CacheWatch {
    last: Option<CacheReading>,
    through: Seq,
    /// Hashes of the system prompt and tools of the newest prompt that was handed out.
    frame: Option<(u64, u64)>,
    changes: CacheChanges,
    breaks: u64,
    last_fall: Option<CacheDrop>,
}

impl CacheWatch {
    /// Returns the number of unexpected drops since the watch began.
    pub fn breaks(&self) -> u64 {
        self.breaks
    }

    pub fn last_fall(&self) -> Option<&CacheDrop> {
        self.last_fall.as_ref()
    }

    /// Whether an answer was recorded that the next one can be compared with.
    pub fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// Records a prompt that is handed out. `changed_by` is the cause if the prompt differs from the previous one.
    pub fn handed_out(&mut self, system: u64, tools: u64, changed_by: Option<PromptChange>) {
        if let Some((old_system, old_tools)) = self.frame.replace((system, tools)) {
            self.changes.system |= old_system != system;
            self.changes.tools |= old_tools != tools;
        }
        match changed_by {
            None | Some(PromptChange::System | PromptChange::Tools) => {}
            Some(PromptChange::Compaction) => self.changes.compacted = true,
            Some(other) => self.changes.other = Some(other),
        }
    }

    /// Records that a compaction was made or undone.
    pub fn compacted(&mut self) {
        self.changes.compacted = true;
    }

    /// Reads the session's next message, and returns a cache drop if its figures show one. The message is by `model`
    /// unless it names another model. `ttl` is the lifetime of the cache, in microseconds.
    pub fn observe(&mut self, message: &Message, model: &str, ttl: i64) -> Option<CacheDrop> {
        if message.seq <= self.through {
            return None;
        }
        self.through = message.seq;
        let usage = message.usage.filter(|usage| usage.prompt() > 0)?;
        if message.role != Role::Assistant {
            return None;
        }
        let answer = message.assistant_message_id.clone();
        // Parts of one answer repeat its figures.
        if answer.is_some() && self.last.as_ref().is_some_and(|last| last.answer == answer) {
            return None;
        }
        let (read, at) = (usage.cache_read_input_tokens, message.created_at);
        let cached = read.saturating_add(usage.cache_creation_input_tokens);
        let model = undated(message.model.as_deref().unwrap_or(model)).to_owned();
        let now = CacheReading { cached, model, answer, at };
        let changes = std::mem::take(&mut self.changes);
        let last = self.last.replace(now.clone())?;
        let lost = last.cached.saturating_sub(read);
        let share = u128::from(last.cached) * u128::from(LOST_PERCENT);
        if lost < LOST_TOKENS || u128::from(lost) * 100 <= share {
            return None;
        }
        let cause = cause(&changes, &last, &now, ttl);
        let fall = CacheDrop { cause, cached: last.cached, read, seq: message.seq, at };
        self.breaks += u64::from(!fall.is_expected());
        self.last_fall = Some(fall.clone());
        Some(fall)
    }
}

/// Returns the most certain cause: a compaction or a change by the client, then time, then a stage. A stage comes last,
/// because it often acts when the cache has expired anyway.
fn cause(
    changes: &CacheChanges,
    last: &CacheReading,
    now: &CacheReading,
    ttl: i64,
) -> PromptChange {
    if changes.compacted {
        PromptChange::Compaction
    } else if last.model != now.model {
        PromptChange::Model
    } else if changes.tools {
        PromptChange::Tools
    } else if changes.system {
        PromptChange::System
    } else if now.at.0.saturating_sub(last.at.0) > ttl {
        PromptChange::Idle
    } else {
        changes.other.unwrap_or(PromptChange::Unknown)
    }
}
