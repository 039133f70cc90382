//! What a fork needs of the world: time, prices, and someone who writes down what happened.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bethink_model::ModelError;
use bethink_transcript::TokenUsage;

use crate::tool::Denial;

pub type Waited<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Stands behind a fork.
pub trait Host: Send + Sync {
    /// Lets time pass between two calls.
    fn wait(&self, time: Duration) -> Waited<'_>;
    /// Micro-dollars of a call; `None` where the model has no known price.
    fn cost(&self, model: &str, usage: &TokenUsage) -> Option<u64>;
    /// Told of every step, in order.
    fn record(&self, step: &AgentStep);
}

/// Something that a reader of the session's events wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentStep {
    /// A call failed.
    Failed {
        error: ModelError,
        attempt: u32,
    },
    /// It is tried again: what was changed, and after what wait.
    Again {
        change: &'static str,
        wait: Duration,
        weight: usize,
    },
    /// Nothing more is tried.
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
