//! One extraction: at the end of a turn, or because a person asks.

use bethink_api as api;
use bethink_extractor::embedded::{Dropped, Extraction, No};
use bethink_memdir::Scope;
use bethink_store::{Job, Session, StoreError};
use bethink_transcript::{Seq, SessionId};
use serde_json::{Value, json};

use super::embedded;
use super::heard::{Heard, Since};
use super::plan::{Plan, Write};
use crate::memory::Project;
use crate::{Daemon, Kind, Refusal, Result, jobs};

/// What is to be written, and what was found beside it.
struct Found {
    strategy: &'static str,
    writes: Vec<Write>,
    proposals: Vec<Write>,
    dropped: Vec<api::DroppedStatement>,
    forget: Vec<String>,
}

impl Found {
    fn by(strategy: &'static str) -> Self {
        let (writes, proposals) = (Vec::new(), Vec::new());
        Self { strategy, writes, proposals, dropped: Vec::new(), forget: Vec::new() }
    }
}

impl Daemon {
    pub(crate) async fn run_extract(&self, job: &Job) -> Result<Value> {
        let payload = jobs::payload(job)?;
        let id = payload["session"].as_str().and_then(|id| id.parse().ok()).map(SessionId);
        let id = id.ok_or_else(|| Refusal::internal("an extraction without a session"))?;
        self.extraction_begun(id);
        match self.extract(id, Since::Mark, false).await {
            Ok(done) => Ok(json!({ "strategy": done.strategy, "memories": done.memories.len() })),
            // Deleted since.
            Err(refusal) if refusal.kind == Kind::NotFound => Ok(json!({ "memories": 0 })),
            Err(refusal) => {
                metrics::counter!("bethink_extractions_failed_total").increment(1);
                tracing::warn!(session = %id, reason = %refusal.detail, "nothing was extracted; tried again after the next turn");
                Err(refusal)
            }
        }
    }

    /// Looks through a session now.
    pub async fn extract_now(
        &self,
        id: SessionId,
        request: api::ExtractRequest,
    ) -> Result<api::Extracted> {
        let since = if request.all { Since::Beginning } else { Since::Mark };
        self.extract(id, since, request.dry_run).await
    }

    /// Names and texts of the topics that these sessions taught and nobody wrote down yet, by rules; nothing where
    /// learning is turned off.
    pub(crate) async fn unwritten_lessons(
        &self,
        project: &Project,
        sessions: Vec<SessionId>,
    ) -> Result<Vec<(String, String)>> {
        let mut taught = Vec::new();
        if self.settings().memory.extraction == "off" {
            return Ok(taught);
        }
        let dir = project.shelf(Scope::Private).dir.display().to_string();
        for id in sessions {
            let session = match self.store().session(id).await {
                Ok(session) => session,
                // Deleted since.
                Err(StoreError::NotFound { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let heard = self.heard(&session, Since::Mark, &dir).await?;
            let found = self.learn_by_rules(project, id, heard.said).await?;
            let new = embedded::writes(&found).into_iter().filter(|write| write.over.is_none());
            taught.extend(new.map(|write| (write.name, write.text)));
        }
        Ok(taught)
    }

    async fn extract(&self, id: SessionId, since: Since, dry_run: bool) -> Result<api::Extracted> {
        let session = self.store().session(id).await?;
        let project = self.project(&session.project_dir).await?;
        let _one = self.extractions().enter(&project.key).await;
        if !dry_run {
            self.finish_what_was_begun(&project, id).await?;
        }
        let dir = project.shelf(Scope::Private).dir.display().to_string();
        let heard = self.heard(&session, since, &dir).await?;
        let mut out = api::Extracted {
            dry_run,
            through_seq: heard.through.0,
            statements: heard.said.len() as u64,
            by_agent: heard.by_agent as u64,
            ..api::Extracted::default()
        };
        if heard.through == Seq::ZERO {
            return Ok(out);
        }
        let found = self.learn(&session, &project, &heard).await?;
        let plan = Plan {
            strategy: found.strategy.to_owned(),
            through: heard.through.0,
            writes: found.writes,
            proposals: found.proposals,
        };
        (out.strategy, out.dropped, out.forget) =
            (plan.strategy.clone(), found.dropped, found.forget);
        if dry_run {
            out.memories = would_be(&plan);
            return Ok(out);
        }
        out.memories = self.write_down(&project, &session, &heard, &plan).await?;
        self.tell_what_to_forget(id, &out.forget);
        let count = out.memories.len() as u64;
        metrics::counter!("bethink_memories_extracted_total", "strategy" => plan.strategy)
            .increment(count);
        Ok(out)
    }

    /// By the model where it is asked and answers, by rules otherwise.
    async fn learn(&self, session: &Session, project: &Project, heard: &Heard) -> Result<Found> {
        let rules = bethink_extractor::embedded::STRATEGY;
        if heard.said.is_empty() {
            return Ok(Found::by(rules));
        }
        if let Some(learnt) = Box::pin(self.learn_by_model(session, project, heard)).await? {
            let (writes, proposals) = (learnt.writes, learnt.proposals);
            return Ok(Found {
                writes,
                proposals,
                ..Found::by(bethink_extractor::model::STRATEGY)
            });
        }
        let found = self.learn_by_rules(project, session.id, heard.said.clone()).await?;
        Ok(Found {
            writes: embedded::writes(&found),
            dropped: dropped(&found),
            forget: found.forget.into_iter().map(|(_, words)| words).collect(),
            ..Found::by(rules)
        })
    }

    /// Keeps the plan, carries it out, and moves the mark.
    async fn write_down(
        &self,
        project: &Project,
        session: &Session,
        heard: &Heard,
        plan: &Plan,
    ) -> Result<Vec<api::LearntMemory>> {
        let id = session.id;
        if plan.writes.is_empty() && plan.proposals.is_empty() {
            self.finish_plan(id, plan).await?;
            return Ok(Vec::new());
        }
        self.keep_plan(id, plan).await?;
        let mut carried = self.carry_out(project, id, plan).await?;
        let by_rules = carried.lost.iter().any(|write| write.sentence.is_some());
        if by_rules {
            // Read again, once: it may stand there now, or want another name.
            let again = self.learn_by_rules(project, id, heard.said.clone()).await?;
            let plan =
                Plan { writes: embedded::writes(&again), proposals: Vec::new(), ..plan.clone() };
            let more = self.carry_out(project, id, &plan).await?;
            carried.done.extend(more.done);
            carried.lost = more.lost;
        }
        self.finish_plan(id, plan).await?;
        Ok(carried.done)
    }

    /// A plan that a daemon before this one did not come to the end of.
    async fn finish_what_was_begun(&self, project: &Project, id: SessionId) -> Result<()> {
        let Some(plan) = self.kept_plan(id).await? else { return Ok(()) };
        self.carry_out(project, id, &plan).await?;
        self.finish_plan(id, &plan).await
    }

    /// What is to be forgotten is for a person to say: a sentence may mean one topic or ten.
    fn tell_what_to_forget(&self, id: SessionId, forget: &[String]) {
        for words in forget {
            let hint = "`bethink memory ls` lists what is known, `bethink memory rm` removes it";
            let data = json!({ "outcome": "asked_to_forget", "by": "extraction", "words": words, "hint": hint });
            self.hub().publish(id, "memory", Seq::ZERO, &data);
        }
    }
}

fn would_be(plan: &Plan) -> Vec<api::LearntMemory> {
    let shown = |write: &Write, scope: Scope, outcome: &str| api::LearntMemory {
        text: Some(write.text.clone()),
        ..write.told(scope, outcome)
    };
    let own = plan.writes.iter().map(|write| {
        let outcome = if write.over.is_some() { "changed" } else { "created" };
        shown(write, Scope::Private, outcome)
    });
    let team = plan.proposals.iter().map(|write| shown(write, Scope::Team, "proposed"));
    own.chain(team).collect()
}

fn dropped(found: &Extraction) -> Vec<api::DroppedStatement> {
    let told = found.dropped.iter().map(|(seq, statement, why)| api::DroppedStatement {
        seq: seq.0,
        // A secret is not repeated, not even to who said it.
        statement: match why {
            Dropped::Gate(No::Secret) => String::new(),
            _ => statement.clone(),
        },
        reason: reason(*why).to_owned(),
    });
    told.collect()
}

fn reason(why: Dropped) -> &'static str {
    match why {
        Dropped::Known => "it is known",
        Dropped::Refused => "a person took it out",
        Dropped::TooMany => "too many at once",
        Dropped::Gate(No::Secret) => "it holds a secret",
        Dropped::Gate(No::Hidden) => "it holds characters that are not seen",
        Dropped::Gate(No::TooLong) => "it is too long",
        Dropped::Gate(_) => "it teaches nothing that lasts",
    }
}
