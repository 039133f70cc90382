//! Power cuts: the daemon's home is on a disk that logs each write and flush, and is rebuilt as of a random moment.
//!
//! A disk keeps what was flushed. Of later writes, a cut keeps all, none, or a random part, which may end in the middle
//! of a write. Everything that the daemon acknowledged before the cut must be there. The disk also has a file that is
//! synced after each line, and one that is never synced: the first must keep all lines, and the second must lose some,
//! because otherwise the simulated disk would prove nothing.
//!
//! Reading order: [`log_disk`] → [`mounted`] → [`control`] → [`cuts`].

pub mod control;
pub mod cuts;
mod fuse;
pub mod log_disk;
pub mod mounted;

use std::time::{Duration, Instant};

use crate::limit::AttackLimit;
use crate::report::AttackResult;
use cuts::{CutTally, Recording};

/// The workload runs for one part in this many of the time; the rest is for cuts.
const RECORDED: u32 = 6;
/// The longest workload, because each cut checks all of it.
const LONGEST: Duration = Duration::from_secs(12);

/// Records workloads and cuts the power.
pub fn run(limit: AttackLimit, seed: u64) -> Vec<AttackResult> {
    if let Err(why) = mounted::is_possible() {
        return vec![AttackResult::not_run("power cuts", &why)];
    }
    let (start, mut tally, mut round) = (Instant::now(), CutTally::default(), seed);
    let time = limit.left();
    while limit.allows(tally.cuts) {
        let recording = Recording::make((time / RECORDED).min(LONGEST), round);
        recording.cut_power(limit.within(time / 2), round, &mut tally);
        round += 1;
    }
    tally.rows(start.elapsed())
}
