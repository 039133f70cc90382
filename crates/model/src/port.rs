//! The port: one call to one model.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::error::ModelError;
use crate::reply::Reply;
use crate::request::Request;

pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;
pub type Counted<'a> = Pin<Box<dyn Future<Output = Result<Option<u64>, ModelError>> + Send + 'a>>;

/// A provider's model. Dropping the future of a call ends it and closes its connection.
pub trait Model: Send + Sync + fmt::Debug {
    /// `anthropic` or `openai`.
    fn provider(&self) -> &'static str;

    /// One call; never repeated by the adapter. Text goes to `heard` as it comes; an answer that nobody
    /// hears need not be streamed.
    fn call<'a>(&'a self, request: &'a Request, heard: &'a dyn Hearer) -> Answer<'a>;

    /// Tokens of the prompt by the provider's own count; `None` where none is offered.
    fn count<'a>(&'a self, request: &'a Request) -> Counted<'a>;
}

/// Hears an answer while it is made.
pub trait Hearer: Send + Sync {
    /// Whether anything is to be told.
    fn listens(&self) -> bool;
    fn text(&self, piece: &str);
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Hearer for Silence {
    fn listens(&self) -> bool {
        false
    }

    fn text(&self, _piece: &str) {}
}
