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
pub(crate) mod run;
#[cfg(test)]
mod tests;
