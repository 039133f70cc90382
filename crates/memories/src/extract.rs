//! Extraction: when a turn has ended, finds what the session taught and writes it to memory.
//!
//! A job runs when the session is idle. It reads the statements since the last extraction and plans which texts to
//! write, either with a model in a fork of the session or by rules. It stores the plan, writes each text by
//! compare-and-swap, and moves the mark, which shows how far the session has been read. After a crash, the stored plan
//! prevents memories from being written twice.
//!
//! Reading order: `gate` (when to extract) → `statements` (statements) → `known` (existing and removed statements) →
//! `embedded` and `fork` (the plan) → `plan` (carrying it out) → `run` → `forget`.

mod embedded;
mod forget;
mod fork;
mod gate;
mod known;
mod plan;
pub(crate) mod run;
mod statements;
#[cfg(test)]
mod tests;
