//! Finds what must not be shared: keys and passwords, and invisible characters.
//!
//! Pure: text in, findings out, and a finding never contains the value. A rule names its kind of key, so that a
//! person knows what to remove; [`gate`] is the check before any text enters or leaves a team's memory. The daemon
//! decides whom to tell and what to do about it.
//!
//! Reading order: [`gate`] → [`scan`](mod@scan) → `table` (`rules.toml`) → `rules` → `judge` → `view` → `decode`.

mod decode;
pub mod gate;
mod judge;
mod rules;
pub mod scan;
mod table;
mod view;

pub use gate::{SecretRefusal, gate};
pub use scan::{Hiding, ScannedText, SecretFinding, scan};
