//! What a model is asked for.

use std::time::Duration;

use bethink_agent::Tool;
use bethink_config::ModelSettings;
use bethink_model::ModelRequest;
use bethink_transcript::SessionId;

/// A choice of memories that comes later finds the work it was for done.
const RECALL_DEADLINE: Duration = Duration::from_secs(20);

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    Summary,
    Notes,
    /// Which memories help with what the user said.
    Recall,
    /// What of a conversation is worth remembering.
    Extraction,
    /// A project's memory brought into order.
    Dream,
}

impl Purpose {
    pub fn as_str(self) -> &'static str {
        match self {
            Purpose::Summary => "summary",
            Purpose::Notes => "notes",
            Purpose::Recall => "recall",
            Purpose::Extraction => "extraction",
            Purpose::Dream => "dream",
        }
    }

    /// What comes later is of no use.
    pub(crate) fn deadline(self, settings: &ModelSettings) -> Duration {
        let whole = Duration::from_millis(settings.deadline_ms);
        match self {
            Purpose::Summary | Purpose::Notes | Purpose::Extraction | Purpose::Dream => whole,
            Purpose::Recall => whole.min(RECALL_DEADLINE),
        }
    }
}

/// One thing that a model is asked for.
#[derive(Clone, Copy)]
pub struct Errand<'a> {
    /// None where a person asks outside of any.
    pub session: Option<SessionId>,
    pub purpose: Purpose,
    pub request: &'a ModelRequest,
    pub tools: &'a [&'a dyn Tool],
    pub turns: u32,
}

impl std::fmt::Debug for Errand<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { session, purpose, turns, .. } = self;
        f.debug_struct("Errand")
            .field("session", session)
            .field("purpose", purpose)
            .field("turns", turns)
            .finish_non_exhaustive()
    }
}
