//! Keeps and drops candidates, for a person or for a client's agent.

use bethink_api as api;
use bethink_memdir::Scope;
use bethink_service::{Result, ServiceError};
use bethink_store::{CandidateFilter, CandidateState, StoredCandidate};
use bethink_transcript::{SessionId, UnixMicros};
use uuid::Uuid;

use super::shown;
use super::topic::{TopicWording, topic};
use crate::memory_write::Author;
use crate::project::MemoryProject;
use crate::read::name_of;
use crate::remember::{NewTopic, RememberOutcome, checked_questions};
use crate::service::MemoryService;

impl MemoryService {
    /// Writes a memory from a candidate, at a person's request.
    pub async fn keep_candidate(
        &self,
        id: Uuid,
        request: api::KeepCandidate,
    ) -> Result<api::MemoryWritten> {
        let project = self.project(&self.waiting_candidate(id).await?.project_dir).await?;
        let _one = project.turns.extracting.lock().await;
        let candidate = self.waiting_candidate(id).await?;
        let new = new_topic(&candidate, &request, ("person", self.cx.now()))?;
        let note = format!("kept candidate {id}");
        let author = Author { session: Some(candidate.session), note, ..Author::person() };
        let scope = request.scope.unwrap_or(Scope::of(new.kind));
        let written = self.write_new_topic(&project, scope, new, author).await?;
        let topic = Some(written.name.clone());
        self.decide_candidate(candidate, CandidateState::Kept, api::MemoryAuthor::Person, topic)
            .await?;
        Ok(written)
    }

    /// Like [`Self::keep_candidate`], but for an agent, which can only propose team memories. The request's `text` may be
    /// empty. `named` is the candidate's id, or the beginning or end of it.
    pub async fn keep_candidate_for_agent(
        &self,
        named: &str,
        request: api::Remember,
    ) -> Result<RememberOutcome> {
        self.refuse_if_unrecorded(&request.project_dir)?;
        let project = self.project(&request.project_dir).await?;
        let _one = project.turns.extracting.lock().await;
        let candidate = self.named_candidate(&project, named).await?;
        let wanted = api::KeepCandidate {
            text: Some(request.text),
            name: request.name,
            description: request.description,
            questions: request.questions,
            kind: request.kind,
            scope: request.scope,
        };
        let new = new_topic(&candidate, &wanted, ("agent", self.cx.now()))?;
        let note = format!("kept candidate {}", candidate.id);
        let author = Author { note, ..Author::agent(request.session_id.map(SessionId)) };
        let scope = wanted.scope.unwrap_or(Scope::of(new.kind));
        let done = self.add_for_agent(&project, scope, new, author).await?;
        let name = match &done {
            RememberOutcome::Written(written) => written.name.clone(),
            RememberOutcome::Proposed(proposal) => proposal.name.clone(),
        };
        let by = api::MemoryAuthor::Agent;
        self.decide_candidate(candidate, CandidateState::Kept, by, Some(name)).await?;
        Ok(done)
    }

    /// Drops a candidate at a person's request. The statement will not be learned again, in any wording, unless the
    /// user asks to remember it.
    pub async fn drop_candidate(&self, id: Uuid) -> Result<api::Candidate> {
        let candidate = self.waiting_candidate(id).await?;
        let project = self.project(&candidate.project_dir).await?;
        let _one = project.turns.extracting.lock().await;
        let candidate = self.waiting_candidate(id).await?;
        self.refuse_statement(&project, &candidate.sentence).await?;
        self.decide_candidate(candidate, CandidateState::Dropped, api::MemoryAuthor::Person, None)
            .await
    }

    /// Like [`Self::drop_candidate`], but for an agent: the candidate is not offered again, but the same fact can still
    /// be learned from a clear statement by the user.
    pub async fn drop_candidate_for_agent(
        &self,
        project_dir: &str,
        named: &str,
    ) -> Result<api::Candidate> {
        let project = self.project(project_dir).await?;
        let _one = project.turns.extracting.lock().await;
        let candidate = self.named_candidate(&project, named).await?;
        self.decide_candidate(candidate, CandidateState::Dropped, api::MemoryAuthor::Agent, None)
            .await
    }

    /// Drops the waiting candidates of a session that is being forgotten, and returns their statements.
    pub(crate) async fn forget_candidates(
        &self,
        project: &MemoryProject,
        session: SessionId,
        dry_run: bool,
    ) -> Result<Vec<String>> {
        let filter = CandidateFilter {
            project_dir: Some(project.root.display().to_string()),
            session: Some(session),
            state: Some(CandidateState::Waiting),
        };
        let waiting = self.cx.store().candidates(filter).await?;
        let statements = waiting.iter().map(|one| one.sentence.clone()).collect();
        for one in waiting.into_iter().filter(|_| !dry_run) {
            self.refuse_statement(project, &one.sentence).await?;
            let by = api::MemoryAuthor::Person;
            self.decide_candidate(one, CandidateState::Dropped, by, None).await?;
        }
        Ok(statements)
    }

    async fn decide_candidate(
        &self,
        candidate: StoredCandidate,
        state: CandidateState,
        by: api::MemoryAuthor,
        topic: Option<String>,
    ) -> Result<api::Candidate> {
        let (decided_at, decided_by) = (Some(self.cx.now()), Some(by));
        let decided = StoredCandidate { state, decided_at, decided_by, topic, ..candidate };
        self.cx.store().update_candidates(vec![decided.clone()]).await?;
        self.announce_candidates([&decided]);
        Ok(shown(decided))
    }
}

/// Makes a topic from a candidate. `by` is the author of the request's text, and the time.
fn new_topic(
    candidate: &StoredCandidate,
    request: &api::KeepCandidate,
    by: (&'static str, UnixMicros),
) -> Result<NewTopic> {
    let wording = TopicWording {
        text: request.text.as_deref(),
        description: request.description.as_deref(),
        questions: checked_questions(&request.questions)?,
        kind: request.kind,
        by: Some(by),
    };
    let made = topic(&[candidate], &wording);
    let (text, description, source) =
        made.ok_or_else(|| ServiceError::internal("could not make a topic from the candidate"))?;
    let named = request.name.as_deref().map(name_of).transpose()?;
    let kind = Some(request.kind.unwrap_or(candidate.kind));
    Ok(NewTopic { named, description, kind, text, source })
}
