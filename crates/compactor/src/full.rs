//! Level 2: a summary that a model writes from the session's own prompt, in one answer without tools.
//!
//! The instruction is appended to the prompt. The answer is not trusted: it is used only if all nine sections
//! are there. The user's messages are never taken from it but copied from history, and so are files, names
//! and code that it lacks. The call to the model is made elsewhere.

mod instruction;
mod read;
mod sections;
mod wish;
mod write;

pub use instruction::{FullInstruction, instruction};
pub use read::{FullFault, FullText, read};
pub use wish::compact_instructions;
pub use write::FullSummarizer;
