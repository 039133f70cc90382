//! Counts requests without valid credentials, so that guessing a token is slow while the right one still works.

use std::time::Duration;

use tokio::time::Instant;

/// Number of requests without valid credentials that are answered with 401 in each window. Further ones are answered
/// with 429.
pub(crate) const MAX_FAILURES: u32 = 20;

pub(crate) const WINDOW: Duration = Duration::from_secs(60);

/// Failures in the current window.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    since: Option<Instant>,
    count: u32,
}

impl Failures {
    /// Counts one failure. Returns how long to wait if there were too many.
    pub(crate) fn count(&mut self, now: Instant) -> Option<Duration> {
        let since = match self.since {
            Some(since) if now.duration_since(since) < WINDOW => since,
            _ => {
                self.count = 0;
                *self.since.insert(now)
            }
        };
        self.count = self.count.saturating_add(1);
        (self.count > MAX_FAILURES).then(|| WINDOW - now.duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_failures_a_window() {
        let start = Instant::now();
        let mut failures = Failures::default();
        for _ in 0..MAX_FAILURES {
            assert_eq!(failures.count(start), None);
        }
        let later = start + Duration::from_secs(20);
        assert_eq!(failures.count(later), Some(Duration::from_secs(40)));
        assert_eq!(failures.count(start + WINDOW), None);
    }
}
