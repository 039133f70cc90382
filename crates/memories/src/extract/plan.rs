//! Carries out a plan: writes its texts. The plan is stored before the first text is written.

use bethink_api as api;
use bethink_api::MemoryOutcome;
use bethink_memdir::{Hash, Name, Scope, header};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_store::{ExtractionPlan, PlannedWrite};
use bethink_transcript::SessionId;
use uuid::Uuid;

use crate::memory_write::{Author, MemoryWrite};
use crate::project::MemoryProject;
use crate::proposals::{NewProposal, ProposalOutcome};
use crate::service::MemoryService;

#[derive(Debug, Default)]
pub(super) struct PlanResult {
    pub(super) done: Vec<api::LearnedMemory>,
    /// Writes that failed, for example because of a concurrent change.
    pub(super) lost: Vec<PlannedWrite>,
}

pub(super) fn learned(
    write: &PlannedWrite,
    scope: Scope,
    outcome: MemoryOutcome,
) -> api::LearnedMemory {
    let head = header::read(&write.text).header;
    api::LearnedMemory {
        scope,
        name: write.name.clone(),
        outcome,
        description: head.description,
        kind: head.kind,
        statement: write.sentence.clone(),
        seq: write.seq.map(|seq| seq.0),
        text: None,
    }
}

/// The outcome of a write, provided that nothing changes before it.
pub(super) fn planned(write: &PlannedWrite) -> MemoryOutcome {
    if write.over.is_some() { MemoryOutcome::Changed } else { MemoryOutcome::Created }
}

impl MemoryService {
    /// Writes the plan's texts that have not been written yet, but never overwrites someone else's text.
    pub(super) async fn carry_out(
        &self,
        project: &MemoryProject,
        id: SessionId,
        plan: &ExtractionPlan,
    ) -> Result<PlanResult> {
        let mut carried = PlanResult::default();
        for write in &plan.writes {
            match self.write_learned(project, id, write, &plan.strategy).await {
                Ok(written) => {
                    let outcome = match written.outcome {
                        MemoryOutcome::Same => planned(write),
                        outcome => outcome,
                    };
                    carried.done.push(learned(write, written.scope, outcome));
                }
                Err(error) => match error.kind {
                    // The text is not the cause, so the write is tried again later.
                    ErrorKind::ShuttingDown | ErrorKind::StorageDamaged => return Err(error),
                    kind if kind.is_of_the_disk() => return Err(error),
                    _ => {
                        tracing::info!(session = %id, topic = %write.name, reason = %error.detail, "could not write a memory");
                        carried.lost.push(write.clone());
                    }
                },
            }
        }
        for write in &plan.proposals {
            match self.propose_learned(project, write).await {
                Ok(true) => carried.done.push(learned(write, Scope::Team, MemoryOutcome::Proposed)),
                // It is already proposed, shared or rejected.
                Ok(false) => {}
                Err(error) => {
                    tracing::info!(session = %id, topic = %write.name, reason = %error.detail, "could not propose a memory");
                }
            }
        }
        Ok(carried)
    }

    async fn propose_learned(&self, project: &MemoryProject, write: &PlannedWrite) -> Result<bool> {
        let name = Name::parse(&write.name).map_err(ServiceError::internal)?;
        let source = header::read(&write.text).header.source;
        let new = NewProposal {
            id: Uuid::now_v7(),
            name,
            text: write.text.clone(),
            by: api::ProposalAuthor::Extraction,
            source,
        };
        Ok(matches!(self.propose(project, new).await?, ProposalOutcome::Waiting(_)))
    }

    /// Returns the directory for a planned write: the person's memory for new topics about the person, or the directory
    /// that already has the topic.
    async fn scope_of(
        &self,
        project: &MemoryProject,
        write: &PlannedWrite,
        name: &Name,
    ) -> Result<Scope> {
        if write.over.is_some() {
            let person = project.directory(Scope::Person).read(name).await?;
            let is_persons = person.is_some_and(|(_, hash)| Some(hash.to_string()) == write.over);
            return Ok(if is_persons { Scope::Person } else { Scope::Private });
        }
        Ok(Scope::of(header::read(&write.text).header.kind))
    }

    async fn write_learned(
        &self,
        project: &MemoryProject,
        id: SessionId,
        write: &PlannedWrite,
        strategy: &str,
    ) -> Result<api::MemoryWritten> {
        let name = Name::parse(&write.name).map_err(ServiceError::internal)?;
        let over = write.over.as_deref().map(str::parse::<Hash>).transpose();
        let expected = over.map_err(ServiceError::internal)?.into();
        let (file, text) = (DirectoryFile::Topic(name.clone()), Some(write.text.clone()));
        let author = Author {
            by: api::MemoryAuthor::Extraction,
            session: Some(id),
            note: strategy.to_owned(),
        };
        let scope = self.scope_of(project, write, &name).await?;
        let write = MemoryWrite { scope, file, text, expected, author };
        self.write_memory(project, write).await
    }
}
