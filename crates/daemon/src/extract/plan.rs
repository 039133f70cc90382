//! A plan: texts to be written, kept before the first of them is.

use bethink_api as api;
use bethink_memdir::{Hash, Name, Scope, header};
use bethink_memdir_fs::File;
use bethink_store::Kept;
use bethink_transcript::{Seq, SessionId};
use serde::{Deserialize, Serialize};

use super::PLAN;
use crate::memory::{Author, MemoryWish, MemoryWrite, Project};
use crate::team::NewProposal;
use crate::{Daemon, Kind, Refusal, Result};

/// What an extraction is about to write.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) strategy: String,
    /// The session's mark when it is done.
    pub(super) through: u64,
    pub(super) writes: Vec<Write>,
    /// What a person is to decide about for the team.
    #[serde(default)]
    pub(super) proposals: Vec<Write>,
}

/// One text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Write {
    pub(super) name: String,
    /// Tag of what stands there; `None`: nothing may.
    pub(super) over: Option<String>,
    pub(super) text: String,
    /// The user's own words, and where they stand.
    pub(super) sentence: Option<String>,
    pub(super) seq: Option<u64>,
}

/// What came of a plan.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub(super) done: Vec<api::LearntMemory>,
    /// Somebody else wrote there meanwhile.
    pub(super) lost: Vec<Write>,
}

impl Write {
    pub(super) fn told(&self, scope: Scope, outcome: &str) -> api::LearntMemory {
        let head = header::read(&self.text).header;
        api::LearntMemory {
            scope: scope.to_string(),
            name: self.name.clone(),
            outcome: outcome.to_owned(),
            description: head.description,
            kind: head.kind.map(|kind| kind.to_string()),
            statement: self.sentence.clone(),
            seq: self.seq,
            text: None,
        }
    }
}

impl Daemon {
    pub(super) async fn kept_plan(&self, id: SessionId) -> Result<Option<Plan>> {
        let kept = self.store().kept(PLAN.to_owned(), id.to_string()).await?;
        Ok(kept.first().and_then(|kept| serde_json::from_str(&kept.value).ok()))
    }

    pub(super) async fn keep_plan(&self, id: SessionId, plan: &Plan) -> Result<()> {
        let kept = Kept {
            space: PLAN.to_owned(),
            owner: id.to_string(),
            key: "plan".to_owned(),
            value: serde_json::to_string(plan).map_err(Refusal::internal)?,
            at: self.now(),
        };
        Ok(self.store().keep(kept).await?)
    }

    /// The plan is carried out: the mark moves on first, so that nothing is planned twice.
    pub(super) async fn finish_plan(&self, id: SessionId, plan: &Plan) -> Result<()> {
        let mark = self.mark(id).await?.unwrap_or(Seq::ZERO);
        self.set_mark(id, mark.max(Seq(plan.through))).await?;
        self.store().forget_kept(PLAN.to_owned(), id.to_string(), "plan".to_owned()).await?;
        Ok(())
    }

    /// Writes what is not written yet. Never over somebody else's text.
    pub(super) async fn carry_out(
        &self,
        project: &Project,
        id: SessionId,
        plan: &Plan,
    ) -> Result<Carried> {
        let mut carried = Carried::default();
        for write in &plan.writes {
            match self.write_learnt(project, id, write, &plan.strategy).await {
                Ok(written) => {
                    let outcome = if write.over.is_some() { "changed" } else { "created" };
                    let outcome =
                        if written.outcome == "same" { outcome } else { &written.outcome };
                    carried.done.push(write.told(Scope::Private, outcome));
                }
                // Tried again: nothing is wrong with the text.
                Err(refusal)
                    if matches!(
                        refusal.kind,
                        Kind::StorageFull | Kind::ReadOnly | Kind::ShuttingDown
                    ) =>
                {
                    return Err(refusal);
                }
                Err(refusal) => {
                    tracing::info!(session = %id, topic = %write.name, reason = %refusal.detail, "a memory was not written");
                    carried.lost.push(write.clone());
                }
            }
        }
        for write in &plan.proposals {
            match self.propose_learnt(project, write).await {
                Ok(true) => carried.done.push(write.told(Scope::Team, "proposed")),
                // It waits already, is there, or was rejected.
                Ok(false) => {}
                Err(refusal) => {
                    tracing::info!(session = %id, topic = %write.name, reason = %refusal.detail, "nothing was proposed");
                }
            }
        }
        Ok(carried)
    }

    async fn propose_learnt(&self, project: &Project, write: &Write) -> Result<bool> {
        let name = Name::parse(&write.name).map_err(Refusal::internal)?;
        let source = header::read(&write.text).header.source.map(|source| api::MemorySource {
            session: source.session,
            messages: source.messages,
            strategy: source.strategy,
            time: source.time,
        });
        let new = NewProposal { name, text: write.text.clone(), by: "extraction", source };
        Ok(self.propose(project, new).await?.is_some())
    }

    async fn write_learnt(
        &self,
        project: &Project,
        id: SessionId,
        write: &Write,
        strategy: &str,
    ) -> Result<api::MemoryWritten> {
        let name = Name::parse(&write.name).map_err(Refusal::internal)?;
        let over = write.over.as_deref().map(str::parse::<Hash>).transpose();
        let wish = match over.map_err(Refusal::internal)? {
            Some(hash) => MemoryWish::Hash(hash),
            None => MemoryWish::Absent,
        };
        let write = MemoryWrite {
            scope: Scope::Private,
            file: File::Topic(name),
            text: Some(write.text.clone()),
            wish,
            author: Author { by: "extraction", session: Some(id), note: strategy.to_owned() },
        };
        self.write_memory(project, write).await
    }
}
