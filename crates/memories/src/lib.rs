//! Persistent memory: memory directories, what prompts show of them, and how memories are written.
//!
//! Owns the memory directories of projects, every write to them, their versions, instruction files, recall, extraction,
//! dreams, and proposals for a team. The directory on disk is authoritative; the snapshot in memory follows it. A write
//! succeeds only if the file still has the text that was read, and the text that it replaces is stored first.
//! `bethink-sessions` handles sessions and their prompts, `bethink-models` asks models, and `bethink-team` shares
//! memory with a team.
//!
//! Reading order: [`place`] → [`watch`] → [`secret_lines`] → [`directory`] → [`project`] → [`service`] → [`follow`] → [`read`] →
//! [`memory_write`] → [`held_back`] → [`write`] ([`stamp`], [`contained`], [`branches`], [`change`], [`index_line`],
//! [`settle`], [`roots`]) → [`damage`] → [`history`] → [`remember`] → [`proposals`] → [`candidates`] → [`search`] → [`foreign`] →
//! [`import`] → [`tool`] → [`lint`] → [`rebuild`] → [`sync`] → [`prompt`] → [`instructions`] → [`recall`] → [`extract`] →
//! [`dream`].

mod branches;
mod candidates;
mod change;
mod contained;
mod damage;
mod directory;
mod dream;
mod extract;
mod follow;
mod foreign;
mod held_back;
mod history;
mod import;
mod index_line;
mod instructions;
mod lint;
mod memory_write;
mod place;
mod project;
mod prompt;
mod proposals;
mod read;
mod rebuild;
mod recall;
mod refused;
mod remember;
mod roots;
mod search;
mod secret_lines;
mod service;
mod settle;
mod stamp;
mod standalone;
mod sync;
#[cfg(test)]
mod tests;
mod tool;
mod watch;
mod write;

pub use branches::UnmergedTopics;
pub use directory::{DirectorySnapshot, IndexFile, MemoryDirectory, MemoryTopic};
pub use dream::run::DreamJob;
pub use extract::run::ExtractJob;
pub use instructions::prompt::InstructionContributor;
pub use memory_write::{Author, Expected, MAX_MEMORY_BYTES, MemoryWrite};
pub use project::MemoryProject;
pub use prompt::IndexContributor;
pub use proposals::{NewProposal, ProposalOutcome};
pub use read::MemoryText;
pub use recall::SESSION_BYTES;
pub use recall::attach::RecallContributor;
pub use recall::vectors::VectorsJob;
pub use remember::RememberOutcome;
pub use service::MemoryService;
pub use sync::{IncomingChange, WriteRefusal};
