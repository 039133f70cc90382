//! Waiting for a condition, never for a time.

use std::time::{Duration, Instant};

/// Longest that a test waits for anything before it calls it a hang.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks until there is an answer; `None` when `limit` has passed without one.
///
/// Asks twice a millisecond: fine enough to measure a start by, and it leaves the cores to the
/// daemon that is waited for.
pub fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if start.elapsed() > limit {
            return None;
        }
        std::thread::park_timeout(Duration::from_micros(500));
    }
}
