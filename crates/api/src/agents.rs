use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The coding agents on this machine, as the daemon's user sees them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AgentList {
    pub agents: Vec<AgentInstall>,
}

/// A coding agent, and whether bethink is installed for it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentInstall {
    /// The name that `bethink install` takes.
    #[schema(value_type = CodingAgent)]
    pub agent: String,
    /// The agent's product name.
    pub title: String,
    pub state: AgentInstallState,
    /// Paths of the agent's settings files for the user, whether they exist or not.
    pub files: Vec<String>,
    /// The settings file that could not be read, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Whether bethink is installed for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentInstallState {
    Installed,
    /// The agent has bethink as a plugin.
    Plugin,
    /// An entry is missing from the agent's settings, or another version wrote it. `bethink install` updates the entries.
    Outdated,
    NotInstalled,
    /// A settings file could not be read.
    Unreadable,
}

/// An agent that `bethink install` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodingAgent {
    ClaudeCode,
    Codex,
    Cursor,
    Vscode,
    Zed,
    Gemini,
    Opencode,
    ClaudeDesktop,
    Copilot,
    Windsurf,
    Cline,
    Roo,
    Qwen,
    Kiro,
    Amp,
}
