//! A session's instruction files: when to read them again, touched files, approved imports, and their place in prompts.
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
