//! Instruction files of a session: when they are read again, which files were touched, which imports are approved, and
//! where prompts show them.
//!
//! The chain is in the project part of the system prompt and never depends on touched files. Instructions for touched
//! files are attached at the end, and stay until the next compaction.
//!
//! Reading order: `disk` → `standing` → `prompt` → `answer` → `approval`.

mod answer;
mod approval;
mod disk;
pub(crate) mod prompt;
mod standing;

#[cfg(test)]
mod tests;
