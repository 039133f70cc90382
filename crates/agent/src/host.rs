//! The functions that a fork needs from its host: waiting, prices, and recording its steps.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bethink_model::ModelError;
use bethink_transcript::TokenUsage;

use crate::tool::Denial;

pub type Waited<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The environment of a fork.
pub trait Host: Send + Sync {
    /// Waits between two calls.
    fn wait(&self, time: Duration) -> Waited<'_>;
    /// Returns the cost of a call in micro-dollars; `None` if the model has no known price.
    fn cost(&self, model: &str, usage: &TokenUsage) -> Option<u64>;
    /// Records a step. Called for every step, in order.
    fn record(&self, step: &AgentStep);
}

/// A step that appears in the session's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentStep {
    /// A call failed.
    Failed {
        error: ModelError,
        attempt: u32,
    },
    /// The call is retried: what was changed, and how long to wait before the retry.
    Again {
        change: &'static str,
        wait: Duration,
        weight: usize,
    },
    /// The call failed and will not be retried.
    GaveUp {
        error: ModelError,
    },
    /// A tool was called.
    Called {
        tool: String,
        ok: bool,
    },
    Denied(Denial),
}
