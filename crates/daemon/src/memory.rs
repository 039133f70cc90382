//! Persistent memory: which directory belongs to a project, what is in it, and every write to it.
//!
//! The directory is the truth; what is kept here is a picture of it that catches up when a file changes. Each
//! write compares with what was read, and what it displaces is kept in the store first.
//!
//! Reading order: `place` → `watch` → `shelf` (`look`, `refused`) → `project` → `read` → `write` (`change`,
//! `index_line`, `settle`) → `history` → `remember` → `tool` → `prompt` → `lint` → `rebuild` → `dream`.

mod change;
mod dream;
mod history;
mod index_line;
mod lint;
mod place;
mod project;
mod prompt;
mod read;
mod rebuild;
mod refused;
mod remember;
mod settle;
mod shelf;
mod tool;
mod watch;
mod write;

pub(crate) use dream::{DREAM, DreamDesk};
pub(crate) use project::{Project, Projects, TEAM_PLACE};
pub(crate) use prompt::{IndexShown, Inject, ProjectPart};
pub(crate) use shelf::{Shelf, Snapshot, Topic};
pub(crate) use write::{Author, MemoryWrite};

pub use read::MemoryFile;
pub use remember::Remembered;
pub use write::{MAX_MEMORY_BYTES, MemoryWish};
