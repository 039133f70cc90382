//! A memory directory as text: names, topics with their headers, the index, and the problems in all of these.
//!
//! This crate is pure: it takes files as text and returns text. `bethink-memdir-fs` handles the disk, `bethink-recall`
//! chooses topics for a prompt, and the daemon does the rest.
//!
//! Reading order: [`name`] → [`file`] → [`hash`] → [`header`] → [`index`] → [`conflict`] → [`rejections`] → [`merge`] → [`age`] →
//! [`unseen`] → [`prompt`] → [`lint`] → [`tool`].

pub mod age;
pub mod conflict;
pub mod file;
pub mod hash;
pub mod header;
pub mod index;
pub mod lint;
pub mod merge;
pub mod name;
pub mod prompt;
pub mod rejections;
pub mod tool;
pub mod unseen;

pub use file::DirectoryFile;
pub use hash::{Expected, Hash};
pub use header::{Header, MemoryKind, Source};
pub use name::{BadName, Name, Scope};
