//! Entries of ours in other programs' configuration files, as text: put in, found again, taken out.
//!
//! Owns which files each coding agent reads and what of ours belongs into them, and the editing of JSON, JSONC and
//! TOML that changes nothing else: not a comment, not an indentation, not a line end, not the order. Leaves the
//! disk to whoever calls: texts come in, texts go out.
//!
//! What is ours is told by what it says, a command of the program `bethink` or an address of our gateway, and never
//! by a name alone: an entry that a person wrote under our name is theirs.
//!
//! Reading order: `clients` → `edit` → `file` → `jsonc` (`parse`, `splice`) → `toml` → `diff`.

mod clients;
mod diff;
mod edit;
mod file;
mod jsonc;
mod toml;

pub use clients::{ClientPlaces, InstallAgent, InstallRequest, files};
pub use diff::unified_diff;
pub use edit::{AppliedEdits, NotEdited, Ours, SettingsEdit};
pub use file::{InstallState, SettingsFile};
