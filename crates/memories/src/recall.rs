//! Recall: which memories are added to a session's prompts, and when.
//!
//! After a user message, the project's topics are searched in parallel with the request, and a model may choose among
//! them. A prompt uses the results that are ready. It does not wait for the model, so the model's choice may be added
//! to a later prompt. Recalled memories are attachments at the end, so decisions record what a session has seen.
//!
//! Reading order: `library` → `meaning` → `vectors` → `choose` → `round` → `attach` → `what_if` → `answer` → `check`.

mod answer;
pub(crate) mod attach;
pub(crate) mod check;
mod choose;
pub(crate) mod library;
mod linked;
mod meaning;
mod round;
pub(crate) mod vectors;
pub(crate) mod view;
mod what_if;

use bethink_memdir::{Name, Scope};

/// Maximum number of memories for one user message.
const MOST: usize = bethink_recall::topics::manifest::MOST_PICKS;
/// Maximum size of the recalled memories in a session since its last boundary, in bytes.
pub const SESSION_BYTES: usize = 61_440;

pub(crate) type Key = (Scope, Name);
