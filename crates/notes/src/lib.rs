//! Notes of sessions, updated in the background, in a file that a person may edit at any time.
//!
//! An update is a job that starts when the session is idle: facts → draft → merge with the file → row → file.
//! The row is committed first, with the file's new and old text, so that a daemon killed between the two can
//! tell its own unwritten lines from a person's. Owns the file, its row, and when an update is due; leaves what
//! notes say and how they are merged to `session-memory`, and the session itself to `sessions`.

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
