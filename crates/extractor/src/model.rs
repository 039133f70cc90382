//! Memories by a forked agent: its instruction, its permissions, and the copy of the memory that it works on.
//!
//! No call of the agent touches a file. It reads and writes a [`MemoryCopy`]; the daemon then writes the result
//! like any other memory, compared by hash with the text that the agent had. So the permission table protects
//! what may be learned, and the disk needs no protection from the agent.

pub mod blocks;
pub mod copy;
pub mod instruction;
pub mod listing;
pub mod shape;
pub mod spot;
pub mod table;
#[cfg(test)]
mod tests;
pub mod tools;

pub use copy::{Changed, MemoryCopy, RefusedWrite};
pub use instruction::ExtractionInstruction;
pub use shape::Toolset;
pub use table::{Allowed, Table};
pub use tools::{ExtractionDesk, MemoryTool};

/// Name of the strategy in its topics.
pub const STRATEGY: &str = "model";
/// Most turns of the model: reading, writing, and correcting what was refused (specification, section 7).
pub const TURNS: u32 = 5;
