//! How long an engine takes.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::engines::TextEngine;

/// Returns the least time of several runs, in time of the processor: other programs on the machine do not count, and what
/// they disturb is only ever slower.
pub fn least_time(engine: &TextEngine, text: &str, runs: usize) -> Duration {
    let run = |_| {
        let begun = processor_time();
        (engine.read)(text);
        processor_time().saturating_sub(begun)
    };
    (0..runs).map(run).min().unwrap_or_default()
}

/// Returns how long this thread has been running on a processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
