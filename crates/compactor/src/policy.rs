//! When to compact, and when to stop trying.

use bethink_context::Thresholds;
use serde::{Deserialize, Serialize};

use crate::limits::CompactLimits;

/// What caused a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The window reached `auto`.
    Auto,
    Manual,
    /// A provider's overflow error.
    Reactive,
}

impl Trigger {
    pub fn as_str(self) -> &'static str {
        match self {
            Trigger::Auto => "auto",
            Trigger::Manual => "manual",
            Trigger::Reactive => "reactive",
        }
    }
}

/// Stops a session from compacting endlessly. It is stored with the session, except for the number of turns, which is
/// counted from the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Breakers {
    failures: u32,
    #[serde(skip)]
    turns_since: Option<u32>,
    refills: u32,
}

/// The decision about a prompt of a given size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    Nothing,
    Compact,
    /// A compaction is due but not made, for this reason.
    Held(String),
}

impl Breakers {
    /// Records that a prompt was requested.
    pub fn turn(&mut self) {
        if let Some(turns) = &mut self.turns_since {
            *turns += 1;
        }
    }

    /// Returns the breakers of a session whose newest compaction was followed by this number of turns.
    #[must_use]
    pub fn after_turns(self, turns_since: Option<u32>) -> Self {
        Self { turns_since, ..self }
    }

    pub fn failed(&mut self) {
        self.failures += 1;
    }

    pub fn succeeded(&mut self, trigger: Trigger, limits: &CompactLimits) {
        let refilled = self.turns_since.is_some_and(|turns| turns <= limits.thrash_turns);
        self.refills = match trigger {
            Trigger::Auto if refilled => self.refills + 1,
            _ => 0,
        };
        self.failures = 0;
        self.turns_since = Some(0);
    }

    fn open(&self, limits: &CompactLimits) -> Option<String> {
        if self.failures >= limits.max_failures {
            return Some(format!(
                "compaction failed {} times in a row and is no longer tried automatically; run `bethink compact` to retry",
                self.failures
            ));
        }
        self.thrashing(limits)
    }

    /// Returns how quickly the window fills up again, if compactions do not help. In that case, no model is paid for
    /// another summary.
    pub fn thrashing(&self, limits: &CompactLimits) -> Option<String> {
        (self.refills >= limits.thrash_times).then(|| {
            format!(
                "the window filled up again within {} turns of a compaction, {} times in a row",
                limits.thrash_turns, self.refills
            )
        })
    }
}

/// Decides about an automatic compaction. If the newest compaction was `undone`, the person wants the whole view for as
/// long as it fits.
pub fn decide(
    tokens: u64,
    thresholds: &Thresholds,
    breakers: &Breakers,
    limits: &CompactLimits,
    undone: bool,
) -> Policy {
    // Thrashing or an undo delays compaction only until the window is full: then the session could not continue
    // otherwise. While it is thrashing, no model is asked.
    if tokens >= thresholds.blocking && breakers.failures < limits.max_failures {
        return Policy::Compact;
    }
    if tokens < thresholds.auto {
        return Policy::Nothing;
    }
    match breakers.open(limits) {
        Some(reason) => Policy::Held(reason),
        None if undone => Policy::Held(
            "the last compaction was undone; the next one waits until the window is full"
                .to_owned(),
        ),
        None => Policy::Compact,
    }
}

#[cfg(test)]
mod tests {
    use bethink_context::window_thresholds;

    use super::*;

    fn thresholds() -> Thresholds {
        window_thresholds(200_000, 20_000, 0.0).unwrap()
    }

    fn policy(tokens: u64, breakers: &Breakers, undone: bool) -> Policy {
        decide(tokens, &thresholds(), breakers, &CompactLimits::default(), undone)
    }

    #[test]
    fn at_auto_and_not_before() {
        let breakers = Breakers::default();
        assert_eq!(policy(166_999, &breakers, false), Policy::Nothing);
        assert_eq!(policy(167_000, &breakers, false), Policy::Compact);
        assert!(matches!(policy(167_000, &breakers, true), Policy::Held(_)));
        assert_eq!(policy(177_000, &breakers, true), Policy::Compact);
    }

    #[test]
    fn three_failures_open_the_circuit_and_a_success_closes_it() {
        let mut breakers = Breakers::default();
        for _ in 0..3 {
            assert_eq!(policy(170_000, &breakers, false), Policy::Compact);
            breakers.failed();
        }
        assert!(matches!(policy(170_000, &breakers, false), Policy::Held(_)));
        assert!(matches!(policy(179_000, &breakers, false), Policy::Held(_)));
        breakers.succeeded(Trigger::Manual, &CompactLimits::default());
        assert_eq!(policy(170_000, &breakers, false), Policy::Compact);
    }

    #[test]
    fn three_quick_refills_open_the_thrash_breaker() {
        let limits = CompactLimits::default();
        let mut breakers = Breakers::default();
        breakers.succeeded(Trigger::Auto, &limits);
        for refill in 0..3 {
            assert_eq!(policy(170_000, &breakers, false), Policy::Compact, "{refill}");
            breakers.turn();
            breakers.turn();
            breakers.succeeded(Trigger::Auto, &limits);
        }
        assert!(matches!(policy(170_000, &breakers, false), Policy::Held(_)));
        assert_eq!(
            policy(177_000, &breakers, false),
            Policy::Compact,
            "the session could not continue otherwise"
        );
        for _ in 0..4 {
            breakers.turn();
        }
        breakers.succeeded(Trigger::Auto, &limits);
        assert_eq!(policy(170_000, &breakers, false), Policy::Compact);
    }
}
