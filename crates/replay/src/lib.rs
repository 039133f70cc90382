//! Plays a recorded session through a daemon as its agent would have, and measures.
//!
//! Owns the reading of recordings as calls, the playing of them and the figures. Leaves asking the daemon to
//! `bethink-client`, and everything shown to its caller.
//!
//! Reading order: `recording` → `question` → `structure` → `player`.

mod player;
mod question;
mod recording;
mod structure;

pub use player::{CompactionFigures, Player, ReplayError, ReplayOutcome, ReplayPlan, ReplayStep};
pub use question::{prose, question};
pub use recording::{Recorded, Recording};
