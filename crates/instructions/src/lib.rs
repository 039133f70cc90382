//! Instruction files: which are loaded for a working directory, in what order, and why others are not.
//!
//! Owns the chain (managed, user, project from its root down, local), imports, rules that wait for a file, what
//! is removed from a text, and how the model sees it. Pure: a disk is passed in. Leaves to the daemon when to
//! load again, which paths were touched, what a person approved, and where the text goes in a prompt.
//!
//! A file is allowed by its real path and name, before it is read. A file that cannot be loaded is skipped with
//! a reason, and the others count.
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
pub use report::{InstructionKind, InstructionSet, LoadedInstruction, Reason, SkipReason, Skipped};
