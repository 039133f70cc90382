//! Memory directories on disk: the only code that touches memory files.
//!
//! This crate opens a directory so that nothing outside it can be reached, lists and reads entries of any kind, writes
//! by compare-and-swap so that no save is lost, and watches for changes. All calls are synchronous.
//! `bethink-memdir` interprets the files' text; the daemon handles versions, proposals and events.
//!
//! No function removes content that it has not returned to its caller.
//!
//! Reading order: [`file`] → [`root`] → `place` → `read` → [`list`] → [`write`] → `draft` → `undo` → `rename` →
//! [`aside`] → [`lock`] → [`changed`] → `dirty` → [`watch`]; [`limits`] and [`error`] are used by all.

pub mod aside;
pub mod changed;
mod dirty;
mod draft;
pub mod error;
pub mod file;
pub mod limits;
pub mod list;
pub mod lock;
mod place;
mod read;
mod rename;
pub mod root;
mod undo;
pub mod watch;
pub mod write;

pub use aside::RescuedFile;
pub use changed::{DirectoryChanges, FileSeen, changed};
pub use dirty::Dirty;
pub use error::{FileError, RootError, UnusableReason};
pub use file::{DirectoryFile, FileContent, Stamp, Stat};
pub use list::{DirectoryListing, LeftoverFile, StrangeEntry};
pub use lock::{Holder, LockOutcome};
pub use root::{Follow, MemoryRoot};
pub use watch::Watch;
pub use write::{Conflict, Expected, WriteOutcome};
