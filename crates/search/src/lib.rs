//! Searches the history of a session or of a whole project.
//!
//! Decides when the index is built and which messages a search reads. Terms, ranking and snippets are in `recall`; the store
//! keeps the positions of terms.
//!
//! Reading order: [`index`] → [`query`] → [`filter`] → [`plan`] → [`read`] → [`hit`].

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bethink_service::ServiceContext;
use bethink_transcript::SessionId;

mod filter;
mod hit;
mod index;
mod plan;
mod query;
mod read;

pub use index::terms_of;
pub use query::{MAX_HITS, MAX_QUERY};

#[derive(Clone, Debug)]
pub struct SearchService {
    cx: ServiceContext,
    /// The sessions that are enqueued for indexing. Clones of the service share this set.
    queue: Arc<Mutex<HashSet<SessionId>>>,
}

impl SearchService {
    pub fn new(cx: ServiceContext) -> Self {
        Self { cx, queue: Arc::default() }
    }
}
