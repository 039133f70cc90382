//! Extraction: writes down what a session taught when a turn has ended.
//!
//! A job that starts when the session is idle: statements since the last run → a plan of texts (by a fork of
//! the session, or by rules from the user's own sentences) → the plan is stored → each text is written by
//! compare-and-swap → the session's mark moves on. After a crash, the daemon finds the plan and writes no
//! memory twice.
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
