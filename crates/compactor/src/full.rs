//! Level 2: a summary that a model writes over the session's own prompt, in one answer without tools.
//!
//! What the model is told is appended to the prompt; what it answers is read with suspicion, and kept only
//! if all nine sections are there. The user's own words are never its own: they are written from history,
//! like the files, names and code that its text lacks. Asking the model is not done here.

mod instruction;
mod read;
mod sections;
mod wish;
mod write;

pub use instruction::{FullInstruction, instruction};
pub use read::{FullFault, FullText, read};
pub use wish::compact_instructions;
pub use write::FullSummarizer;
