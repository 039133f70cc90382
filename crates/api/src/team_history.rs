use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// What a person may do in a team project. A reader reads and searches what is shared, a contributor also shares sessions, and an admin
/// also chooses the members, and may remove any shared session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamRole {
    Reader,
    Contributor,
    Admin,
}

/// The history that is shared with the team: what this person shares, and the team projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamHistory {
    /// This person's login in the database, by which others know them. Absent if history cannot be shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Why history cannot be shared, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The directories whose sessions this person shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedDirectory>,
    /// The team projects of which this person is a member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<TeamProject>,
}

/// A project directory whose sessions are shared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SharedDirectory {
    pub project_dir: String,
    /// Name of the team project.
    pub project: String,
    /// Sessions that began earlier are not shared, except those that were chosen. Absent if all are shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Number of sessions with messages that are not copied yet. At most 1,000 are counted.
    pub waiting: u64,
    /// Why the newest messages could not be shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A team project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamProject {
    pub name: String,
    pub members: Vec<TeamMember>,
    /// Number of shared sessions.
    pub sessions: u64,
}

/// A person in a team project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamMember {
    /// The login in the database.
    pub person: String,
    pub role: TeamRole,
}

/// The directory whose sessions to share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareHistory {
    pub project_dir: String,
    /// Name of the team project; all people who work on it must use the same one. By default, the one that the directory is already
    /// shared with, or else the name of the repository from which the directory was cloned, such as `github.com/ann/mill`. If the project does not exist, it is created, with this person as its admin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Also share the sessions that began before now.
    #[serde(default)]
    pub all: bool,
}

/// Sharing was turned off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HistoryUnshared {
    /// Number of sessions that were removed from the team's history.
    pub removed: u64,
}

/// Whether to share one session of a shared directory, even if it began before the directory was shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareSession {
    pub shared: bool,
}

/// The role of a person in a team project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetTeamMember {
    /// Name of the team project.
    pub project: String,
    /// The login in the database.
    pub person: String,
    /// Absent to remove the person. What they have shared stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<TeamRole>,
}

/// Which shared sessions are meant: all, those of one project, of one person, or both.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TeamHistoryScope {
    /// Name of the team project
    pub project: Option<String>,
    /// The login of the person who shared them
    pub person: Option<String>,
}

/// A session that a person shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamSession {
    /// The same ID as that of the original session.
    pub id: Uuid,
    /// Name of the team project.
    pub project: String,
    /// The login of the person who shared it.
    pub person: String,
    pub title: Option<String>,
    /// Number of messages.
    pub messages: u64,
    /// Number of messages from which secrets were removed.
    pub redacted: u64,
    pub created_at: String,
    pub updated_at: String,
}

/// Shared sessions, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamSessionsPage {
    pub sessions: Vec<TeamSession>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which page of a list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Maximum number of entries
    #[param(value_type = Option<u64>)]
    pub limit: Option<usize>,
    /// The `next_cursor` of the previous page
    pub cursor: Option<String>,
}
