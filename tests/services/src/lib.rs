//! What tests of a service are built on: a context over a database of its own, and a model in memory.
//!
//! A crate of its own and no feature of `bethink-service`, so that the programs and the tests share one build.

mod context;
mod model;

pub use context::{context, context_with};
pub use model::Scripted;
