//! A fork's tools. Each call needs permission.

use std::future::Future;
use std::pin::Pin;

/// A call as the model made it.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    pub tool: &'a str,
    /// The input as JSON, as the model wrote it.
    pub input: &'a str,
}

/// The decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    Allow,
    /// The reason, which the model receives.
    Deny(String),
}

/// A call that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub tool: String,
    pub reason: String,
}

/// A future that returns a tool's output. If the tool fails, the model receives the error and may try again.
pub type Done<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// A tool that a fork may call.
pub trait Tool: Send + Sync {
    fn name(&self) -> &str;
    /// Decides whether this specific call is allowed.
    fn permit(&self, call: ToolCall<'_>) -> Permit;
    /// Runs the call. Calls of one answer run at the same time.
    fn run<'a>(&'a self, call: ToolCall<'a>) -> Done<'a>;
}
