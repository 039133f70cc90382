//! Memories by a forked agent: what it is told, what it may call, and a copy of the memory on which it works.
//!
//! No call of the agent touches a file. It reads and writes a [`MemoryCopy`]; what it leaves there is written by the
//! daemon like any other memory, with the hash of what the agent had before it. So the table of what is allowed
//! guards what may be learnt, and the disk needs no guard from the agent.

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

/// By which its topics are known.
pub const STRATEGY: &str = "model";
/// Answers of the model: a look at what is there, the writing, and what was refused once more (specification,
/// section 7).
pub const TURNS: u32 = 5;
