//! How each agent is run without a terminal, and where its settings are.

use std::path::{Path, PathBuf};

use bethink_test_clients::{Installed, Ran, Script};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    ClaudeCode,
    Opencode,
}

/// A person's home directory and a project, in which an agent runs.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) person: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) bethink: PathBuf,
}

impl Agent {
    pub(crate) const ALL: [Self; 2] = [Self::ClaudeCode, Self::Opencode];

    /// Its name for `bethink install`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Opencode => "opencode",
        }
    }

    /// The wire format that it speaks here.
    pub(crate) fn wire(self) -> &'static str {
        match self {
            Self::ClaudeCode => "anthropic",
            Self::Opencode => "openai",
        }
    }

    /// Whether `bethink install` adds hooks, so that a session begins with what is remembered.
    pub(crate) fn has_hooks(self) -> bool {
        self == Self::ClaudeCode
    }

    /// Writes the settings that the agent needs for a model at this address.
    pub(crate) fn configure(self, place: &Place, url: &str) {
        match self {
            Self::ClaudeCode => {}
            Self::Opencode => {
                let model =
                    json!({ "name": "scripted", "limit": { "context": 200_000, "output": 8_000 } });
                let provider = json!({
                    "npm": "@ai-sdk/openai-compatible",
                    "options": { "baseURL": url, "apiKey": "key" },
                    "models": { "scripted": model },
                });
                let schema = "https://opencode.ai/config.json";
                let settings = json!({ "$schema": schema, "provider": { "local": provider } });
                let path = place.person.join(".config/opencode/opencode.json");
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, serde_json::to_string_pretty(&settings).unwrap()).unwrap();
            }
        }
    }

    /// Runs the agent with one prompt.
    pub(crate) fn run(self, kit: &Installed, place: &Place, url: &str, prompt: &str) -> Ran {
        let script = match self {
            Self::ClaudeCode => kit
                .script("claude")
                .args(["-p", prompt])
                .env("ANTHROPIC_BASE_URL", url)
                .env("ANTHROPIC_API_KEY", "key")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("DISABLE_AUTOUPDATER", "1")
                .env("DISABLE_TELEMETRY", "1"),
            Self::Opencode => kit
                .script("opencode")
                .args(["run", "-m", "local/scripted", prompt])
                .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
                .env("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        };
        in_place(script, place).run()
    }
}

/// Sets the directories, so that the agent reads and writes nothing elsewhere.
fn in_place(script: Script, place: &Place) -> Script {
    let below = |dir: &str| place.person.join(dir);
    script
        .env("HOME", &place.person)
        .env("XDG_CONFIG_HOME", below(".config"))
        .env("XDG_DATA_HOME", below(".local/share"))
        .env("XDG_STATE_HOME", below(".local/state"))
        .env("XDG_CACHE_HOME", below(".cache"))
        .env("BETHINK_HOME", &place.bethink)
        .dir(&place.project)
}

/// Returns every file below a directory that `bethink install` may change, with its bytes.
pub(crate) fn settings(agent: Agent, person: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let paths: &[&str] = match agent {
        Agent::ClaudeCode => &[".claude/settings.json"],
        Agent::Opencode => &[".config/opencode/opencode.json"],
    };
    let read = |path: &&str| (person.join(path), std::fs::read(person.join(path)).ok());
    paths.iter().map(read).collect()
}
