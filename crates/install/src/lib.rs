//! Adds our entries to other programs' settings, finds them again, and removes them.
//!
//! This crate knows which files each coding agent reads and what our entries in them look like. It edits JSON, JSONC and TOML,
//! and keeps comments, indentation, line endings and order. It finds the agents of a user and reads their settings, but works on
//! strings otherwise: the caller writes the files.
//!
//! An entry is recognized as ours by its content: a command that runs `bethink`, or a gateway address. The entry's name does
//! not count, because a person may have written an entry with the same name.
//!
//! Reading order: `clients` → `edit` → `file` → `jsonc` (`parse`, `splice`) → `toml` → `diff` → `search`
//! → `installation`.

mod clients;
mod diff;
mod edit;
mod file;
mod installation;
mod jsonc;
mod search;
mod toml;

pub use clients::{ClientPlaces, InstallAgent, InstallRequest, files};
pub use diff::unified_diff;
pub use edit::{AppliedEdits, NotEdited, Ours, SettingsEdit, quoted};
pub use file::{InstallState, SettingsFile};
pub use installation::{COPIES, Installation, PROGRAMS, SOURCE, lasting};
pub use search::{
    AgentFile, AgentSearch, FoundAgent, FoundState, UnreadableSettings, existing, read_settings,
};
