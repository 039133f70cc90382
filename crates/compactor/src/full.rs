//! Level 2: a summary that a model writes from the session's own prompt, in one answer without tools.
//!
//! The instruction is appended to the prompt. The answer is not trusted: it is used only if all nine sections are present. The
//! user's messages are always copied from the history, and open tasks, corrections and failures that the answer lacks are
//! added. Other crates call the model.

mod compact_instructions;
mod instruction;
mod read;
mod sections;
mod write;

pub use compact_instructions::compact_instructions;
pub use instruction::{FullInstruction, instruction};
pub use read::{FullFault, FullText, read};
pub use write::FullSummarizer;
