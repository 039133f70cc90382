use bethink_api::MemorySource;
pub use bethink_api::{ProposalAuthor, ProposalState};
use bethink_transcript::UnixMicros;
use uuid::Uuid;

use crate::error::StoreFuture;

/// A team's proposals, the bases of its files, and the location of its memory.
pub trait TeamStore {
    /// Adds a proposal. For an existing one, only the state and the time of the decision change.
    fn put_proposal(&self, proposal: StoredProposal) -> StoreFuture<'_, ()>;
    fn proposal(&self, id: Uuid) -> StoreFuture<'_, Option<StoredProposal>>;
    /// Lists proposals, oldest first.
    fn proposals(&self, filter: ProposalFilter) -> StoreFuture<'_, Vec<StoredProposal>>;
    /// Deletes all but the newest `keep` decided proposals of a project directory.
    fn trim_proposals(&self, project_dir: String, keep: usize) -> StoreFuture<'_, ()>;
    /// Returns the bases of a project, sorted by file.
    fn team_bases(&self, project: String) -> StoreFuture<'_, Vec<TeamBase>>;
    /// Replaces all bases of a project.
    fn put_team_bases(&self, project: String, bases: Vec<TeamBase>) -> StoreFuture<'_, ()>;
    /// Returns the directory that a person chose for a project's team memory.
    fn team_place(&self, project: String) -> StoreFuture<'_, Option<String>>;
    fn put_team_place(&self, project: String, dir: String) -> StoreFuture<'_, ()>;
}

/// A topic proposed for a team's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredProposal {
    /// A UUIDv7, so that ids are in chronological order.
    pub id: Uuid,
    pub project_dir: String,
    pub name: String,
    /// The whole topic file.
    pub text: String,
    /// Hash of the topic that the proposal would replace.
    pub replaces: Option<String>,
    pub by: ProposalAuthor,
    pub source: Option<MemorySource>,
    pub state: ProposalState,
    pub proposed_at: UnixMicros,
    pub decided_at: Option<UnixMicros>,
}

/// Which proposals to list; all of them by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalFilter {
    pub project_dir: Option<String>,
    pub name: Option<String>,
    pub state: Option<ProposalState>,
}

/// The base of a team file, if it is not the one in the last synced commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamBase {
    pub file: String,
    /// Object id of the blob; `None` if there was no file.
    pub blob: Option<String>,
}
