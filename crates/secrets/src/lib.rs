//! Finds what must not be shared: keys and passwords, and characters that a reader does not see.
//!
//! Pure: text in, findings out, and a finding never holds the value. A rule names its kind of key, so that
//! a person knows what to take out; [`gate`] is the one question that everything asks before text enters
//! a team's memory or leaves for it. Who is told, and what is done about it, is the daemon's.
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
