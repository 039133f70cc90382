//! Extraction: what a session taught is written down when a turn has ended.
//!
//! Leased work, begun when it is quiet: statements since the last look → a plan of texts (by a fork of the session, or
//! by rules from the user's own sentences) → the plan is kept → each text is written by compare-and-swap → the session's
//! mark moves on. A daemon that is killed on the way finds the plan and writes no memory twice.
//!
//! Reading order: `gate` (when) → `heard` (what is looked at) → `known` (what is there, and what a person took out) →
//! `embedded` and `fork` (what is to be written) → `plan` (kept, then carried out) → `run` → `forget`.

mod embedded;
mod forget;
mod fork;
mod gate;
mod heard;
mod known;
mod plan;
mod run;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use gate::Extracting;

/// Work of this module, by the name under which it is leased.
pub(crate) const EXTRACT: &str = "extract";
/// Space of what a person wants forgotten for good, by project: key the statement's words, value a `Meaning`.
const REFUSED: &str = "refused_memory";
/// Space of how far a session was looked through, by session: key `through`, value a seq.
const MARK: &str = "extraction_mark";
/// Space of what is about to be written, by session: key `plan`, value a `Plan`.
const PLAN: &str = "extraction_plan";

/// One extraction of a project at a time, so that two sessions don't learn the same thing twice.
#[derive(Debug, Default)]
pub(crate) struct ExtractionDesk(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl ExtractionDesk {
    async fn enter(&self, project: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let one = {
            let mut projects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that nobody holds or waits for are made anew when they are needed.
            projects.retain(|_, one| Arc::strong_count(one) > 1);
            Arc::clone(projects.entry(project.to_owned()).or_default())
        };
        one.lock_owned().await
    }
}
