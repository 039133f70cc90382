//! Finds what is worth remembering from a conversation.
//!
//! Owns extraction: by rules from the user's own sentences, or by a forked agent, with the exact table of what
//! that agent may do and the copy of the memory that it works on. Leaves to the daemon when to run, all files,
//! and notifications. Pure: texts come in, and texts to write go out.
//!
//! Reading order: [`wrote`] (when there is nothing to do) → [`same`] → [`unwanted`](mod@unwanted) →
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
