//! Recall: which memories are added to a session's prompts, and when.
//!
//! After a user message, the project's topics are searched in parallel to the request, and a model may choose
//! among them. A prompt takes what is ready by then; the model's choice may come with a later prompt of the
//! same work, and no prompt waits for it. Recalled memories are attachments at the end, so a session's
//! decisions record exactly what it has seen.
//!
//! Reading order: `library` → `choose` → `round` → `attach` → `answer`.

mod answer;
pub(crate) mod attach;
mod choose;
pub(crate) mod library;
mod round;
pub(crate) mod view;

use bethink_memdir::{Name, Scope};

/// Most memories for one user message (specification, section 7).
const MOST: usize = bethink_recall::topics::manifest::MOST_PICKS;
/// Most bytes of recalled memories in a session since its last boundary (specification, section 7).
pub const SESSION_BYTES: usize = 61_440;

pub(crate) type Key = (Scope, Name);
