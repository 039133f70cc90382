//! A forked agent's task, budget and result.

use bethink_model::{ModelError, ModelRequest, Reply};
use bethink_transcript::TokenUsage;

use crate::tool::{Denial, Tool};

/// A task that reuses a session's prompt: the session's prefix, an instruction at the end, and permissions.
#[derive(Clone, Copy)]
pub struct Fork<'a> {
    /// The session's own system prompt, tools and messages byte for byte, followed by the instruction.
    pub request: &'a ModelRequest,
    pub budget: Budget,
    /// Allowed tools. Calls to any other tool are denied.
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

/// Limits of a fork. The fork ends when it reaches one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Number of answers from the model.
    pub turns: u32,
    /// Number of tokens of all calls together: input, cached input and output.
    pub tokens: u64,
    /// Cost in micro-dollars, at the host's prices. A model without a price counts as free.
    pub cost: u64,
    /// Number of tool calls per answer. Further calls are denied.
    pub calls: usize,
    /// Ceiling for `max_tokens` when it is raised after an answer was cut off.
    pub max_output: u64,
}

/// The result of a fork.
#[derive(Clone, Debug)]
pub struct Finished {
    /// All text of the last turn that produced text, including continuations.
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
    /// The model answered without a tool call.
    Done,
    /// A budget was used up: `turns`, `tokens`, `cost`, or `denials` if a fork without tools kept calling tools.
    OutOf(&'static str),
    /// A model call failed after the model had answered at least once.
    Failed(ModelError),
}
