//! A request to a model, and its time limit.

use std::time::Duration;

use bethink_agent::Tool;
pub use bethink_api::Purpose;
use bethink_config::ModelSettings;
use bethink_model::ModelRequest;
use bethink_transcript::SessionId;

use crate::client::ClientModel;

/// Time limit for a recall: a later answer is of no use.
const RECALL_DEADLINE: Duration = Duration::from_secs(20);

/// Returns the time limit for a request: a later answer is of no use.
pub(crate) fn deadline(purpose: Purpose, settings: &ModelSettings) -> Duration {
    let whole = Duration::from_millis(settings.deadline_ms);
    match purpose {
        Purpose::Summary | Purpose::Notes | Purpose::Extraction | Purpose::Dream => whole,
        Purpose::Recall => whole.min(RECALL_DEADLINE),
    }
}

/// A request to a model, for a purpose.
#[derive(Clone, Copy)]
pub struct Errand<'a> {
    /// `None` for a request outside any session.
    pub session: Option<SessionId>,
    pub purpose: Purpose,
    pub request: &'a ModelRequest,
    pub tools: &'a [&'a dyn Tool],
    pub turns: u32,
    /// The client's own model, which is called instead of the configured model.
    pub client: Option<&'a ClientModel>,
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
