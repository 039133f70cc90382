//! The port: one call to one model.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::error::ModelError;
use crate::reply::Reply;
use crate::request::ModelRequest;

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;
pub type Counted<'a> = Pin<Box<dyn Future<Output = Result<Option<u64>, ModelError>> + Send + 'a>>;

/// A provider's model. Dropping the future of a call ends it and closes its connection.
pub trait Model: Send + Sync + fmt::Debug {
    /// `anthropic` or `openai`.
    fn provider(&self) -> &'static str;

    /// One call; never repeated by the adapter.
    fn call<'a>(&'a self, request: &'a ModelRequest) -> Answer<'a>;

    /// Tokens of the prompt by the provider's own count; `None` where none is offered.
    fn count<'a>(&'a self, request: &'a ModelRequest) -> Counted<'a>;
}
