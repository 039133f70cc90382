//! Candidates: statements that may be worth remembering. Candidates wait until somebody keeps or drops them.
//!
//! Candidates are never recalled. Prompts contain only those that bethink asks the agent about. A person or a client's
//! agent decides whether to keep a candidate, and a candidate is kept automatically if the user says the same thing in
//! a second session. A kept candidate becomes a topic that quotes the user's own words; a dropped candidate is not
//! offered again, in any wording.
//!
//! Reading order: `found` (from an extraction) → `decide` → `offer` (to a client's agent) → `topic`.

mod decide;
pub(crate) mod found;
mod offer;
#[cfg(test)]
mod tests;
mod topic;

use bethink_api as api;
use bethink_service::{Event, Result, ServiceError, rfc3339};
use bethink_store::{CandidateFilter, CandidateState, StoredCandidate};
use uuid::Uuid;

use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Minimum number of characters of an id that can name a candidate.
const SHORTEST_ID: usize = 4;

impl MemoryService {
    /// Lists a project's waiting candidates, or all of them, newest first.
    pub async fn candidates(&self, project_dir: &str, all: bool) -> Result<api::Candidates> {
        let project = self.project(project_dir).await?;
        let dir = project.root.display().to_string();
        let state = (!all).then_some(CandidateState::Waiting);
        let filter = CandidateFilter { project_dir: Some(dir.clone()), state, session: None };
        let found = self.cx.store().candidates(filter).await?;
        let removed = self.cx.store().removed_candidates(dir).await?;
        Ok(api::Candidates { candidates: found.into_iter().map(shown).collect(), removed })
    }

    async fn waiting_candidates(&self, project: &MemoryProject) -> Result<Vec<StoredCandidate>> {
        let filter = CandidateFilter {
            project_dir: Some(project.root.display().to_string()),
            state: Some(CandidateState::Waiting),
            session: None,
        };
        Ok(self.cx.store().candidates(filter).await?)
    }

    /// Returns the waiting candidate with this id.
    async fn waiting_candidate(&self, id: Uuid) -> Result<StoredCandidate> {
        let found = self.cx.store().candidate(id).await?.ok_or_else(|| {
            ServiceError::not_found(format!("candidate {id} not found"))
                .hint("`bethink memory candidates` lists the waiting candidates")
        })?;
        match found.state {
            CandidateState::Waiting => Ok(found),
            state => {
                Err(ServiceError::conflict(format!("candidate {id} has already been {state}")))
            }
        }
    }

    /// Returns the project's waiting candidate whose id is `named`, or begins or ends with it.
    async fn named_candidate(
        &self,
        project: &MemoryProject,
        named: &str,
    ) -> Result<StoredCandidate> {
        let named = named.trim().to_ascii_lowercase();
        let waiting = self.waiting_candidates(project).await?;
        let is_meant = |one: &&StoredCandidate| {
            let id = one.id.to_string();
            named.len() >= SHORTEST_ID && (id.starts_with(&named) || id.ends_with(&named))
        };
        let mut meant = waiting.iter().filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(one), None) => Ok(one.clone()),
            (Some(_), Some(_)) => {
                let detail =
                    format!("several candidates have an id that begins or ends with {named:?}");
                Err(ServiceError::conflict(detail).hint("use more characters of the id"))
            }
            (None, _) => {
                let shown: String = named.chars().take(40).collect();
                Err(ServiceError::not_found(format!("no candidate {shown:?} is waiting"))
                    .hint("it may have been kept or dropped; `bethink memory candidates` lists the ids of the waiting candidates"))
            }
        }
    }

    pub(crate) fn announce_candidates<'a>(
        &self,
        candidates: impl IntoIterator<Item = &'a StoredCandidate>,
    ) {
        for one in candidates {
            let project_dir = one.project_dir.clone();
            let event = Event::Candidate { id: one.id, state: one.state, project_dir };
            self.cx.hub().announce(Some(one.session), &event);
        }
    }
}

/// Returns the candidate without the decision on it, so that it is waiting again.
pub(crate) fn reopened(decided: StoredCandidate) -> StoredCandidate {
    let state = CandidateState::Waiting;
    StoredCandidate { state, decided_at: None, decided_by: None, topic: None, ..decided }
}

pub(crate) fn shown(stored: StoredCandidate) -> api::Candidate {
    api::Candidate {
        id: stored.id,
        project_dir: stored.project_dir,
        sentence: stored.sentence,
        context: stored.context,
        kind: stored.kind,
        rule: stored.rule,
        score: stored.score,
        session_id: stored.session.0,
        seq: stored.seq.0,
        message_id: stored.message.map(|id| id.as_str().to_owned()),
        said_at: rfc3339(stored.said_at),
        state: stored.state,
        decided_at: stored.decided_at.map(rfc3339),
        decided_by: stored.decided_by,
        topic: stored.topic,
    }
}
