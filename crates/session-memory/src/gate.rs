//! Decides when notes are due: the history has grown enough, and there is a pause or enough work has been done.
//!
//! Growth is measured in estimated tokens of the history, not of the prompt: the history never shrinks, so a compaction
//! does not delay the notes.

use bethink_transcript::{AssistantMessageId, Message, Role};

/// When an update is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateLimits {
    /// Number of tokens that the history must have before the first update.
    pub first: u64,
    /// Number of tokens by which the history must grow between two updates.
    pub growth: u64,
    /// Number of tool calls that must happen between two updates, unless the last assistant turn made none.
    pub tool_calls: u64,
}

impl GateLimits {
    pub const DEFAULT: Self = Self { first: 10_000, growth: 5_000, tool_calls: 3 };
    /// Fewer updates, for strategies that cost money.
    pub const FRUGAL: Self = Self { first: 30_000, growth: 20_000, tool_calls: 3 };

    /// Returns the limits of a profile, or the default for an unknown name.
    pub fn of_profile(name: &str) -> Self {
        if name == "frugal" { Self::FRUGAL } else { Self::DEFAULT }
    }
}

/// How much a history has grown, in total and since the last update of its notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    tokens: u64,
    /// Number of tokens in the history at the last update; `None` before the first.
    noted: Option<u64>,
    calls_since: u64,
    last_turn: Option<AssistantMessageId>,
    last_turn_called: bool,
}

impl Growth {
    /// Starts with a history of `tokens` tokens. `noted` says whether the notes cover it.
    pub fn from(tokens: u64, noted: bool) -> Self {
        Self { tokens, noted: noted.then_some(tokens), ..Self::default() }
    }

    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    pub fn observe(&mut self, message: &Message, tokens: u64) {
        self.tokens += tokens;
        if message.role == Role::User {
            self.last_turn = None;
            return;
        }
        let calls = message.tool_uses().count() as u64;
        self.calls_since += calls;
        let same_turn = self.last_turn.is_some() && self.last_turn == message.assistant_message_id;
        self.last_turn_called = calls > 0 || (same_turn && self.last_turn_called);
        self.last_turn.clone_from(&message.assistant_message_id);
    }

    pub fn is_due(&self, limits: &GateLimits) -> bool {
        let grown = match self.noted {
            None => self.tokens >= limits.first.max(limits.growth),
            Some(noted) => self.tokens.saturating_sub(noted) >= limits.growth,
        };
        grown && (self.calls_since >= limits.tool_calls || !self.last_turn_called)
    }

    /// Records that notes were written when the history had `tokens` tokens. Messages that arrived meanwhile count for
    /// the next update.
    pub fn noted(&mut self, tokens: u64) {
        self.noted = Some(tokens);
        self.calls_since = 0;
    }
}

#[cfg(test)]
mod tests {
    use bethink_transcript::message::MessageSource;
    use bethink_transcript::{MessageId, MessageMeta, Seq, UnixMicros};

    use super::*;

    fn message(role: &str, calls: u64) -> Message {
        let uses: Vec<String> = (0..calls)
            .map(|n| format!(r#"{{"type":"tool_use","id":"t{n}","name":"Read","input":{{}}}}"#))
            .collect();
        let content = format!(
            r#"[{{"type":"text","text":"x"}}{}{}]"#,
            if calls > 0 { "," } else { "" },
            uses.join(",")
        );
        let raw = format!(r#"{{"role":"{role}","content":{content}}}"#);
        let meta = MessageMeta {
            seq: Seq(1),
            id: MessageId::new("m").unwrap(),
            created_at: UnixMicros(0),
        };
        Message::parse(meta, raw.into_bytes().into(), MessageSource::Client).unwrap()
    }

    /// Messages as (role, tokens, tool calls); an update is due after the last.
    fn check(limits: GateLimits, noted: Option<u64>, messages: &[(&str, u64, u64)], due: bool) {
        let mut growth = Growth::from(noted.unwrap_or(0), noted.is_some());
        for (role, tokens, calls) in messages {
            growth.observe(&message(role, *calls), *tokens);
        }
        assert_eq!(growth.is_due(&limits), due, "{limits:?} {noted:?} {messages:?}");
    }

    #[test]
    fn the_first_notes_come_at_ten_thousand_and_the_next_every_five() {
        let all = GateLimits::DEFAULT;
        check(all, None, &[("user", 9_900, 0), ("assistant", 99, 0)], false);
        check(all, None, &[("user", 9_900, 0), ("assistant", 100, 0)], true);
        check(all, Some(10_000), &[("user", 4_900, 0), ("assistant", 99, 0)], false);
        check(all, Some(10_000), &[("user", 4_900, 0), ("assistant", 100, 0)], true);
    }

    #[test]
    fn during_work_an_update_takes_three_calls() {
        let all = GateLimits::DEFAULT;
        check(all, Some(0), &[("user", 6_000, 0), ("assistant", 10, 2)], false);
        check(all, Some(0), &[("user", 6_000, 0), ("assistant", 10, 3)], true);
        let rounds =
            [("assistant", 10, 1), ("user", 6_000, 0), ("assistant", 9, 1), ("assistant", 9, 1)];
        check(all, Some(0), &rounds, true);
        check(all, Some(0), &[("assistant", 6_000, 1), ("user", 9, 0), ("assistant", 9, 0)], true);
    }

    #[test]
    fn the_frugal_profile_waits_longer() {
        let frugal = GateLimits::FRUGAL;
        check(frugal, None, &[("assistant", 29_999, 0)], false);
        check(frugal, None, &[("assistant", 30_000, 0)], true);
        check(frugal, Some(30_000), &[("assistant", 19_999, 0)], false);
        check(frugal, Some(30_000), &[("assistant", 20_000, 0)], true);
        assert_eq!(GateLimits::of_profile("frugal"), frugal);
        assert_eq!(GateLimits::of_profile("lavish"), GateLimits::DEFAULT);
    }

    #[test]
    fn messages_during_an_update_count_for_the_next() {
        let mut growth = Growth::default();
        growth.observe(&message("assistant", 0), 10_000);
        let then = growth.tokens();
        growth.observe(&message("assistant", 0), 4_000);
        growth.noted(then);
        assert!(!growth.is_due(&GateLimits::DEFAULT));
        growth.observe(&message("assistant", 0), 1_000);
        assert!(growth.is_due(&GateLimits::DEFAULT));
    }
}
