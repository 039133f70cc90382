//! Consolidation: plans how to tidy a memory directory. The plan can be inspected before it is applied.
//!
//! This crate contains the four phases, the rules for what may be changed, and the checks of a model's edits. It is pure: it
//! takes files as text and the time as an argument, and returns a plan. A file that a person wrote or changed is only changed
//! if nothing is lost, and private and team directories never mix. The daemon decides when to dream, takes the lock, and
//! applies the plan; `bethink-memdir` handles front matter and the index.
//!
//! Reading order: [`directory`] → [`mod@plan`] → `bench` → `orient` → `gather` → `consolidate` → `prune`, with
//! `text` and `links` below them; then, for a dream with a model: [`model`].

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

/// Makes the plan for a directory. Once the plan has been applied, the next plan is empty.
pub fn plan(directory: &DreamDirectory, taught: &[TaughtTopic], now: UnixMicros) -> DreamPlan {
    let mut bench = consolidated(directory, taught);
    prune::prune(&mut bench, now);
    bench.finish()
}

/// Returns the directory after all phases except the last.
fn consolidated(directory: &DreamDirectory, taught: &[TaughtTopic]) -> DreamBench {
    let mut bench = DreamBench::open(directory);
    orient::orient(&mut bench);
    gather::gather(&mut bench, taught);
    consolidate::consolidate(&mut bench);
    bench
}
