//! Replays a recorded session through a daemon, as its agent did, measures its prompts, and counts
//! compactions and invalid prompts.
//!
//! This crate reads recordings, replays them and computes the figures. `client` sends the requests; the caller shows
//! the results.
//!
//! Reading order: `recording` → `question` → `structure` → `player`.

mod player;
mod question;
mod recording;
mod structure;

pub use player::{CompactionFigures, Player, ReplayError, ReplayOutcome, ReplayPlan, ReplayStep};
pub use question::{prose, question};
pub use recording::{Recorded, Recording};
