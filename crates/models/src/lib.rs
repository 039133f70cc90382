//! Asking a model: the only way from the daemon to a provider, and the ledger of what it cost.
//!
//! Owns whether a model may be asked (settings, budgets, breakers), the events of each step, and a row for each
//! call. Leaves to its callers what to ask, and what to do without an answer.

mod ask;
mod breaker;
mod caller;
mod client;
mod ledger;
mod purpose;
mod service;
mod spent;
mod state;

pub use ask::ErrandOutcome;
pub use caller::request_tokens;
pub use purpose::{Errand, Purpose};
pub use service::{ModelService, UNNAMED_MODEL};
pub use spent::Spent;
