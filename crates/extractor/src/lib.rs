//! What of a conversation is worth remembering when it is over.
//!
//! Owns what is learnt: by rules from the user's own sentences, or by a forked agent, with the exact table of
//! what that agent may do and a copy of the memory on which it does it. Leaves to the daemon when to
//! look, every file, and who is told. Pure: texts come in, and texts to be written go out.
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
