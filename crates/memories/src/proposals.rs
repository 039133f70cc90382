//! Proposals: memories that an agent, an extraction or a dream wants to share with the team. A person approves or
//! rejects each. Nothing moves from private to team memory by itself, and rejected proposals are not made again.

use bethink_api::{self as api, ProposalAuthor};
use bethink_memdir::{Hash, Name, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{Event, Result, ServiceError, rfc3339};
use bethink_store::{ProposalFilter, ProposalState, StoredProposal};
use uuid::Uuid;

use crate::held_back::team_gate;
use crate::memory_write::{Author, Expected, MemoryWrite, within_limit};
use crate::project::MemoryProject;
use crate::read::name_of;
use crate::service::MemoryService;

/// Maximum number of open proposals per project: more than a person would ever read.
const MOST_OPEN: u64 = 200;
/// Number of decided proposals that are kept per project, the newest, so that they are not made again.
const MOST_DECIDED: usize = 1_000;

#[derive(Clone, Debug)]
pub struct NewProposal {
    pub name: Name,
    /// The whole file.
    pub text: String,
    pub by: ProposalAuthor,
    pub source: Option<api::MemorySource>,
}

impl MemoryService {
    /// Adds a proposal. `None` if it is already in the team's memory, proposed or rejected.
    pub async fn propose(
        &self,
        project: &MemoryProject,
        new: NewProposal,
    ) -> Result<Option<api::Proposal>> {
        within_limit(&new.name.file(), &new.text)?;
        // A text that contains a secret is not stored, not even as a proposal.
        team_gate(&new.text)?;
        let directory = project.directory(Scope::Team);
        let current = directory.read_file(&DirectoryFile::Topic(new.name.clone())).await?;
        let same = |text: &str| print(text) == print(&new.text);
        if current.as_ref().and_then(|content| content.text()).is_some_and(same) {
            return Ok(None);
        }
        let dir = project.root.display().to_string();
        let of_name = ProposalFilter {
            project_dir: Some(dir.clone()),
            name: Some(new.name.to_string()),
            state: None,
        };
        let known = self.cx.store().proposals(of_name).await?;
        let says_the_same = |one: &StoredProposal| {
            one.state != ProposalState::Approved && print(&one.text) == print(&new.text)
        };
        if known.iter().any(says_the_same) {
            return Ok(None);
        }
        if self.open_proposals(project).await? >= MOST_OPEN {
            let detail = format!("{MOST_OPEN} proposals of this project are already waiting");
            return Err(ServiceError::conflict(detail)
                .hint("`bethink team proposals` lists them; approve or reject some"));
        }
        let proposal = StoredProposal {
            id: Uuid::now_v7(),
            project_dir: dir,
            name: new.name.to_string(),
            text: new.text,
            replaces: current.map(|content| content.hash.to_string()),
            by: new.by,
            source: new.source,
            state: ProposalState::Open,
            proposed_at: self.cx.now(),
            decided_at: None,
        };
        Ok(Some(self.keep_proposal(proposal).await?))
    }

    /// Adds a proposal by a client's agent.
    pub async fn propose_memory(&self, request: api::Propose) -> Result<api::DecidedProposal> {
        let project = self.project(&request.project_dir).await?;
        let name = name_of(&request.name)?;
        let new = NewProposal {
            name,
            text: request.text,
            by: ProposalAuthor::Agent,
            source: request.source,
        };
        match self.propose(&project, new).await? {
            Some(proposal) => Ok(api::DecidedProposal { proposal, warnings: Vec::new() }),
            None => {
                let detail = "the same memory is already shared, proposed or rejected";
                Err(ServiceError::conflict(detail)
                    .hint("`bethink team proposals --all` shows earlier decisions"))
            }
        }
    }

    /// Lists open proposals, or all, newest first.
    pub async fn proposals(&self, project_dir: Option<&str>, all: bool) -> Result<api::Proposals> {
        let root = match project_dir {
            Some(dir) => Some(self.project(dir).await?.root.display().to_string()),
            None => None,
        };
        let state = (!all).then_some(ProposalState::Open);
        let filter = ProposalFilter { project_dir: root, name: None, state };
        let found = self.cx.store().proposals(filter).await?;
        Ok(api::Proposals { proposals: found.into_iter().rev().map(shown).collect() })
    }

    /// Approves a proposal: writes it as team memory. The topic must still have the text that it had when the proposal
    /// was made, unless `replace` is set.
    pub async fn approve_proposal(&self, id: Uuid, replace: bool) -> Result<api::DecidedProposal> {
        let proposal = self.open_proposal(id).await?;
        let project = self.project(&proposal.project_dir).await?;
        let name = name_of(&proposal.name)?;
        let replaces = proposal.replaces.as_deref().map(str::parse::<Hash>).transpose();
        let expected = match replace {
            true => Expected::Anything,
            false => replaces.map_err(ServiceError::internal)?.into(),
        };
        let note = format!("approved what {} proposed ({id})", proposal.by);
        let author = Author { note, ..Author::person() };
        let (file, text) = (DirectoryFile::Topic(name), Some(proposal.text.clone()));
        let write = MemoryWrite { scope: Scope::Team, file, text, expected, author };
        let written = self.write_memory(&project, write).await;
        let written = written.map_err(|error| match error.versions {
            Some(_) => error.hint(
                "the topic changed after the proposal was made: compare both, then approve with `replace`, or reject",
            ),
            None => error,
        })?;
        let proposal = self.decide_proposal(proposal, ProposalState::Approved).await?;
        Ok(api::DecidedProposal { proposal, warnings: written.warnings })
    }

    /// Rejects a proposal. The same text is not proposed again.
    pub async fn reject_proposal(&self, id: Uuid) -> Result<api::DecidedProposal> {
        let proposal = self.open_proposal(id).await?;
        let proposal = self.decide_proposal(proposal, ProposalState::Rejected).await?;
        Ok(api::DecidedProposal { proposal, warnings: Vec::new() })
    }

    pub async fn open_proposals(&self, project: &MemoryProject) -> Result<u64> {
        let open = ProposalFilter {
            project_dir: Some(project.root.display().to_string()),
            name: None,
            state: Some(ProposalState::Open),
        };
        Ok(self.cx.store().proposals(open).await?.len() as u64)
    }

    async fn open_proposal(&self, id: Uuid) -> Result<StoredProposal> {
        let found = self.cx.store().proposal(id).await?.ok_or_else(|| {
            ServiceError::not_found(format!("proposal {id} not found"))
                .hint("`GET /v1/proposals` lists those that are waiting")
        })?;
        if found.state != ProposalState::Open {
            let detail = format!("proposal {id} is already {}", found.state);
            return Err(ServiceError::conflict(detail));
        }
        Ok(found)
    }

    async fn decide_proposal(
        &self,
        proposal: StoredProposal,
        state: ProposalState,
    ) -> Result<api::Proposal> {
        let decided_at = Some(self.cx.now());
        let decided = self.keep_proposal(StoredProposal { state, decided_at, ..proposal }).await?;
        self.cx.store().trim_proposals(decided.project_dir.clone(), MOST_DECIDED).await?;
        Ok(decided)
    }

    async fn keep_proposal(&self, proposal: StoredProposal) -> Result<api::Proposal> {
        self.cx.store().put_proposal(proposal.clone()).await?;
        let proposal = shown(proposal);
        let event = Event::Proposal {
            id: proposal.id,
            name: proposal.name.clone(),
            state: proposal.state,
            project_dir: proposal.project_dir.clone(),
        };
        self.cx.hub().announce(None, &event);
        Ok(proposal)
    }
}

fn shown(stored: StoredProposal) -> api::Proposal {
    api::Proposal {
        id: stored.id,
        project_dir: stored.project_dir,
        name: stored.name,
        text: stored.text,
        replaces: stored.replaces,
        by: stored.by,
        source: stored.source,
        state: stored.state,
        proposed_at: rfc3339(stored.proposed_at),
        decided_at: stored.decided_at.map(rfc3339),
    }
}

/// Returns a fingerprint of a text's words, independent of dates in front matter, white space and case.
fn print(text: &str) -> Hash {
    let read = bethink_memdir::header::read(text);
    let said = format!("{} {}", read.header.description.unwrap_or_default(), read.body);
    let words = said.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    Hash::of(words.as_bytes())
}
