//! Finds what is worth remembering in a conversation.
//!
//! This crate extracts memories, either from the user's own sentences by rules or with a forked agent. It contains the table
//! of the agent's permissions and the copy of the memory on which the agent works. The daemon decides when to run, and handles
//! files and notifications. The crate is pure: it takes text and returns text to write.
//!
//! Reading order: [`wrote`] (which turns need no extraction) → [`same`] → [`unwanted`](mod@unwanted) →
//! [`embedded`] → [`model`] → [`forget`](mod@forget).

pub mod embedded;
pub mod forget;
pub mod model;
pub mod same;
pub mod unwanted;
pub mod wrote;

pub use forget::{ForgetOutcome, forget};
pub use same::Meaning;
pub use unwanted::unwanted;
pub use wrote::wrote_memory;
