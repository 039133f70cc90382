//! Plays a recorded session through a daemon as its agent would have, and measures the result.
//!
//! Owns reading recordings as calls, playing them, and the figures. Requests to the daemon go through
//! `bethink-client`; the caller displays the results.
//!
//! Reading order: `recording` → `question` → `structure` → `player`.

mod player;
mod question;
mod recording;
mod structure;

pub use player::{CompactionFigures, Player, ReplayError, ReplayOutcome, ReplayPlan, ReplayStep};
pub use question::{prose, question};
pub use recording::{Recorded, Recording};
