//! Session memory: the notes of a session, a Markdown file that a person edits beside the daemon.
//!
//! Owns when notes are due, what stands in them, how large they may grow, and how the daemon's lines
//! and a person's live in one file: what a person wrote stays, what a person removed stays away. Pure:
//! the file, the facts and the settings are arguments. Leaves reading, writing and waiting to the
//! daemon, and what happened in the session to `bethink-facts`.

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
