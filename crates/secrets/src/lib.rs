//! Finds text that must not be shared: keys and passwords, and invisible characters.
//!
//! This crate does no I/O, and a finding never contains the value. A rule names the kind of key, so that a person knows
//! what to remove. [`gate`] checks any text before it enters or leaves a team's memory. The daemon decides what to do.
//!
//! Reading order: [`gate`] → [`scan`](mod@scan) → `table` (`rules.toml`) → `rules` → `judge` → `view` → `decode`; `redact`.

mod decode;
pub mod gate;
mod judge;
mod redact;
mod rules;
pub mod scan;
mod table;
mod view;

pub use gate::{SecretRefusal, gate};
pub use redact::redact;
pub use scan::{Hiding, ScannedText, SecretFinding, scan};
