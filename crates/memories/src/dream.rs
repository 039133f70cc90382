//! Dreaming: consolidates a project's private memory in the background, or when a person requests it.
//!
//! An engine makes a plan from the topics and the index. This module decides when to dream, takes the lock, and applies
//! the plan file by file: each file is compared with the text that the plan was made for, and its version is stored. A
//! file that was edited in the meantime is left alone. In that case, nothing is removed from other files, because the
//! plan may have moved their text to that file. If the daemon is killed halfway, at worst some text exists twice, and
//! the next dream continues from there.
//!
//! Reading order: `gate` (when to dream) → `run` (one dream) → `lock` → `files` (input) → `model` → `apply` → `undo`.

mod apply;
mod files;
mod gate;
mod lock;
mod model;
pub(crate) mod run;
mod undo;

pub(crate) use files::OURS;

#[cfg(test)]
mod tests;
