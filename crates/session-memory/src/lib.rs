//! Session memory: the notes of a session, a Markdown file that both the daemon and a person edit.
//!
//! Decides when notes are due, what they say, how large they may grow, and how the daemon's and a person's lines share
//! one file: lines that a person wrote stay, and lines that a person removed do not come back. This crate is pure: the
//! file, the facts and the settings are arguments. The daemon reads, writes and waits; `bethink-facts` knows what
//! happened in the session.

pub mod budget;
pub mod document;
pub mod draft;
pub mod edit;
pub mod embedded;
pub mod gate;
pub mod instruction;
pub mod merge;
pub mod model;
pub mod template;
mod written;

pub use budget::NotesBudget;
pub use draft::{DraftSection, NotesDraft, NotesRequest, NotesRow, NotesWriter, WriterError};
pub use edit::{NotesEdit, text_edits};
pub use embedded::EmbeddedWriter;
pub use gate::{GateLimits, Growth};
pub use instruction::{EditWay, NotesInstruction};
pub use merge::{Updated, update};
pub use model::ModelWriter;
pub use template::{OutlineFault, SectionKind, Template};
pub use written::{RowId, WrittenNotes, WrittenRow};
