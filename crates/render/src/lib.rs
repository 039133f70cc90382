//! The API's values as text for a terminal.
//!
//! Decides what a session, a prompt, a compaction, a hit or a memory looks like in a terminal of a given width. `cli`
//! decides what to fetch and when to print it; `terminal` escapes and colours text.
//!
//! Reading order: `ids` → `message` → `hit` → `window` → `facts` → the others, one per kind of value.

pub mod compaction;
mod diff;
pub mod event;
pub mod facts;
pub mod hit;
mod ids;
pub mod instructions;
pub mod memory;
pub mod message;
pub mod usage;
pub mod window;

pub use diff::diff;
pub use ids::{short_id, short_ids};
