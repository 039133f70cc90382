use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::MemorySource;

/// `POST /v1/team/init`: where a project's team memory lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamInit {
    pub project_dir: String,
    /// A repository that everybody reaches: https, ssh, file, or an absolute path. Absent: what `[team]`
    /// says, else a repository of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// A directory in the place of the project's own, such as a synced or mounted folder; absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
}

/// `GET /v1/team`: how a project's team memory stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamStatus {
    pub dir: String,
    pub kind: TeamMemoryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that the directory was last brought to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Whether the remote answers; absent where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
    /// What is wrong, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    pub topics: u64,
    /// Files that the last sync has not seen as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsynced: Vec<String>,
    /// Files that may not be shared as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked: Vec<TeamBlocked>,
    /// Proposals that wait for a person.
    pub proposals: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamMemoryKind {
    #[default]
    None,
    Folder,
    Repository,
}

/// `POST /v1/team/sync`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamSyncRequest {
    pub project_dir: String,
    /// The remote's history was rewritten, and that is meant: take it on. What is here stays.
    #[serde(default)]
    pub accept_rewrite: bool,
}

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamSync {
    /// Files that changed here.
    pub pulled: u64,
    /// Files that changed at the remote.
    pub pushed: u64,
    pub conflicts: Vec<TeamConflict>,
    pub blocked: Vec<TeamBlocked>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pulled_files: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pushed_files: Vec<String>,
    /// The commit that both sides have now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What else a person should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A topic that two people changed. Both versions are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamConflict {
    /// Holds theirs now.
    pub name: String,
    /// Holds ours.
    pub kept_as: String,
    /// Who made their version.
    pub theirs_by: String,
}

/// A file that may not be shared as it is. Says what and where, and never the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamBlocked {
    pub file: String,
    pub way: BlockedWay,
    /// Rule and line of each finding.
    pub reasons: Vec<String>,
    /// Who made the version, or the commit that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedWay {
    /// It was not pushed.
    Here,
    /// It did not enter the directory.
    Incoming,
    /// A commit that is not pushed yet holds it, and nothing is pushed.
    History,
}

/// `POST /v1/proposals`: what an agent would have the team know.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Propose {
    pub project_dir: String,
    pub name: String,
    pub text: String,
    /// Where it was learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MemorySource>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalState {
    Open,
    Approved,
    Rejected,
}

/// Something that wants to enter a team's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Proposal {
    pub id: Uuid,
    pub project_dir: String,
    pub name: String,
    /// The whole topic, as it would stand in its file.
    pub text: String,
    /// Of the topic that it would replace; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// `agent`, `extraction` or `dream`.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MemorySource>,
    pub state: ProposalState,
    pub proposed_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
}

/// `GET /v1/proposals`
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Proposals {
    pub proposals: Vec<Proposal>,
}

/// `POST /v1/proposals/{id}/approve`
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// Over what stands there now, although it is not what the proposal was made against.
    #[serde(default)]
    pub replace: bool,
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecidedProposal {
    pub proposal: Proposal,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Whose team memory.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TeamQuery {
    /// Any directory of the project
    pub project_dir: String,
    /// `true`: ask the remote whether it answers
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    pub ask: bool,
}

/// Which proposals to list, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProposalQuery {
    /// Of this project alone
    pub project_dir: Option<String>,
    /// `true`: what was decided, too
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    pub all: bool,
}
