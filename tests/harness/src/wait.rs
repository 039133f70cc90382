//! Waits for a condition, never for a fixed time.

use std::time::{Duration, Instant};

/// How long a test waits for anything before it fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Calls `ask` until it returns something; `None` after `limit`. Calls it every half millisecond, which is
/// precise enough to measure a start, and leaves the processor to the daemon.
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
