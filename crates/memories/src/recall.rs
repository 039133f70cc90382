//! Recall: which memories a session is reminded of, and when.
//!
//! When the user has spoken, the topics of the project are looked through beside the request, and a model may
//! choose among them. A prompt takes what is ready by then; the model's choice may come with a later prompt of
//! the same work, and no prompt waits for it. What was told is an attachment at the tail, so that the decisions
//! of a session say exactly what it knows already.
//!
//! Reading order: `library` → `choose` → `round` → `attach` → `answer`.

mod answer;
pub(crate) mod attach;
mod choose;
pub(crate) mod library;
mod round;
pub(crate) mod view;

use bethink_memdir::{Name, Scope};

/// Memories for one thing that the user said (specification, section 7).
const MOST: usize = bethink_recall::topics::manifest::MOST_PICKS;
/// Bytes of recalled memories in a session since its last boundary (specification, section 7).
pub const SESSION_BYTES: usize = 61_440;

pub(crate) type Key = (Scope, Name);
