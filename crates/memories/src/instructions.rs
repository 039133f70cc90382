//! Instruction files of a session: when they are read again, what was touched, who approved what, and where
//! they go in prompts.
//!
//! The chain is in the project part of the system prompt and never depends on touched files. Files that apply
//! because of a touched file are attached at the end, and stay until the next compaction.
//!
//! Reading order: `disk` → `standing` → `prompt` → `answer` → `approval`.

mod answer;
mod approval;
mod disk;
pub(crate) mod prompt;
mod standing;

#[cfg(test)]
mod tests;
