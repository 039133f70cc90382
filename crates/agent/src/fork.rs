//! What a forked agent is started with, and how it ends.

use bethink_model::{ModelError, ModelRequest, Reply};
use bethink_transcript::TokenUsage;

use crate::tool::{Denial, Tool};

/// A task that reuses a session's prompt: its prefix, an instruction at the end, and what is allowed.
#[derive(Clone, Copy)]
pub struct Fork<'a> {
    /// The session's own system, tools and messages byte for byte, and the instruction after them.
    pub request: &'a ModelRequest,
    pub budget: Budget,
    /// Every call of another tool is denied.
    pub tools: &'a [&'a dyn Tool],
}

impl std::fmt::Debug for Fork<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| tool.name()).collect();
        f.debug_struct("Fork")
            .field("budget", &self.budget)
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}

/// What a fork may use; the first limit to be reached ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Answers from the model.
    pub turns: u32,
    /// Tokens of all calls together: input, cached input and output.
    pub tokens: u64,
    /// Micro-dollars, by the host's prices; a model without a price counts as free.
    pub cost: u64,
    /// Tool calls per answer; more are denied.
    pub calls: usize,
    /// The highest output limit for one answer, if it needs more than the request allows.
    pub max_output: u64,
}

/// The result of a fork.
#[derive(Clone, Debug)]
pub struct Finished {
    /// All text of the last turn that had any, with its continuations.
    pub text: String,
    pub last: Reply,
    pub ended: Ended,
    pub turns: u32,
    pub usage: TokenUsage,
    pub denials: Vec<Denial>,
}

/// Why the loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model made no more calls.
    Done,
    /// A budget was used up: `turns`, `tokens` or `cost`; or `denials`, if a fork without tools kept calling
    /// some. Work done before is kept.
    OutOf(&'static str),
    /// Work was done before a later call failed.
    Failed(ModelError),
}
