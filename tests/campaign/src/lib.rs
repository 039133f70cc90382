//! Attacks bethink, and counts what broke: kills, power cuts, disk faults, flipped bits, load, hostile requests,
//! fuzzing.
//!
//! Each part runs the real daemon, or the parsers that read text from outside, for a share of the given time. What the
//! daemon promises, and what it does not, is in `docs/promises.md`.
//!
//! Reading order: [`limit`] → [`report`] → [`fuzz`] → [`power`] → [`faults`] → [`flips`] → [`load`] → [`requests`] → [`parts`].

// If the campaign cannot continue, the program ends.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

pub mod faults;
pub mod flips;
pub mod fuzz;
pub mod limit;
pub mod load;
pub mod parts;
pub mod power;
pub mod report;
pub mod requests;
