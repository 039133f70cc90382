//! The only part of the daemon that calls models for bethink's own purposes, and the ledger of the costs.
//!
//! Checks whether a model may be called (settings, budgets, breakers), publishes an event for each step, and records
//! each call. Callers decide what to ask, and what to do without an answer.

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
pub use client::ClientModel;
pub use purpose::{Errand, Purpose};
pub use service::{ModelService, UNNAMED_MODEL};
pub use spent::Spent;
