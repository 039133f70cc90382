//! Reads the transcripts of other agents, as lines of Claude Code's session files.
//!
//! This crate knows what the records of each agent mean: messages and their authors, tool calls and their results,
//! compactions, parent sessions. Its output has the format that `session-file` reads, so importing, following and exporting
//! sessions need no other format. Finding and opening files is up to the callers; [`TranscriptAgent::place`] says where to
//! look.
//!
//! What a program wrote in the user's name (the environment, instructions, reminders) is marked with `said_as`, so it is
//! neither used as a title nor taken for the user's own words. Reasoning without a provider's signature is left out, as in the
//! gateway. Nothing is written twice, although some agents repeat records when they change something.
//!
//! Reading order: [`agent`] → [`header`] → [`reader`] → `lines` (what is written) → one module for each agent.

pub mod agent;
mod blocks;
mod cline;
mod codex;
mod continue_dev;
mod format;
mod gemini;
mod harness;
pub mod header;
mod lines;
mod opencode;
mod parts;
mod pi;
mod qwen;
pub mod reader;

pub use agent::{StorageForm, TranscriptAgent};
pub use header::{ParentTranscript, TranscriptContext, TranscriptHeader};
pub use reader::{MAX_DOCUMENT_BYTES, SkippedRecord, TranscriptReader};

#[cfg(test)]
mod tests;
