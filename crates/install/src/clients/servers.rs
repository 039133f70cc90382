//! The agents that need only an entry in a JSON list of MCP servers.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent::InstallAgent;
use super::entry::{InstallRequest, NAME, member, shared, with_home};
use super::places::ClientPlaces;
use crate::file::SettingsFile;

/// Where an agent lists its MCP servers.
#[derive(Debug)]
pub(super) struct ServerList {
    path: PathBuf,
    /// The member of the file that contains the servers.
    servers: &'static str,
    /// Members that each server needs besides its program.
    more: Value,
}

impl ServerList {
    /// Returns `None` if no such file is documented for the agent.
    pub(super) fn of(agent: InstallAgent, places: &ClientPlaces) -> Option<Self> {
        let own = |file: &str| agent.dir(places).map(|dir| dir.join(file));
        let (own, project, servers, more) = match agent {
            // <https://cursor.com/docs/mcp>. No hooks: some versions reject the one for the start of a session and then run
            // none, and no other one accepts text for the model.
            InstallAgent::Cursor => {
                (own("mcp.json"), Some(".cursor/mcp.json"), "mcpServers", json!({}))
            }
            // <https://code.visualstudio.com/docs/agents/reference/mcp-configuration>
            InstallAgent::Vscode => {
                let more = json!({ "type": "stdio" });
                (own("User/mcp.json"), Some(".vscode/mcp.json"), "servers", more)
            }
            // <https://modelcontextprotocol.io/docs/develop/connect-local-servers>
            InstallAgent::ClaudeDesktop => {
                (own("claude_desktop_config.json"), None, "mcpServers", json!({}))
            }
            // <https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers>. In a project it
            // also reads `.mcp.json`, which belongs to Claude Code.
            InstallAgent::Copilot => {
                let more = json!({ "type": "local", "tools": ["*"] });
                (own("mcp-config.json"), Some(".github/mcp.json"), "mcpServers", more)
            }
            // <https://docs.windsurf.com/windsurf/cascade/mcp>
            InstallAgent::Windsurf => (own("mcp_config.json"), None, "mcpServers", json!({})),
            // <https://docs.cline.bot/mcp/mcp-overview>, for the command line.
            InstallAgent::Cline => {
                (own("data/settings/cline_mcp_settings.json"), None, "mcpServers", json!({}))
            }
            // <https://docs.roocode.com/features/mcp/using-mcp-in-roo>: only the place of a project's file is documented.
            InstallAgent::Roo => (None, Some(".roo/mcp.json"), "mcpServers", json!({})),
            // <https://kiro.dev/docs/mcp/configuration>
            InstallAgent::Kiro => {
                (own("settings/mcp.json"), Some(".kiro/settings/mcp.json"), "mcpServers", json!({}))
            }
            // <https://ampcode.com/manual>
            InstallAgent::Amp => {
                (own("settings.json"), Some(".amp/settings.json"), "amp.mcpServers", json!({}))
            }
            InstallAgent::ClaudeCode
            | InstallAgent::Codex
            | InstallAgent::Zed
            | InstallAgent::Gemini
            | InstallAgent::Qwen
            | InstallAgent::Opencode => return None,
        };
        let path = match &places.project {
            Some(dir) => dir.join(project?),
            None => own?,
        };
        Some(Self { path, servers, more })
    }

    pub(super) fn file(self, places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
        let mut server = self.more;
        server["command"] = json!(shared(places, wanted));
        server["args"] = json!(["mcp"]);
        let server = with_home(server, "env", places, wanted);
        let edits = vec![member(&[self.servers, NAME], server)];
        SettingsFile { path: self.path, edits, what: "MCP server" }
    }
}
