//! Dreaming: a project's own memory is consolidated when nobody waits, or when a person asks.
//!
//! An engine makes a plan from the texts; here is when, who alone, and how a plan is made true: file by file,
//! each compared with what the plan was made for, its version kept. A file that was edited meanwhile is left
//! alone, and then nothing is removed, because what is removed may have moved to it. Whoever is killed on the
//! way has written something twice at most, and the next run goes on from what stands there.
//!
//! Reading order: `gate` (when) → `run` (one dream) → `lock` (alone) → `files` (what is there) → `model` → `apply` → `undo`.

mod apply;
mod files;
mod gate;
mod lock;
mod model;
pub(crate) mod run;
mod undo;

#[cfg(test)]
mod tests;
