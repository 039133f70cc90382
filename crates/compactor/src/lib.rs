//! The compactor: when a window is full, what stands in place of its older part.
//!
//! `compact(input, ladder)` plans a cut, lets the cheapest level that works write a summary, restores
//! what the cut would lose, and accepts the result only if the new prompt is valid, smaller and fits.
//! The embedded level needs no model and always succeeds: it is the floor of every ladder. Nothing
//! here touches a disk, a clock or the store; the daemon commits what is returned, or nothing.

pub mod cut;
pub mod fidelity;
pub mod full;
pub mod ladder;
pub mod limits;
pub mod policy;
pub mod restore;
pub mod summary;

pub use fidelity::Fidelity;
pub use full::{FullFault, FullInstruction, FullSummarizer, FullText};
pub use ladder::{CompactionFailure, CompactionInput, CompactionOutcome, Summarizer, compact};
pub use limits::CompactLimits;
pub use policy::{Breakers, Policy, Trigger};
pub use restore::Restorable;
pub use summary::{
    EmbeddedSummarizer, NotesSummarizer, SPAN_AFTER, SPAN_STRATEGY, Section, SessionNotes,
    SpanRequest, write_span,
};

/// Which level wrote a summary, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SummaryLevel {
    /// From the notes that were taken on the way; no model call.
    SessionMemory,
    /// One model call.
    Full,
    /// Structured extraction; no model, no network.
    Embedded,
}

impl SummaryLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            SummaryLevel::SessionMemory => "session_memory",
            SummaryLevel::Full => "full",
            SummaryLevel::Embedded => "embedded",
        }
    }
}
