//! A memory directory as text: names, topics with their headers, the index, and what is wrong with them.
//!
//! Pure: files come in as text and go out as text. Leaves the disk to `bethink-memdir-fs`, which of the topics a
//! prompt gets to `bethink-recall`, and acting to the daemon.
//!
//! Reading order: [`name`] → [`file`] → [`hash`] → [`header`] → [`index`] → [`age`] → [`unseen`] →
//! [`prompt`] → [`lint`] → [`tool`].

pub mod age;
pub mod file;
pub mod hash;
pub mod header;
pub mod index;
pub mod lint;
pub mod name;
pub mod prompt;
pub mod tool;
pub mod unseen;

pub use file::DirectoryFile;
pub use hash::{Expected, Hash};
pub use header::{Header, MemoryKind, Source};
pub use name::{BadName, Name, Scope};
