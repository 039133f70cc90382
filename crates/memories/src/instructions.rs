//! Instruction files of a session: when they are read again, what was touched, who approved what, and where
//! they stand in its prompts.
//!
//! The chain stands in the project part of the system prompt and never depends on what was touched. What a
//! touched file brings in is attached at the tail and holds until the next compaction.
//!
//! Reading order: `disk` → `standing` → `prompt` → `answer` → `approval`.

mod answer;
mod approval;
mod disk;
pub(crate) mod prompt;
mod standing;

#[cfg(test)]
mod tests;
