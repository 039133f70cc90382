//! The compactor decides when a window is full, and what replaces the older part of the prompt.
//!
//! `compact(input, ladder)` plans a cut, lets the cheapest level that works write a summary, restores content that the cut
//! would lose, and accepts the result only if the new prompt is valid, smaller and fits. The embedded level needs no model and
//! always writes a summary, so it is tried last. Nothing here touches a disk, a clock or the store; the daemon commits the
//! whole result or nothing.

pub mod cut;
pub mod fidelity;
pub mod full;
pub mod ladder;
pub mod limits;
pub mod policy;
pub mod restore;
mod section;
pub mod summary;

pub use bethink_api::SummaryLevel;
pub use fidelity::Fidelity;
pub use full::{FullFault, FullInstruction, FullSummarizer, FullText};
pub use ladder::{CompactionFailure, CompactionInput, CompactionOutcome, Summarizer, compact};
pub use limits::CompactLimits;
pub use policy::{Breakers, Policy, Trigger};
pub use restore::{Restorable, RestorableFile, RestorableText};
pub use section::{Section, well_formed};
pub use summary::{
    EmbeddedSummarizer, NotesSummarizer, SPAN_AFTER, SPAN_STRATEGY, SessionNotes, SpanRequest,
    write_span,
};
