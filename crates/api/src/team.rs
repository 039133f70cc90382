use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::MemorySource;

/// Where to keep a project's team memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamInit {
    pub project_dir: String,
    /// A repository that everybody can reach: https, ssh, file, or an absolute path. By default the one in the `[team]`
    /// settings, else a new local repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// A directory to use instead of the default one, such as a synced or mounted folder. Must be absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
}

/// The state of a project's team memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamStatus {
    pub dir: String,
    pub kind: TeamMemoryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit to which the directory was last updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Whether the remote can be reached; absent if this was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
    /// What is wrong, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    pub topics: u64,
    /// Files that changed since the last sync.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsynced: Vec<String>,
    /// Files that must not be shared in their current state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<TeamBlocked>,
    /// Other people's files that were not pulled because of their contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<TeamBlocked>,
    /// Topics that have several versions, until a person chooses one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<OpenConflict>,
    /// Number of proposals that wait for a person.
    pub proposals: u64,
}

/// How a team memory is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamMemoryKind {
    /// No team memory was set up. Team topics, if any, are only on this machine.
    #[default]
    None,
    Folder,
    Repository,
}

/// A team memory to sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamSyncRequest {
    pub project_dir: String,
    /// Accept that the remote's history was rewritten. Local changes are kept.
    #[serde(default)]
    pub accept_rewrite: bool,
    /// Files to remove for everybody. They were not pulled because of their contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
}

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamSync {
    /// Number of local files that the pull updated.
    pub pulled: u64,
    /// Number of files that were pushed to the remote.
    pub pushed: u64,
    /// Topics that were changed both locally and on the remote.
    pub conflicts: Vec<TeamConflict>,
    /// Files that were not shared.
    pub blocked: Vec<TeamBlocked>,
    /// Local files that the pull updated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pulled_files: Vec<String>,
    /// Files that were pushed to the remote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pushed_files: Vec<String>,
    /// The files in `pulled_files` and `pushed_files` that the sync removed, here or on the remote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_files: Vec<String>,
    /// The commit that both the directory and the remote are at after the sync.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What else a person should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A topic that two people changed. Both versions are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamConflict {
    /// Name of the topic, which now contains the other version.
    pub name: String,
    /// Name of the topic that contains your version.
    pub kept_as: String,
    /// Who made the other version.
    pub theirs_by: String,
}

/// A topic that two people changed, with the versions to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenConflict {
    pub name: String,
    pub versions: Vec<ConflictVersion>,
}

/// One version of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictVersion {
    /// Name of the file that contains it, without `.md`.
    pub name: String,
    /// The author, if git knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether this version is yours: its author is the name in your git configuration.
    pub mine: bool,
}

/// The request to resolve a conflict, with either `keep` or `text`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResolveConflict {
    pub project_dir: String,
    /// The topic, or one of its versions.
    pub name: String,
    /// `mine`, `theirs`, or the name of a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
    /// The merged text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A resolved conflict. The versions that were not kept remain in the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictResolved {
    pub name: String,
    /// Name of the version that was kept; absent if it was a merged text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    pub removed: Vec<String>,
}

/// The request to propose a private topic to the team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareMemory {
    pub project_dir: String,
    pub name: String,
}

/// The request to reject a proposal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rejecting {
    /// The reason, in a few words; the whole team can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A file that must not be shared in its current state. The reasons never quote a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamBlocked {
    pub file: String,
    pub way: BlockedWay,
    /// Rule and line of each finding.
    pub reasons: Vec<String>,
    /// Who made the version, or the commit that contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Where a file was blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedWay {
    /// The file was not pushed.
    Here,
    /// The file was not copied into the directory.
    Incoming,
    /// A commit that has not been pushed contains the file, so nothing is pushed.
    History,
}

/// A topic to propose for the team memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Propose {
    pub project_dir: String,
    pub name: String,
    pub text: String,
    /// Where the topic was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MemorySource>,
}

/// The state of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    Open,
    Approved,
    Rejected,
}

/// Who made a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalAuthor {
    /// A client's model.
    Agent,
    Extraction,
    Dream,
    /// A person who shared a private topic.
    Person,
}

/// A topic that is proposed for a team's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Proposal {
    pub id: Uuid,
    pub project_dir: String,
    pub name: String,
    /// The whole topic, as its file would contain it.
    pub text: String,
    /// Text of the topic that the proposal would replace; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Who proposed it.
    pub by: ProposalAuthor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MemorySource>,
    pub state: ProposalState,
    /// When it was proposed, as RFC 3339.
    pub proposed_at: String,
    /// When a person decided, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
}

/// Proposals, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Proposals {
    pub proposals: Vec<Proposal>,
}

/// How to approve a proposal.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// Approve even if the topic has changed since the proposal was made.
    #[serde(default)]
    pub replace: bool,
    /// Keep the private topic that a person proposed to share. By default it is removed, because the team has it now.
    #[serde(default)]
    pub keep_private: bool,
}

/// A proposal and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecidedProposal {
    pub proposal: Proposal,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The project whose team memory to show.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TeamQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// `true`: check whether the remote can be reached
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    pub ask: bool,
}

/// Which proposals to list, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProposalQuery {
    /// Only proposals of this project
    pub project_dir: Option<String>,
    /// `true`: include decided proposals
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    pub all: bool,
}
