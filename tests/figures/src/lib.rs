//! Measures bethink, with figures that anyone can reproduce.
//!
//! Each file has one measurement, with its baseline in the same run. The crate uses every crate that it measures; no
//! crate depends on it.
//!
//! Reading order: [`table`] → [`recording`] → [`drive`] ([`retention`]) → [`histories`] →
//! [`prompts`] → [`appends`] ([`postgres`], [`scale`]) → [`notes`] ([`sides`]) → [`imports`] → [`memory`] → [`starts`] →
//! [`tokens`] ([`growth`], [`fit`]) → [`search`] → [`ranking`] ([`talk`]) → [`model_notes`] ([`asking`]) →
//! [`model_drive`] ([`watch`]) → [`model_prefix`] → [`gateway`] → [`gateway_streams`] → [`gateway_endless`] → [`hooks`], and on memory [`extraction`] → [`recall`] → [`questions`].

// A failed measurement ends the program.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

pub mod appends;
pub mod asking;
pub mod builds;
pub mod drive;
pub mod extraction;
pub mod fit;
pub mod gateway;
pub mod gateway_endless;
pub mod gateway_streams;
pub mod growth;
pub mod held;
pub mod histories;
pub mod hooks;
pub mod hostile;
pub mod imports;
pub mod memdir;
pub mod memory;
pub mod model_drive;
pub mod model_notes;
pub mod model_prefix;
pub mod needs;
pub mod notes;
pub mod postgres;
pub mod prompts;
pub mod questions;
pub mod ranking;
pub mod recall;
pub mod recording;
pub mod retention;
pub mod scale;
pub mod search;
pub mod secrets;
pub mod sides;
pub mod starts;
pub mod table;
pub mod talk;
pub mod tokens;
pub mod watch;

use std::time::{Duration, Instant};

/// Measures how long `work` takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

/// Returns the median; zero if there are no values.
pub fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Formats milliseconds.
pub fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
