//! What an agent, an extraction or a dream would have the team know: it waits for a person. Nothing is
//! promoted from private to team by itself, and what was rejected is not proposed again.

use bethink_api as api;
use bethink_memdir::{Hash, Name, Scope};
use bethink_memdir_fs::File;
use bethink_store::Kept;
use uuid::Uuid;

use crate::clock::rfc3339;
use crate::memory::{Author, MAX_MEMORY_BYTES, MemoryWish, MemoryWrite, Project};
use crate::{Daemon, Kind, Refusal, Result};

/// The space in which proposals are kept, all of them under one owner: a decision names no project.
const SPACE: &str = "proposal";
const OWNER: &str = "team";
/// Proposals of one project that may wait: more than a person ever reads.
const MOST_OPEN: usize = 200;
/// Decided ones that are remembered for each project, the newest, so that they are not made again.
const MOST_DECIDED: usize = 1_000;

/// What is proposed, and by whom.
#[derive(Clone, Debug)]
pub(crate) struct NewProposal {
    pub(crate) name: Name,
    /// The whole file.
    pub(crate) text: String,
    /// `agent`, `extraction` or `dream`.
    pub(crate) by: &'static str,
    pub(crate) source: Option<api::MemorySource>,
}

impl Daemon {
    /// Lets something wait for a person. `None` where it is in the team's memory already, or waits, or was
    /// rejected.
    pub(crate) async fn propose(
        &self,
        project: &Project,
        new: NewProposal,
    ) -> Result<Option<api::Proposal>> {
        let size = new.text.len() as u64;
        if size > MAX_MEMORY_BYTES {
            let detail = format!("{} would have {size} bytes", new.name.file());
            return Err(Refusal::new(Kind::TooLarge, detail).bounded(MAX_MEMORY_BYTES, size));
        }
        gate(&new.name, &new.text)?;
        let shelf = project.shelf(Scope::Team);
        let current = shelf.read_file(&File::Topic(new.name.clone())).await?;
        let same = |text: &str| print(text) == print(&new.text);
        if current.as_ref().and_then(|content| content.text()).is_some_and(same) {
            return Ok(None);
        }
        let known = self.proposals_of(Some(&project.root.display().to_string())).await?;
        if known.iter().any(|one| one.state != "approved" && says_the_same(one, &new)) {
            return Ok(None);
        }
        if known.iter().filter(|one| one.state == "open").count() >= MOST_OPEN {
            let detail = format!("{MOST_OPEN} proposals of this project wait already");
            return Err(Refusal::new(Kind::Conflict, detail)
                .hint("`bethink team proposals` lists them; approve or reject some"));
        }
        let proposal = api::Proposal {
            id: Uuid::now_v7(),
            project_dir: project.root.display().to_string(),
            name: new.name.to_string(),
            text: new.text,
            replaces: current.map(|content| content.hash.to_string()),
            by: new.by.to_owned(),
            source: new.source,
            state: "open".to_owned(),
            proposed_at: rfc3339(self.now()),
            decided_at: None,
        };
        self.keep_proposal(&proposal).await?;
        Ok(Some(proposal))
    }

    /// What a client's agent proposes.
    pub async fn propose_memory(&self, request: api::Propose) -> Result<api::Decided> {
        let project = self.project(&request.project_dir).await?;
        let name = Name::parse(&request.name)
            .map_err(|error| Refusal::invalid("name", error.to_string()))?;
        let new = NewProposal { name, text: request.text, by: "agent", source: request.source };
        match self.propose(&project, new).await? {
            Some(proposal) => Ok(api::Decided { proposal, warnings: Vec::new() }),
            None => Err(Refusal::new(
                Kind::Conflict,
                "the same is in the team's memory, waits for a person, or was rejected by one",
            )
            .hint("`bethink team proposals --all` shows what was decided")),
        }
    }

    /// Newest first; those that wait, or all.
    pub async fn proposals(&self, project_dir: Option<&str>, all: bool) -> Result<api::Proposals> {
        let root = match project_dir {
            Some(dir) => Some(self.project(dir).await?.root.display().to_string()),
            None => None,
        };
        let mut found = self.proposals_of(root.as_deref()).await?;
        found.retain(|one| all || one.state == "open");
        found.reverse();
        Ok(api::Proposals { proposals: found })
    }

    /// A person says yes: it is written as any memory of the team is, over what it was made against.
    pub async fn approve_proposal(&self, id: Uuid, replace: bool) -> Result<api::Decided> {
        let proposal = self.open_proposal(id).await?;
        let project = self.project(&proposal.project_dir).await?;
        let name = Name::parse(&proposal.name)
            .map_err(|error| Refusal::invalid("name", error.to_string()))?;
        let wish = match (&proposal.replaces, replace) {
            (_, true) => MemoryWish::Anything,
            (None, false) => MemoryWish::Absent,
            (Some(hash), false) => MemoryWish::Hash(hash.parse().map_err(Refusal::internal)?),
        };
        let write = MemoryWrite {
            scope: Scope::Team,
            file: File::Topic(name),
            text: Some(proposal.text.clone()),
            wish,
            author: Author {
                by: "person",
                session: None,
                note: format!("approved what {} proposed ({id})", proposal.by),
            },
        };
        let written = self.write_memory(&project, write).await.map_err(|refusal| match refusal
            .versions
            .is_some()
        {
            true => refusal.hint(
                "the topic changed since: look at both, and approve with `replace`, or reject",
            ),
            false => refusal,
        })?;
        let proposal = self.decide_proposal(proposal, "approved").await?;
        Ok(api::Decided { proposal, warnings: written.warnings })
    }

    /// A person says no, and is not asked the same again.
    pub async fn reject_proposal(&self, id: Uuid) -> Result<api::Decided> {
        let proposal = self.open_proposal(id).await?;
        let proposal = self.decide_proposal(proposal, "rejected").await?;
        Ok(api::Decided { proposal, warnings: Vec::new() })
    }

    pub(super) async fn open_proposals(&self, project: &Project) -> Result<u64> {
        let found = self.proposals_of(Some(&project.root.display().to_string())).await?;
        Ok(found.iter().filter(|one| one.state == "open").count() as u64)
    }

    async fn open_proposal(&self, id: Uuid) -> Result<api::Proposal> {
        let found = self.proposals_of(None).await?.into_iter().find(|one| one.id == id);
        let found = found.ok_or_else(|| {
            Refusal::new(Kind::NotFound, format!("there is no proposal {id}"))
                .hint("GET /v1/proposals lists those that wait")
        })?;
        if found.state != "open" {
            let detail = format!("proposal {id} was {} already", found.state);
            return Err(Refusal::new(Kind::Conflict, detail));
        }
        Ok(found)
    }

    async fn decide_proposal(
        &self,
        mut proposal: api::Proposal,
        state: &str,
    ) -> Result<api::Proposal> {
        proposal.state = state.to_owned();
        proposal.decided_at = Some(rfc3339(self.now()));
        self.keep_proposal(&proposal).await?;
        self.forget_old_proposals(&proposal.project_dir).await?;
        Ok(proposal)
    }

    async fn forget_old_proposals(&self, root: &str) -> Result<()> {
        let mut decided = self.proposals_of(Some(root)).await?;
        decided.retain(|one| one.state != "open");
        let old = decided.len().saturating_sub(MOST_DECIDED);
        for one in &decided[..old] {
            self.store()
                .forget_kept(SPACE.to_owned(), OWNER.to_owned(), one.id.to_string())
                .await?;
        }
        Ok(())
    }

    /// Oldest first: ids begin with their time.
    async fn proposals_of(&self, root: Option<&str>) -> Result<Vec<api::Proposal>> {
        let kept = self.store().kept(SPACE.to_owned(), OWNER.to_owned()).await?;
        let all =
            kept.iter().filter_map(|kept| serde_json::from_str::<api::Proposal>(&kept.value).ok());
        Ok(all.filter(|one| root.is_none_or(|root| one.project_dir == root)).collect())
    }

    async fn keep_proposal(&self, proposal: &api::Proposal) -> Result<()> {
        let kept = Kept {
            space: SPACE.to_owned(),
            owner: OWNER.to_owned(),
            key: proposal.id.to_string(),
            value: serde_json::to_string(proposal).map_err(Refusal::internal)?,
            at: self.now(),
        };
        self.store().keep(kept).await?;
        let data = serde_json::json!({
            "id": proposal.id, "name": proposal.name, "state": proposal.state,
            "project_dir": proposal.project_dir,
        });
        self.tell(None, "proposal", &data);
        Ok(())
    }
}

/// A secret does not even wait.
fn gate(name: &Name, text: &str) -> Result<()> {
    bethink_secrets::gate(name.as_str(), text).map_err(|refusal| {
        Refusal::invalid("text", format!("{} may not be shared: {refusal}", name.file()))
            .hint("nothing was kept of it")
    })
}

fn says_the_same(one: &api::Proposal, new: &NewProposal) -> bool {
    one.name == new.name.as_str() && print(&one.text) == print(&new.text)
}

/// What a text says, whatever its front matter dates, its spaces and its case.
fn print(text: &str) -> Hash {
    let read = bethink_memdir::header::read(text);
    let said = format!("{} {}", read.header.description.unwrap_or_default(), read.body);
    let words = said.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    Hash::of(words.as_bytes())
}
