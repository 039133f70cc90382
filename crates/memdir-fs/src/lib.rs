//! Memory directories on disk: the only code that touches memory files.
//!
//! Owns: opening a directory so that nothing outside it can be reached, listing and reading whatever people put
//! there, writing by compare-and-swap so that nobody's save is lost, and watching for changes. Synchronous. The
//! meaning of the texts belongs to `bethink-memdir`; versions, proposals and events belong to the daemon.
//!
//! No function here removes content that it has not returned to its caller.
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

pub use aside::Settled;
pub use changed::{DirectoryChanges, FileSeen, changed};
pub use dirty::Dirty;
pub use error::{FileError, RootError, UnusableReason};
pub use file::{DirectoryFile, FileContent, Stamp, Stat};
pub use list::{DirectoryListing, Left, Strange};
pub use lock::{Holder, Locked};
pub use root::{Follow, MemoryRoot};
pub use watch::Watch;
pub use write::{Conflict, Expected, Replaced};
