//! Session memory: the notes of a session, a Markdown file that a person edits beside the daemon.
//!
//! Owns when notes are due, what stands in them, how large they may grow, and how the daemon's lines
//! and a person's live in one file: what a person wrote stays, what a person removed stays away. Pure:
//! the file, the facts and the settings are arguments. Leaves reading, writing and waiting to the
//! daemon, and what happened in the session to `bethink-facts`.
//!
//! Reading order: [`gate`] → [`template`] → [`document`] → [`draft`] → [`embedded`] → [`budget`] →
//! [`merge`]; then, for a strategy that asks a model: [`instruction`] → [`edit`] → [`model`].

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

pub use budget::NotesBudget;
pub use draft::{Draft, DraftSection, NotesRequest, NotesWriter, Row, WriterError};
pub use edit::{EditCall, EditError, EditShape, NotesEdit, text_edits};
pub use embedded::EmbeddedWriter;
pub use gate::{GateLimits, Growth, Profile};
pub use instruction::{EditWay, Instruction, InstructionFault};
pub use merge::{Updated, Written, update};
pub use model::ModelWriter;
pub use template::{SectionKind, Template, TemplateFault};
