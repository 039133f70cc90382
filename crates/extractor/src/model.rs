//! Memories by a forked agent: its instruction, its permissions, and the copy of the memory on which it works.
//!
//! No call of the agent touches a file. The agent reads and writes a [`MemoryCopy`]; the daemon then writes the result like
//! any other memory, if the files still have the texts that the agent was given.

pub mod blocks;
pub mod copy;
mod evidence;
pub mod instruction;
pub mod listing;
pub mod shape;
pub mod spot;
pub mod table;
#[cfg(test)]
mod tests;
pub mod tools;

pub use copy::{Changed, MemoryCopy, RefusedWrite};
pub use evidence::MemoryEvidence;
pub use instruction::ExtractionInstruction;
pub use shape::Toolset;
pub use table::{Allowed, Table};
pub use tools::{ExtractionDesk, MemoryTool};

/// Name of the strategy in its topics.
pub const STRATEGY: &str = "model";
/// Maximum number of turns: reading, writing, and correcting refused writes.
pub const TURNS: u32 = 5;
