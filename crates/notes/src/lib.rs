//! Notes of sessions, updated in the background, in a file that a person may edit at any time.
//!
//! An update is a job that starts when the session is idle: facts → draft → merge with the file → database row → file. The row
//! is committed first, with the new text and the hash of the old one, so that after a crash between the two writes, the daemon
//! can distinguish its own unwritten lines from a person's. This crate owns the file and its row, and decides when an update is
//! due. `session-memory` owns the content of notes and how they are merged; `sessions` owns the session itself.

mod by_model;
mod files;
mod meter;
#[cfg(test)]
mod model_tests;
mod notes;
mod outline;
mod part;
mod resume;
mod service;
#[cfg(test)]
mod tests;
mod update;
mod waiting;

pub use files::MAX_NOTES_BYTES;
pub use notes::NotesFile;
pub use service::NotesService;
