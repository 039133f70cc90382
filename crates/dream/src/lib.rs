//! Consolidation: tidies a memory directory, as a plan that can be inspected first.
//!
//! Owns the four phases, what may be changed in a directory, and how a model's edits are judged. Pure: files
//! come in as text, a plan goes out; the time is an argument. A file that a person wrote or touched is only
//! changed if nothing is lost; private and team directories never mix. Leaves to the daemon when to dream, the
//! lock, and applying the plan, and headers and the index to `bethink-memdir`.
//!
//! Reading order: [`directory`] → [`mod@plan`] → `bench` → `orient` → `gather` → `consolidate` → `prune`, with
//! `text` and `links` below them; then, for a strategy that asks a model: [`model`].

mod bench;
mod consolidate;
pub mod directory;
mod gather;
pub mod limits;
mod links;
pub mod model;
mod orient;
pub mod plan;
mod prune;
mod text;

use bethink_transcript::UnixMicros;

use bench::DreamBench;

pub use directory::{DreamDirectory, DreamTopic, TaughtTopic};
pub use plan::{DreamPlan, Phase, PlannedChange, diff};

/// The plan for a directory. After it was applied, a new plan is empty.
pub fn plan(directory: &DreamDirectory, taught: &[TaughtTopic], now: UnixMicros) -> DreamPlan {
    let mut bench = consolidated(directory, taught);
    prune::prune(&mut bench, now);
    bench.finish()
}

/// The directory after all phases except the last.
fn consolidated(directory: &DreamDirectory, taught: &[TaughtTopic]) -> DreamBench {
    let mut bench = DreamBench::open(directory);
    orient::orient(&mut bench);
    gather::gather(&mut bench, taught);
    consolidate::consolidate(&mut bench);
    bench
}
