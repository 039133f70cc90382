//! How long an attack runs.

use std::time::{Duration, Instant};

/// The end of an attack: a time, or a number of attempts, whichever comes first.
#[derive(Clone, Copy, Debug)]
pub struct AttackLimit {
    end: Instant,
    attempts: u64,
}

impl AttackLimit {
    pub fn new(time: Duration, attempts: u64) -> Self {
        Self { end: Instant::now() + time, attempts }
    }

    /// Returns whether there may be another attempt after `done` ones.
    pub fn allows(&self, done: u64) -> bool {
        done < self.attempts && !self.left().is_zero()
    }

    /// Returns the remaining time.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Returns this limit, but at most `time` from now.
    pub fn within(&self, time: Duration) -> Self {
        Self { end: self.end.min(Instant::now() + time), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attack_ends_after_its_time_or_its_attempts() {
        let hour = Duration::from_secs(3600);
        assert!(AttackLimit::new(hour, 3).allows(2));
        assert!(!AttackLimit::new(hour, 3).allows(3));
        assert!(!AttackLimit::new(Duration::ZERO, 3).allows(0));
        assert!(!AttackLimit::new(hour, 3).within(Duration::ZERO).allows(0));
    }
}
