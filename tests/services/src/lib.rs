//! Helpers for tests of services: a context with its own database, a model in memory, and a session.
//!
//! A separate crate and not a feature of `bethink-service`, so that programs and tests share one build.

mod context;
mod model;
mod session;

pub use context::{context, context_with};
pub use model::Scripted;
pub use session::{SentBody, create_session, full_compaction, prompt_request, rounds, settings};
