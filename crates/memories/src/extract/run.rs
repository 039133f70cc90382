//! Runs an extraction: at the end of a turn, or on request.

use bethink_api as api;
use bethink_api::MemoryOutcome;
use bethink_extractor::embedded::{self, DropReason, Extraction, No};
use bethink_extractor::model;
use bethink_memdir::Scope;
use bethink_service::{
    ErrorKind, Event, ForgetEventOutcome, JobHandler, JobOutput, JobRunner, JobStart, Result,
    if_found, job_session,
};
use bethink_sessions::{LoadedSession, SessionPrefix};
use bethink_store::{
    ExtractedCandidates, ExtractionPlan, JobRecord, PlannedWrite, SessionRecord, StoredCandidate,
};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};

use super::embedded::writes;
use super::gate::EXTRACT;
use super::plan::{learned, planned};
use super::statements::{NewStatements, Since};
use crate::candidates::{reopened, shown};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// What an extraction covers, and how.
#[derive(Default)]
struct ExtractionScope {
    since: Since,
    dry_run: bool,
    /// The prompt from which a model learns; by default, the session's current prompt.
    prefix: Option<SessionPrefix>,
    /// Whether the extraction also covers a turn that has not ended.
    is_open: bool,
    /// Whether a person requested the extraction.
    is_requested: bool,
}

pub(crate) fn is_replay(session: &SessionRecord) -> bool {
    session.tags.iter().any(|tag| tag == api::REPLAY_TAG)
}

impl MemoryService {
    async fn run_extract(&self, job: &JobRecord) -> Result<Value> {
        let id = job_session(job)?;
        self.extraction_begun(id);
        match self.extract(id, ExtractionScope::default()).await {
            Ok(done) => Ok(json!({ "strategy": done.strategy, "memories": done.memories.len() })),
            // The session has been deleted, or nothing may be learned from it now.
            Err(error) if error.kind == ErrorKind::NotFound || self.is_unrecorded(id).await => {
                Ok(json!({ "memories": 0 }))
            }
            Err(error) => {
                metrics::counter!("bethink_extractions_failed_total").increment(1);
                tracing::warn!(session = %id, reason = %error.detail, "could not extract memories; trying again after the next turn");
                Err(error)
            }
        }
    }

    pub async fn extract_now(
        &self,
        id: SessionId,
        request: api::ExtractRequest,
    ) -> Result<api::Extracted> {
        let since = if request.all { Since::Beginning } else { Since::Mark };
        let (dry_run, is_requested) = (request.dry_run, true);
        let scope = ExtractionScope { since, dry_run, is_requested, ..ExtractionScope::default() };
        self.extract(id, scope).await
    }

    /// Extracts memories, in the background, from the messages that a compaction removes from the view. The model reads
    /// them as they were shown. If this fails, the next extraction covers the same messages.
    pub(crate) fn extract_before_compaction(&self, loaded: &LoadedSession) {
        if self.cx.settings().memory.extraction == "off" {
            return;
        }
        let prefix = self.models.extracts_by_model().then(|| loaded.prefix().ok()).flatten();
        let scope = ExtractionScope { prefix, is_open: true, ..ExtractionScope::default() };
        let (memories, id) = (self.clone(), loaded.session.id);
        self.cx.spawn(async move {
            if let Err(error) = Box::pin(memories.extract(id, scope)).await {
                tracing::warn!(session = %id, reason = %error.detail, "could not extract memories before a compaction");
            }
        });
    }

    /// Returns names and texts of topics that these sessions taught and that have not been written. The topics are
    /// found by rules. The result is empty if extraction is off.
    pub(crate) async fn unwritten_lessons(
        &self,
        project: &MemoryProject,
        sessions: Vec<SessionId>,
    ) -> Result<Vec<(String, String)>> {
        let mut taught = Vec::new();
        if self.cx.settings().memory.extraction == "off" {
            return Ok(taught);
        }
        let dir = project.directory(Scope::Private).dir.display().to_string();
        for id in sessions {
            // The session may have been deleted.
            let Some(session) = if_found(self.cx.store().session(id).await)? else { continue };
            if is_replay(&session) {
                continue;
            }
            let statements = self.new_statements(&session, Since::Mark, false, &dir).await?;
            let found = self.learn_by_rules(project, id, statements.said).await?;
            let new = writes(&found).into_iter().filter(|write| write.over.is_none());
            taught.extend(new.map(|write| (write.name, write.text)));
        }
        Ok(taught)
    }

    async fn extract(&self, id: SessionId, scope: ExtractionScope) -> Result<api::Extracted> {
        let ExtractionScope { since, dry_run, prefix, is_open, is_requested } = scope;
        let session = self.cx.store().session(id).await?;
        if is_replay(&session) && !is_requested {
            return Ok(api::Extracted::default());
        }
        self.refuse_if_unrecorded(&session.project_dir)?;
        let project = self.project_of_session(&session).await?;
        let _one = project.turns.extracting.lock().await;
        if !dry_run {
            self.finish_stored_plan(&project, id).await?;
        }
        let dir = project.directory(Scope::Private).dir.display().to_string();
        let statements = self.new_statements(&session, since, is_open, &dir).await?;
        let mut out = api::Extracted {
            dry_run,
            through_seq: statements.through.0,
            statements: statements.said.len() as u64,
            by_agent: statements.by_agent as u64,
            ..api::Extracted::default()
        };
        if statements.through == Seq::ZERO {
            return Ok(out);
        }
        let (plan, candidates) =
            self.learn(&session, &project, &statements, prefix, &mut out).await?;
        let is_by_model = plan.strategy == model::STRATEGY;
        out.strategy =
            Some(if is_by_model { api::Strategy::Model } else { api::Strategy::Embedded });
        out.candidates = candidates.new.iter().cloned().map(shown).collect();
        if dry_run {
            out.memories = would_be(&plan);
            return Ok(out);
        }
        // A pause may have begun meanwhile. Then nothing is written, and the next extraction covers the same messages.
        self.refuse_if_unrecorded(&session.project_dir)?;
        out.memories = self.write_down(&project, &session, &statements, &plan, candidates).await?;
        self.publish_forget_requests(id, &out.forget);
        let count = out.memories.len() as u64;
        metrics::counter!("bethink_memories_extracted_total", "strategy" => plan.strategy)
            .increment(count);
        Ok(out)
    }

    /// Makes a plan with the model, or by rules if no model is asked or the model does not answer. Other findings are added to
    /// `out`.
    async fn learn(
        &self,
        session: &SessionRecord,
        project: &MemoryProject,
        statements: &NewStatements,
        prefix: Option<SessionPrefix>,
        out: &mut api::Extracted,
    ) -> Result<(ExtractionPlan, ExtractedCandidates)> {
        let mut plan = ExtractionPlan {
            strategy: embedded::STRATEGY.to_owned(),
            through: statements.through,
            ..ExtractionPlan::default()
        };
        if statements.said.is_empty() {
            return Ok((plan, ExtractedCandidates::default()));
        }
        // Importing a folder must not cost a model call for each file.
        if !statements.imported {
            let learned = self.learn_by_model(session, project, statements, prefix);
            if let Some(learned) = Box::pin(learned).await? {
                return Ok((learned, ExtractedCandidates::default()));
            }
        }
        let found = self.learn_by_rules(project, session.id, statements.said.clone()).await?;
        plan.writes = writes(&found);
        out.dropped = dropped(&found);
        let candidates =
            self.candidates_of(session, project, found.candidates, &mut plan.writes).await?;
        out.forget = found.forget.into_iter().map(|(_, words)| words).collect();
        Ok((plan, candidates))
    }

    /// Stores the plan, carries it out, and moves the mark.
    async fn write_down(
        &self,
        project: &MemoryProject,
        session: &SessionRecord,
        statements: &NewStatements,
        plan: &ExtractionPlan,
        candidates: ExtractedCandidates,
    ) -> Result<Vec<api::LearnedMemory>> {
        let id = session.id;
        let is_empty = candidates == ExtractedCandidates::default();
        if is_empty && plan.writes.is_empty() && plan.proposals.is_empty() {
            self.cx.store().finish_extraction(id, plan.through).await?;
            return Ok(Vec::new());
        }
        self.cx.store().put_extraction_plan(id, plan.clone(), candidates.clone()).await?;
        self.announce_candidates(candidates.new.iter().chain(&candidates.decided));
        let mut carried = self.carry_out(project, id, plan).await?;
        let by_rules = carried.lost.iter().any(|write| write.sentence.is_some());
        if by_rules {
            // Try again with the current files: the statement may be known by now, or need another name.
            let again = self.learn_by_rules(project, id, statements.said.clone()).await?;
            let plan =
                ExtractionPlan { writes: writes(&again), proposals: Vec::new(), ..plan.clone() };
            let more = self.carry_out(project, id, &plan).await?;
            carried.done.extend(more.done);
            carried.lost = more.lost;
        }
        let is_lost = |one: &&StoredCandidate| {
            carried.lost.iter().any(|write| Some(&write.name) == one.topic.as_ref())
        };
        let reopened = candidates.decided.iter().filter(is_lost).cloned().map(reopened).collect();
        self.cx.store().update_candidates(reopened).await?;
        self.cx.store().finish_extraction(id, plan.through).await?;
        Ok(carried.done)
    }

    /// Carries out a stored plan that an earlier daemon did not finish.
    async fn finish_stored_plan(&self, project: &MemoryProject, id: SessionId) -> Result<()> {
        let Some(plan) = self.cx.store().extraction_plan(id).await? else { return Ok(()) };
        self.carry_out(project, id, &plan).await?;
        // This deletes the plan and moves the mark in one transaction, so that nothing is planned twice.
        Ok(self.cx.store().finish_extraction(id, plan.through).await?)
    }

    /// Returns an error if recording is paused or the project is excluded.
    pub(crate) fn refuse_if_unrecorded(&self, project_dir: &str) -> Result<()> {
        self.cx.unrecorded(project_dir).map_or(Ok(()), |why| Err(why.into()))
    }

    async fn is_unrecorded(&self, id: SessionId) -> bool {
        let session = self.cx.store().session(id).await;
        session.is_ok_and(|session| self.cx.unrecorded(&session.project_dir).is_some())
    }

    /// Publishes requests to forget something. A person decides which topics the requests refer to.
    fn publish_forget_requests(&self, id: SessionId, forget: &[String]) {
        for words in forget {
            let hint = "`bethink memory ls` lists memories; `bethink memory rm` removes one";
            let event = Event::ForgetAsked {
                outcome: ForgetEventOutcome::AskedToForget,
                by: api::MemoryAuthor::Extraction,
                words: words.clone(),
                hint,
            };
            self.cx.hub().publish(id, Seq::ZERO, &event);
        }
    }
}

fn would_be(plan: &ExtractionPlan) -> Vec<api::LearnedMemory> {
    let shown = |write: &PlannedWrite, scope: Scope, outcome: MemoryOutcome| api::LearnedMemory {
        text: Some(write.text.clone()),
        ..learned(write, scope, outcome)
    };
    let scope =
        |write: &PlannedWrite| Scope::of(learned(write, Scope::Private, planned(write)).kind);
    let own = plan.writes.iter().map(|write| shown(write, scope(write), planned(write)));
    let team =
        plan.proposals.iter().map(|write| shown(write, Scope::Team, MemoryOutcome::Proposed));
    own.chain(team).collect()
}

fn dropped(found: &Extraction) -> Vec<api::DroppedStatement> {
    let dropped = found.dropped.iter().map(|(seq, statement, why)| api::DroppedStatement {
        seq: seq.0,
        // Do not repeat a secret, not even to the person who said it.
        statement: match why {
            DropReason::Gate(No::Secret) => String::new(),
            _ => statement.clone(),
        },
        reason: reason(*why).to_owned(),
    });
    dropped.collect()
}

fn reason(why: DropReason) -> &'static str {
    match why {
        DropReason::Known => "already known",
        DropReason::Refused => "a person has already removed or rejected it",
        DropReason::Replaced => "the user said something else later",
        DropReason::TooMany => "this extraction had already written its maximum number of topics",
        DropReason::Gate(No::Secret) => "it contains a secret",
        DropReason::Gate(No::Hidden) => "it contains invisible characters",
        DropReason::Gate(No::TooLong) => "it is too long",
        DropReason::Gate(No::Question) => "it is a question",
        DropReason::Gate(No::Hedged) => "it is a guess or a suggestion",
        DropReason::Gate(No::OfTheMoment) => "it applies only temporarily",
        DropReason::Gate(No::Reported) => "it reports what someone else said",
    }
}

/// Extracts memories from a session when a turn has ended and the session is idle.
#[derive(Debug)]
pub struct ExtractJob(pub MemoryService);

impl JobHandler for ExtractJob {
    fn kind(&self) -> &'static str {
        EXTRACT
    }

    fn start(&self) -> JobStart {
        JobStart::WhenIdle
    }

    fn waits_for_model(&self) -> bool {
        self.0.models.extracts_by_model()
    }

    fn run<'a>(&'a self, job: &'a JobRecord, _: &'a JobRunner) -> JobOutput<'a> {
        Box::pin(self.0.run_extract(job))
    }
}
