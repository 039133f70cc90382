//! What a fork is started with, and how it ends.

use bethink_model::{ModelError, ModelRequest, Reply};
use bethink_transcript::TokenUsage;

use crate::tool::{Denial, Tool};

/// A task beside a session: its prefix, an instruction as the prompt's last words, and what may be done.
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

/// What a fork may use up; whichever ends first ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Answers of the model.
    pub turns: u32,
    /// Of all its calls together: input, cached input and output.
    pub tokens: u64,
    /// Micro-dollars, by the host's prices; those of a model without a price count as nothing.
    pub cost: u64,
    /// Calls of tools in one answer; more are denied.
    pub calls: usize,
    /// The most that one answer may be allowed, when it needs more than the request gave it.
    pub max_output: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Finished {
    /// All text of the last turn that said anything, its continuations joined to it.
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
    /// The model had nothing more to call.
    Done,
    /// A budget was used up: `turns`, `tokens` or `cost`; or `denials`, where a fork without tools went on
    /// calling some. What was done until then stands.
    OutOf(&'static str),
    /// Work was done before a later call failed.
    Failed(ModelError),
}
