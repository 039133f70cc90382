//! Decides which instruction files are loaded for a working directory, in what order, and why others are not.
//!
//! This crate loads the chain (managed, user, project from its root down, local), imports, and rules that apply when a
//! matching file is touched; it cleans the files' text and formats it for a model. It does no I/O of its own: the
//! caller passes a disk. The daemon decides when to load again, and manages the touched paths, the approvals, and the
//! place of the text in a prompt.
//!
//! Whether a file may be loaded depends on its real path and name, and is decided before it is read. A file that cannot
//! be loaded is skipped, with a reason, and the other files are loaded.
//!
//! Reading order: [`places`] → [`disk`] → [`gather`] → `text` (`front`, `comments`) →
//! `imports` → `patterns` → `secret` → [`report`] → [`render`] → [`limits`].

mod comments;
pub mod disk;
mod front;
pub mod gather;
mod imports;
pub mod limits;
mod lines;
mod patterns;
pub mod places;
pub mod render;
pub mod report;
mod secret;
mod text;

pub use disk::{Disk, FileLook, FileType};
pub use gather::{InstructionRequest, load};
pub use places::{InstructionPlaces, MANAGED, absolute, root_of};
pub use report::{
    InstructionKind, InstructionSet, LoadedInstruction, Reason, SkipReason, SkippedFile,
};
