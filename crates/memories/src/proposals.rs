//! Proposals: memories that a person, an agent or a background job wants to share with the team. A person approves or
//! rejects each of them. Nothing moves from private to team memory automatically, and a rejected proposal is not made
//! again.

use std::sync::Arc;

use bethink_api::{self as api, ProposalAuthor};
use bethink_extractor::Meaning;
use bethink_memdir::{Hash, Header, Name, Scope, header, rejections};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::{Event, Receipt, Result, ServiceError, blocking, rfc3339};
use bethink_sessions::id_for;
use bethink_statement::normal;
use bethink_store::{ProposalFilter, ProposalState, StoredProposal};
use uuid::Uuid;

use crate::held_back::team_gate;
use crate::memory_write::{Author, Expected, MemoryWrite, within_limit};
use crate::project::MemoryProject;
use crate::read::{name_of, no_file};
use crate::service::MemoryService;

/// Maximum number of open proposals per project: more than a person would ever read.
const MOST_OPEN: u64 = 200;
/// Number of decided proposals that are kept per project. The newest are kept, so that the same thing is not proposed
/// again.
const MOST_DECIDED: usize = 1_000;
/// Minimum number of content words for a comparison by meaning. Shorter statements, such as "deploy notes", count as
/// the same only if their words are the same.
const LEAST_WORDS: usize = 3;

#[derive(Clone, Debug)]
pub struct NewProposal {
    pub id: Uuid,
    pub name: Name,
    /// The text of the whole file.
    pub text: String,
    pub by: ProposalAuthor,
    pub source: Option<api::MemorySource>,
}

/// The outcome of a request to share something.
#[derive(Clone, Debug)]
pub enum ProposalOutcome {
    Waiting(Box<api::Proposal>),
    /// Nothing was proposed, for this reason.
    Known(String),
}

impl MemoryService {
    /// Adds a proposal, unless something with the same meaning is in the team's memory, proposed or rejected.
    pub async fn propose(
        &self,
        project: &MemoryProject,
        new: NewProposal,
    ) -> Result<ProposalOutcome> {
        within_limit(&new.name.file(), &new.text)?;
        // Text that contains a secret is not stored, not even as a proposal.
        team_gate(&new.text)?;
        let directory = project.directory(Scope::Team);
        let current = directory.read_file(&DirectoryFile::Topic(new.name.clone())).await?;
        let mut new = new;
        if new.by != ProposalAuthor::Person {
            let current = current.as_ref().and_then(|content| content.text());
            new.text = header::with_recall(new.text, current);
        }
        let same = |text: &str| print(text) == print(&new.text);
        let known = |why: String| Ok(ProposalOutcome::Known(why));
        if current.as_ref().and_then(|content| content.text()).is_some_and(same) {
            return known(format!(
                "the team's memory already has this text, in the topic {}",
                new.name
            ));
        }
        if let Some(why) = self.decided_before(project, &new.text).await? {
            return known(why);
        }
        let dir = project.root.display().to_string();
        if self.open_proposals(project).await? >= MOST_OPEN {
            let detail = format!("this project already has {MOST_OPEN} waiting proposals");
            return Err(ServiceError::conflict(detail)
                .hint("`bethink team proposals` lists them; approve or reject some"));
        }
        let proposal = StoredProposal {
            id: new.id,
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
        Ok(ProposalOutcome::Waiting(Box::new(self.keep_proposal(proposal).await?)))
    }

    /// Returns the reason not to propose a text: something with the same meaning is waiting, or was rejected here or by
    /// another member of the team.
    async fn decided_before(&self, project: &MemoryProject, text: &str) -> Result<Option<String>> {
        let statement = statement(text);
        let meaning = Meaning::of(&statement);
        let says_the_same = |other: &str| {
            meaning.words.len() >= LEAST_WORDS && meaning.same(&Meaning::of(other))
                || normal(other) == normal(&statement)
        };
        let shown = self.snapshot(project.directory(Scope::Team)).await?;
        let rejections = rejections::rejections(&shown.rejections);
        if let Some(one) = rejections.iter().find(|one| says_the_same(&one.statement)) {
            let day = if one.day.is_empty() { String::new() } else { format!(" on {}", one.day) };
            let reason = one.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            return Ok(Some(format!("the team rejected {:?}{day}{reason}", one.statement)));
        }
        let of_project = ProposalFilter {
            project_dir: Some(project.root.display().to_string()),
            ..ProposalFilter::default()
        };
        let known = self.cx.store().proposals(of_project).await?;
        let same = known.iter().rev().find(|one| {
            one.state != ProposalState::Approved
                && (print(&one.text) == print(text) || says_the_same(&self::statement(&one.text)))
        });
        Ok(same.map(|one| match one.state {
            ProposalState::Open => format!("{:?} is already waiting for approval", one.name),
            _ => format!("a person rejected {:?}, which says the same", one.name),
        }))
    }

    /// Adds a proposal by a client's agent. A request that is repeated with its key gets the proposal that it made.
    pub async fn propose_memory(
        &self,
        request: api::Propose,
        key: Option<Receipt>,
    ) -> Result<api::DecidedProposal> {
        let id = id_for(key.as_ref());
        if key.is_some()
            && let Some(made) = self.cx.store().proposal(id).await?
        {
            return Ok(api::DecidedProposal { proposal: shown(made), warnings: Vec::new() });
        }
        let project = self.project(&request.project_dir).await?;
        let name = name_of(&request.name)?;
        let new = NewProposal {
            id,
            name,
            text: request.text,
            by: ProposalAuthor::Agent,
            source: request.source,
        };
        self.propose_or_say_why(&project, new).await
    }

    async fn propose_or_say_why(
        &self,
        project: &MemoryProject,
        new: NewProposal,
    ) -> Result<api::DecidedProposal> {
        match self.propose(project, new).await? {
            ProposalOutcome::Waiting(proposal) => {
                Ok(api::DecidedProposal { proposal: *proposal, warnings: Vec::new() })
            }
            ProposalOutcome::Known(why) => Err(ServiceError::conflict(why)
                .hint("`bethink team proposals --all` lists all proposals and their state")),
        }
    }

    /// Proposes a private topic for the team. When it is approved, the private topic is removed.
    pub async fn share_memory(&self, request: api::ShareMemory) -> Result<api::DecidedProposal> {
        let project = self.project(&request.project_dir).await?;
        let name = name_of(&request.name)?;
        let directory = project.directory(Scope::Private);
        let file = DirectoryFile::Topic(name.clone());
        let (text, _) = directory.read(&name).await?.ok_or_else(|| no_file(directory, &file))?;
        let source = header::read(&text).header.source;
        let new =
            NewProposal { id: Uuid::now_v7(), name, text, by: ProposalAuthor::Person, source };
        self.propose_or_say_why(&project, new).await
    }

    /// Lists open proposals, or all of them, newest first.
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
    pub async fn approve_proposal(
        &self,
        id: Uuid,
        api::Approval { replace, keep_private }: api::Approval,
    ) -> Result<api::DecidedProposal> {
        let proposal = self.open_proposal(id).await?;
        let project = self.project(&proposal.project_dir).await?;
        let name = name_of(&proposal.name)?;
        let replaces = proposal.replaces.as_deref().map(str::parse::<Hash>).transpose();
        let expected = match replace {
            true => Expected::Anything,
            false => replaces.map_err(ServiceError::internal)?.into(),
        };
        let note = format!("approved a proposal by {} ({id})", proposal.by);
        let author = Author { note, ..Author::person() };
        let (file, text) = (DirectoryFile::Topic(name.clone()), Some(proposal.text.clone()));
        let write = MemoryWrite { scope: Scope::Team, file, text, expected, author };
        let written = self.write_memory(&project, write).await;
        let written = written.map_err(|error| match error.versions {
            Some(_) => error.hint(
                "the team's topic was created or changed after the proposal was made: compare the two, then approve the proposal with `replace`, or reject it",
            ),
            None => error,
        })?;
        let mut warnings = written.warnings;
        if proposal.by == ProposalAuthor::Person && !keep_private {
            warnings.extend(self.remove_shared(&project, name, &proposal.text).await?);
        }
        let proposal = self.decide_proposal(proposal, ProposalState::Approved).await?;
        Ok(api::DecidedProposal { proposal, warnings })
    }

    /// Removes the private topic after the team accepted it. Returns a warning if the topic has changed since then.
    async fn remove_shared(
        &self,
        project: &MemoryProject,
        name: Name,
        shared: &str,
    ) -> Result<Option<String>> {
        let Some((text, hash)) = project.directory(Scope::Private).read(&name).await? else {
            return Ok(None);
        };
        if print(&text) != print(shared) {
            let why = "it changed after it was proposed";
            return Ok(Some(format!("the private topic {name} was kept, because {why}")));
        }
        let author = Author { note: "shared with the team".to_owned(), ..Author::person() };
        let (file, expected) = (DirectoryFile::Topic(name), Expected::Hash(hash));
        let write = MemoryWrite { scope: Scope::Private, file, text: None, expected, author };
        Ok(self.write_memory(project, write).await?.warnings.into_iter().next())
    }

    /// Rejects a proposal. Nothing with the same meaning is proposed again, neither here nor, after a sync, by other
    /// team members.
    pub async fn reject_proposal(
        &self,
        id: Uuid,
        reason: Option<&str>,
    ) -> Result<api::DecidedProposal> {
        let proposal = self.open_proposal(id).await?;
        let project = self.project(&proposal.project_dir).await?;
        self.add_rejection(&project, &proposal.text, reason).await?;
        let proposal = self.decide_proposal(proposal, ProposalState::Rejected).await?;
        Ok(api::DecidedProposal { proposal, warnings: Vec::new() })
    }

    /// Adds a line to the team's list of rejected proposals, if the team has a directory.
    async fn add_rejection(
        &self,
        project: &MemoryProject,
        text: &str,
        reason: Option<&str>,
    ) -> Result<()> {
        let directory = project.directory(Scope::Team);
        let held = Arc::clone(directory);
        if blocking(move || held.root(false)).await?.is_none() {
            return Ok(());
        }
        let statement = statement(text);
        if let Some(Err(error)) = reason.map(|reason| bethink_secrets::gate("the reason", reason)) {
            let detail = format!("could not share the reason: {error}");
            return Err(ServiceError::invalid("reason", detail).hint("nothing was rejected"));
        }
        let today = rfc3339(self.cx.now());
        let today = today.split('T').next().unwrap_or_default();
        let write = MemoryWrite {
            scope: Scope::Team,
            file: DirectoryFile::Rejections,
            text: None,
            expected: Expected::Anything,
            author: Author { note: "rejected a proposal".to_owned(), ..Author::person() },
        };
        self.change_text(directory, &write, |list| rejections::add(list, today, &statement, reason))
            .await
            .map_err(|error| ServiceError {
                detail: format!("could not update {}: {}", write.file, error.detail),
                ..error
            })
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
                .hint("`bethink team proposals` lists the waiting proposals")
        })?;
        if found.state != ProposalState::Open {
            let detail = format!("proposal {id} has already been {}", found.state);
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

/// Returns the meaning of a topic as text: its description, and the beginning of the body if the description is too
/// short.
fn statement(text: &str) -> String {
    let topic = header::read(text);
    let description = topic.header.described(topic.body);
    if Meaning::of(&description).words.len() >= LEAST_WORDS {
        return description;
    }
    let body = Header::default().described(topic.body);
    if body.starts_with(&description) { body } else { format!("{description}: {body}") }
}

/// Returns a fingerprint of a text's words, independent of white space, case, and front matter other than the description.
fn print(text: &str) -> Hash {
    let read = header::read(text);
    let said = format!("{} {}", read.header.description.unwrap_or_default(), read.body);
    let words = said.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    Hash::of(words.as_bytes())
}
