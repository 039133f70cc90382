//! `kill -9` at random moments while clients make every kind of write: all that was acknowledged is there, once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use bethink_harness::kill_loop;

/// Enough to find a wrong order of commits within minutes; the figures program runs 500.
const CYCLES: usize = 50;

#[test]
fn what_was_acknowledged_survives_kill_9_once() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let cycles = number("BETHINK_KILL_CYCLES").map_or(CYCLES, |n: u64| n as usize);
    let seed = number("BETHINK_KILL_SEED").unwrap_or(0x00be_7419);
    let tally = kill_loop::run(cycles, seed);
    println!("{tally} (seed {seed})");
    assert!(tally.is_clean(), "{tally:?}");
    assert!(tally.acknowledged >= cycles as u64, "the writers hardly wrote: {tally}");
}
