//! The files that each coding agent reads, and our entries in them.
//!
//! The paths and formats come from the agents' documentation, to which the comments link.

mod agent;
mod entry;
mod places;
mod servers;

use std::path::PathBuf;

use serde_json::{Value, json};

pub use agent::InstallAgent;
pub use entry::InstallRequest;
use entry::{NAME, address, home_of, member, shared, with_home};
pub use places::ClientPlaces;
use servers::ServerList;

use crate::edit::{HOME, SettingsEdit, quoted};
use crate::file::SettingsFile;

/// Timeout of a hook in Claude Code, Codex and Qwen Code, in seconds. A hook takes less than a third of a second.
const SECONDS: u64 = 5;
/// Timeout of a hook in Gemini CLI, in milliseconds.
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

/// Returns an agent's files with our entries. A file that is shared with the project names the program without a path,
/// because the path differs between machines. Some agents have no project file, and some have only a project file.
pub fn files(
    agent: InstallAgent,
    places: &ClientPlaces,
    wanted: &InstallRequest,
) -> Vec<SettingsFile> {
    match agent {
        InstallAgent::ClaudeCode => claude_code(places, wanted),
        InstallAgent::Codex => vec![codex(places, wanted)],
        InstallAgent::Zed => vec![zed(places, wanted)],
        InstallAgent::Gemini => vec![gemini(places, wanted)],
        InstallAgent::Qwen => vec![qwen(places, wanted)],
        InstallAgent::Opencode => vec![opencode(places, wanted)],
        others => ServerList::of(others, places)
            .into_iter()
            .map(|list| list.file(places, wanted))
            .collect(),
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

/// <https://developers.openai.com/codex/config-reference> and <https://developers.openai.com/codex/hooks>: hooks can be
/// in `config.toml`. The hook at the end of a turn makes the daemon read what is new in the transcript.
fn codex(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let home = places.codex.clone().unwrap_or_else(|| places.person.join(".codex"));
    let dir = places.project.as_ref().map_or(home, |project| project.join(".codex"));
    let program = shared(places, wanted);
    let server = json!({ "command": program, "args": ["mcp"] });
    let server = with_home(server, "env", places, wanted);
    let mut edits = vec![member(&["mcp_servers", NAME], server)];
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        let command =
            line(home_of(places, wanted), &program, &["hook", "--client", "codex", event]);
        let hook = json!({ "type": "command", "command": command, "timeout": SECONDS });
        edits.push(SettingsEdit::element(&["hooks", event], json!({ "hooks": [hook] })));
    }
    SettingsFile { path: dir.join("config.toml"), edits, what: "MCP server and hooks" }
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

/// <https://geminicli.com/docs/tools/mcp-server> and <https://geminicli.com/docs/hooks/reference>. The hook at the end
/// of a turn makes the daemon read what is new in the transcript.
fn gemini(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let dir = places.project.as_ref().unwrap_or(&places.person).join(".gemini");
    let path = dir.join("settings.json");
    let events = ["SessionStart", "BeforeAgent", "AfterAgent"];
    server_and_hooks(path, "gemini", &events, MILLISECONDS, places, wanted)
}

/// <https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp> and
/// <https://qwenlm.github.io/qwen-code-docs/en/users/features/hooks>. Qwen Code's hooks have the same events as Claude Code's.
fn qwen(places: &ClientPlaces, wanted: &InstallRequest) -> SettingsFile {
    let own = places.qwen.clone().unwrap_or_else(|| places.person.join(".qwen"));
    let dir = places.project.as_ref().map_or(own, |project| project.join(".qwen"));
    let events = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
    let path = dir.join("settings.json");
    server_and_hooks(path, "qwen", &events, SECONDS, places, wanted)
}

/// Returns the settings of Gemini CLI, or of an agent that is derived from it.
fn server_and_hooks(
    path: PathBuf,
    client: &str,
    events: &[&str],
    timeout: u64,
    places: &ClientPlaces,
    wanted: &InstallRequest,
) -> SettingsFile {
    let program = shared(places, wanted);
    let server = json!({ "command": program, "args": ["mcp"] });
    let server = with_home(server, "env", places, wanted);
    let mut edits = vec![member(&["mcpServers", NAME], server)];
    for event in events {
        let command = line(home_of(places, wanted), &program, &["hook", "--client", client, event]);
        let hook =
            json!({ "name": NAME, "type": "command", "command": command, "timeout": timeout });
        edits.push(SettingsEdit::element(&["hooks", event], json!({ "hooks": [hook] })));
    }
    SettingsFile { path, edits, what: "MCP server and hooks" }
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

fn line(home: Option<&str>, program: &str, words: &[&str]) -> String {
    let home = home.map_or_else(String::new, |home| format!("{HOME}={} ", quoted(home)));
    format!("{home}{} {}", quoted(program), words.join(" "))
}

#[cfg(test)]
mod tests;
