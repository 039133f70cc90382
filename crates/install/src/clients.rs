//! The files that each coding agent reads, and our entries in them.
//!
//! Paths and formats are from the agents' documentation, which is linked.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::edit::{HOME, Ours, SettingsEdit, quoted};
use crate::file::SettingsFile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallAgent {
    ClaudeCode,
    Codex,
    Cursor,
    Vscode,
    Zed,
    Gemini,
    Opencode,
}

/// Where the user's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientPlaces {
    pub person: PathBuf,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    pub config: PathBuf,
    /// `$CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// `$CODEX_HOME`.
    pub codex: Option<PathBuf>,
    /// Whether this is macOS, where applications keep their settings in `~/Library`.
    pub is_mac: bool,
    /// The project to install for; `None` to install for the user.
    pub project: Option<PathBuf>,
}

/// What to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallRequest {
    /// The program's path.
    pub program: String,
    /// The home, if it is not the default one. Some agents do not pass their environment on to the programs that they run.
    pub home: Option<String>,
    /// The gateway's address for Anthropic, if the agent should use it.
    pub anthropic: Option<String>,
    /// The gateway's address for OpenAI, if the agent should use it.
    pub openai: Option<String>,
}

/// The name of our entries, and of the program.
const NAME: &str = "bethink";
/// Timeout of a hook in Claude Code and Codex, in seconds. A hook takes less than a third of a second.
const SECONDS: u64 = 5;
/// The same for Gemini CLI, in milliseconds.
const MILLISECONDS: u64 = 5_000;

/// Claude Code's events, and whether the hook is asynchronous because it has no answer.
/// <https://code.claude.com/docs/en/hooks>
const CLAUDE_EVENTS: [(&str, bool); 7] = [
    ("SessionStart", false),
    ("UserPromptSubmit", false),
    ("PostToolUse", true),
    ("PreCompact", false),
    ("SubagentStop", true),
    ("Stop", false),
    ("SessionEnd", false),
];

impl InstallAgent {
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Cursor,
        Self::Vscode,
        Self::Zed,
        Self::Gemini,
        Self::Opencode,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Zed => "zed",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// The agent's product name.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Zed => "Zed",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
        }
    }

    /// The program that starts it.
    pub fn command(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Vscode => "code",
            Self::Codex | Self::Cursor | Self::Zed | Self::Gemini | Self::Opencode => self.as_str(),
        }
    }

    /// The user's directory that exists once the agent has run.
    pub fn dir(self, places: &ClientPlaces) -> PathBuf {
        let ClientPlaces { person, config, claude, codex, .. } = places;
        match self {
            Self::ClaudeCode => claude.clone().unwrap_or_else(|| person.join(".claude")),
            Self::Codex => codex.clone().unwrap_or_else(|| person.join(".codex")),
            Self::Cursor => person.join(".cursor"),
            Self::Vscode if places.is_mac => person.join("Library/Application Support/Code"),
            Self::Vscode => config.join("Code"),
            Self::Zed => config.join("zed"),
            Self::Gemini => person.join(".gemini"),
            Self::Opencode => config.join("opencode"),
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == name)
    }

    /// Whether it can use the gateway.
    pub fn takes_gateway(self) -> bool {
        // Codex only speaks the Responses API, which the gateway does not support; the others have no such setting.
        matches!(self, Self::ClaudeCode | Self::Zed | Self::Opencode)
    }

    /// A note to show after the installation.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some(
                "start `codex` once and choose to trust the hooks: `codex exec` skips hooks that are not trusted, and a \
                 project's own configuration counts only in a project that Codex trusts",
            ),
            _ => None,
        }
    }
}

/// Returns an agent's files with our entries. In a file that a project shares, the program has no path, because the path
/// differs between machines.
pub fn files(
    agent: InstallAgent,
    places: &ClientPlaces,
    wanted: &InstallRequest,
) -> Vec<SettingsFile> {
    match agent {
        InstallAgent::ClaudeCode => claude_code(places, wanted),
        InstallAgent::Codex => vec![codex(places, wanted)],
        InstallAgent::Cursor => vec![cursor(places, wanted)],
        InstallAgent::Vscode => vec![vscode(places, wanted)],
        InstallAgent::Zed => vec![zed(places, wanted)],
        InstallAgent::Gemini => vec![gemini(places, wanted)],
        InstallAgent::Opencode => vec![opencode(places, wanted)],
    }
}

/// <https://code.claude.com/docs/en/mcp>: a user's servers are in `~/.claude.json`, a project's in `.mcp.json`.
/// <https://code.claude.com/docs/en/settings>: hooks and variables are in `settings.json`, and those of one user in one
/// project in `settings.local.json`, which is not shared.
fn claude_code(places: &ClientPlaces, wanted: &InstallRequest) -> Vec<SettingsFile> {
    let (servers, settings) = match &places.project {
        Some(project) => (project.join(".mcp.json"), project.join(".claude/settings.local.json")),
        None => match &places.claude {
            Some(dir) => (dir.join(".claude.json"), dir.join("settings.json")),
            None => {
                (places.person.join(".claude.json"), places.person.join(".claude/settings.json"))
            }
        },
    };
    let server = json!({ "type": "stdio", "command": shared(places, wanted), "args": ["mcp"] });
    let server = with_home(server, "env", places, wanted);
    let mut edits: Vec<SettingsEdit> = CLAUDE_EVENTS
        .into_iter()
        .map(|(event, is_async)| {
            let mut hook = json!({ "type": "command", "command": line(wanted.home.as_deref(), &wanted.program, &["hook", event]), "timeout": SECONDS });
            if is_async {
                hook["async"] = Value::Bool(true);
            }
            SettingsEdit::element(&["hooks", event], json!({ "hooks": [hook] }))
        })
        .collect();
    edits.extend(address(&["env", "ANTHROPIC_BASE_URL"], wanted.anthropic.as_ref()));
    let server = vec![member(&["mcpServers", NAME], server)];
    vec![
        SettingsFile { path: servers, edits: server, what: "MCP server" },
        SettingsFile { path: settings, edits, what: "hooks" },
    ]
}

/// <https://developers.openai.com/codex/config-reference> and <https://developers.openai.com/codex/hooks>: hooks can
/// be in `config.toml`. Only hooks with answers are installed; at each of them, the daemon also reads the transcript.
fn codex(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let home = places.codex.clone().unwrap_or_else(|| places.person.join(".codex"));
    let dir = places.project.as_ref().map_or(home, |project| project.join(".codex"));
    let program = shared(places, wanted);
    let server = json!({ "command": program, "args": ["mcp"] });
    let server = with_home(server, "env", places, wanted);
    let mut edits = vec![member(&["mcp_servers", NAME], server)];
    for event in ["SessionStart", "UserPromptSubmit"] {
        let command =
            line(home_of(places, wanted), &program, &["hook", "--client", "codex", event]);
        let hook = json!({ "type": "command", "command": command, "timeout": SECONDS });
        edits.push(SettingsEdit::element(&["hooks", event], json!({ "hooks": [hook] })));
    }
    SettingsFile { path: dir.join("config.toml"), edits, what: "MCP server and hooks" }
}

/// <https://cursor.com/docs/mcp>. No hooks: some versions reject the one for the start of a session and then run none,
/// and no other one accepts text for the model.
fn cursor(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let dir = places.project.as_ref().unwrap_or(&places.person).join(".cursor");
    let server = json!({ "command": shared(places, wanted), "args": ["mcp"] });
    let server = with_home(server, "env", places, wanted);
    let edits = vec![member(&["mcpServers", NAME], server)];
    SettingsFile { path: dir.join("mcp.json"), edits, what: "MCP server" }
}

/// <https://code.visualstudio.com/docs/agents/reference/mcp-configuration>
fn vscode(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let dir = match (&places.project, places.is_mac) {
        (Some(project), _) => project.join(".vscode"),
        (None, true) => places.person.join("Library/Application Support/Code/User"),
        (None, false) => places.config.join("Code/User"),
    };
    let server = json!({ "type": "stdio", "command": shared(places, wanted), "args": ["mcp"] });
    let server = with_home(server, "env", places, wanted);
    let edits = vec![member(&["servers", NAME], server)];
    SettingsFile { path: dir.join("mcp.json"), edits, what: "MCP server" }
}

/// <https://zed.dev/docs/ai/mcp> and <https://zed.dev/docs/ai/llm-providers>
fn zed(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let path = match &places.project {
        Some(project) => project.join(".zed/settings.json"),
        None => places.config.join("zed/settings.json"),
    };
    let server = json!({ "command": shared(places, wanted), "args": ["mcp"], "env": {} });
    let server = with_home(server, "env", places, wanted);
    let mut edits = vec![member(&["context_servers", NAME], server)];
    edits.extend(address(&["language_models", "anthropic", "api_url"], wanted.anthropic.as_ref()));
    edits.extend(address(&["language_models", "openai", "api_url"], wanted.openai.as_ref()));
    SettingsFile { path, edits, what: "MCP server" }
}

/// <https://geminicli.com/docs/tools/mcp-server> and <https://geminicli.com/docs/hooks/reference>. Only hooks with
/// answers are installed, as for Codex.
fn gemini(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let dir = places.project.as_ref().unwrap_or(&places.person).join(".gemini");
    let program = shared(places, wanted);
    let server = json!({ "command": program, "args": ["mcp"] });
    let server = with_home(server, "env", places, wanted);
    let mut edits = vec![member(&["mcpServers", NAME], server)];
    for event in ["SessionStart", "BeforeAgent"] {
        let command =
            line(home_of(places, wanted), &program, &["hook", "--client", "gemini", event]);
        let hook =
            json!({ "name": NAME, "type": "command", "command": command, "timeout": MILLISECONDS });
        edits.push(SettingsEdit::element(&["hooks", event], json!({ "hooks": [hook] })));
    }
    SettingsFile { path: dir.join("settings.json"), edits, what: "MCP server and hooks" }
}

/// <https://opencode.ai/docs/mcp-servers> and <https://opencode.ai/docs/providers>
fn opencode(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let path = match &places.project {
        Some(project) => project.join("opencode.json"),
        None => places.config.join("opencode/opencode.json"),
    };
    let server =
        json!({ "type": "local", "command": [shared(places, wanted), "mcp"], "enabled": true });
    let server = with_home(server, "environment", places, wanted);
    let mut edits = vec![member(&["mcp", NAME], server)];
    let base = wanted.anthropic.as_ref().map(|url| format!("{url}/v1"));
    edits.extend(address(&["provider", "anthropic", "options", "baseURL"], base.as_ref()));
    SettingsFile { path, edits, what: "MCP server" }
}

fn member(path: &[&str], value: Value) -> SettingsEdit {
    SettingsEdit::member(path, value, Ours::Program)
}

/// Returns the edit for the gateway's address, if it is requested.
fn address(path: &[&str], url: Option<&String>) -> Option<SettingsEdit> {
    url.map(|url| SettingsEdit::member(path, Value::from(url.as_str()), Ours::Address))
}

/// Returns the program's name for a file that may be shared.
fn shared(places: &ClientPlaces, wanted: &InstallRequest) -> String {
    match places.project {
        Some(_) => NAME.to_owned(),
        None => wanted.program.clone(),
    }
}

/// Returns the home to write; `None` for a file that may be shared, because the path differs between machines.
fn home_of<'a>(places: &ClientPlaces, wanted: &'a InstallRequest) -> Option<&'a str> {
    wanted.home.as_deref().filter(|_| places.project.is_none())
}

/// Adds the home to the environment of an MCP server. `variables` is the agent's name for the environment.
fn with_home(
    mut server: Value,
    variables: &str,
    places: &ClientPlaces,
    wanted: &InstallRequest,
) -> Value {
    if let Some(home) = home_of(places, wanted) {
        server[variables] = json!({ HOME: home });
    }
    server
}

fn line(home: Option<&str>, program: &str, words: &[&str]) -> String {
    let home = home.map_or_else(String::new, |home| format!("{HOME}={} ", quoted(home)));
    format!("{home}{} {}", quoted(program), words.join(" "))
}

#[cfg(test)]
mod tests;
