//! Tools of a fork. Permission is decided for every call.

use std::future::Future;
use std::pin::Pin;

/// A call as the model made it.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    pub tool: &'a str,
    /// JSON, as the model wrote it.
    pub input: &'a str,
}

/// The decision on one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    Allow,
    /// The model is told why.
    Deny(String),
}

/// A call that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub tool: String,
    pub reason: String,
}

/// A tool's output; an error is shown to the model, which may try again.
pub type Done<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// One tool that a fork may call.
pub trait Tool: Send + Sync {
    fn name(&self) -> &str;
    /// Decides on each single call; nothing is allowed only by its name.
    fn permit(&self, call: ToolCall<'_>) -> Permit;
    /// Runs the call. Calls of one answer run at the same time.
    fn run<'a>(&'a self, call: ToolCall<'a>) -> Done<'a>;
}
