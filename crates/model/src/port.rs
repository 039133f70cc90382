//! The port through which one call is made to one model.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::error::ModelError;
use crate::reply::Reply;
use crate::request::ModelRequest;

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;
pub type Counted<'a> = Pin<Box<dyn Future<Output = Result<Option<u64>, ModelError>> + Send + 'a>>;

/// A provider's model. Dropping the future of a call cancels it and closes its connection.
pub trait Model: Send + Sync + fmt::Debug {
    /// Returns `anthropic` or `openai`.
    fn provider(&self) -> &'static str;

    /// Makes one call; the adapter never retries.
    fn call<'a>(&'a self, request: &'a ModelRequest) -> Answer<'a>;

    /// Asks the provider to count the prompt's tokens; `None` if the provider cannot count them.
    fn count<'a>(&'a self, request: &'a ModelRequest) -> Counted<'a>;
}
