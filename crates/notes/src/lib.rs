//! Notes of sessions, updated in the background, in a file that a person may edit at any time.
//!
//! An update is a job that starts when the session is idle: facts → draft → merge with the file → row → file. The row
//! is committed first, with the new text and the hash of the old one, so that a daemon killed between the two can
//! distinguish its own unwritten lines from a person's. Owns the file, its row, and when an update is due.
//! `session-memory` owns the content of notes and how they are merged, `sessions` the session itself.

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
