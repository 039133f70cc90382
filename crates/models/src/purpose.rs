//! The purposes of model calls.

use std::time::Duration;

use bethink_agent::Tool;
use bethink_config::ModelSettings;
use bethink_model::ModelRequest;
use bethink_transcript::SessionId;

/// Time limit of a choice of memories: a later one is of no use for its work.
const RECALL_DEADLINE: Duration = Duration::from_secs(20);

/// The purposes of model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    Summary,
    Notes,
    /// Choose memories that are relevant to the user's message.
    Recall,
    /// Find what is worth remembering in a conversation.
    Extraction,
    /// Consolidate a project's memory.
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

    /// A later answer is of no use.
    pub(crate) fn deadline(self, settings: &ModelSettings) -> Duration {
        let whole = Duration::from_millis(settings.deadline_ms);
        match self {
            Purpose::Summary | Purpose::Notes | Purpose::Extraction | Purpose::Dream => whole,
            Purpose::Recall => whole.min(RECALL_DEADLINE),
        }
    }
}

/// One request to a model.
#[derive(Clone, Copy)]
pub struct Errand<'a> {
    /// `None` for a request outside any session.
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
