//! The compactor: when a window is full, what stands in place of its older part.
//!
//! `compact(input, ladder)` plans a cut, lets the cheapest level that works write a summary, restores
//! what the cut would lose, and accepts the result only if the new prompt is valid, smaller and fits.
//! The embedded level needs no model and always succeeds: it is the floor of every ladder. Nothing
//! here touches a disk, a clock or the store; the daemon commits what is returned, or nothing.
//!
//! Reading order: [`limits`] → [`policy`] → [`cut`] → [`summary`] → [`full`] → [`restore`]
//! → [`fidelity`] → [`ladder`].

pub mod cut;
pub mod fidelity;
pub mod full;
pub mod ladder;
pub mod limits;
pub mod policy;
pub mod restore;
pub mod summary;

pub use fidelity::{Fidelity, Hindsight};
pub use full::{FullFault, FullInstruction, FullSummarizer, FullText};
pub use ladder::{Failure, Input, Outcome, Summarizer, compact};
pub use limits::CompactLimits;
pub use policy::{Breakers, Policy, Trigger};
pub use restore::{Restorable, RestoredItem};
pub use summary::{
    EmbeddedSpanWriter, EmbeddedSummarizer, Notes, NotesSummarizer, SPAN_AFTER, Section,
    SpanRequest, SpanWriter,
};

/// Which level wrote a summary, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// From the notes that were taken on the way; no model call.
    SessionMemory,
    /// One model call.
    Full,
    /// Structured extraction; no model, no network.
    Embedded,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Level::SessionMemory => "session_memory",
            Level::Full => "full",
            Level::Embedded => "embedded",
        }
    }
}
