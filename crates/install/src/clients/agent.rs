//! The agents that `bethink install` knows.

use std::path::PathBuf;

use super::places::ClientPlaces;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallAgent {
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

impl InstallAgent {
    pub const ALL: [Self; 15] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Cursor,
        Self::Vscode,
        Self::Zed,
        Self::Gemini,
        Self::Opencode,
        Self::ClaudeDesktop,
        Self::Copilot,
        Self::Windsurf,
        Self::Cline,
        Self::Roo,
        Self::Qwen,
        Self::Kiro,
        Self::Amp,
    ];

    pub fn as_str(self) -> &'static str {
        self.names().0
    }

    /// The agent's product name.
    pub fn title(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("claude-code", "Claude Code"),
            Self::Codex => ("codex", "Codex"),
            Self::Cursor => ("cursor", "Cursor"),
            Self::Vscode => ("vscode", "VS Code"),
            Self::Zed => ("zed", "Zed"),
            Self::Gemini => ("gemini", "Gemini CLI"),
            Self::Opencode => ("opencode", "opencode"),
            Self::ClaudeDesktop => ("claude-desktop", "Claude Desktop"),
            Self::Copilot => ("copilot", "Copilot CLI"),
            Self::Windsurf => ("windsurf", "Windsurf"),
            Self::Cline => ("cline", "Cline"),
            Self::Roo => ("roo", "Roo Code"),
            Self::Qwen => ("qwen", "Qwen Code"),
            Self::Kiro => ("kiro", "Kiro"),
            Self::Amp => ("amp", "Amp"),
        }
    }

    /// The program that starts the agent; `None` for an editor extension, or if other programs often have the same
    /// name.
    pub fn command(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("claude"),
            Self::Vscode => Some("code"),
            Self::ClaudeDesktop | Self::Roo | Self::Amp => None,
            others => Some(others.as_str()),
        }
    }

    /// The agent's directory for this user, which exists once the agent has run; `None` if its location is not documented.
    pub fn dir(self, places: &ClientPlaces) -> Option<PathBuf> {
        let person = |name: &str| places.person.join(name);
        let moved = |moved: &Option<PathBuf>, name| moved.clone().unwrap_or_else(|| person(name));
        Some(match self {
            Self::ClaudeCode => moved(&places.claude, ".claude"),
            Self::Codex => moved(&places.codex, ".codex"),
            Self::Cursor => person(".cursor"),
            Self::Vscode => places.application("Code"),
            Self::Zed => places.config.join("zed"),
            Self::Gemini => person(".gemini"),
            Self::Opencode => places.config.join("opencode"),
            Self::ClaudeDesktop => places.application("Claude"),
            Self::Copilot => moved(&places.copilot, ".copilot"),
            Self::Windsurf => person(".codeium/windsurf"),
            Self::Cline => moved(&places.cline, ".cline"),
            Self::Roo => return None,
            Self::Qwen => moved(&places.qwen, ".qwen"),
            Self::Kiro => person(".kiro"),
            // Amp uses this directory on all systems.
            Self::Amp => person(".config/amp"),
        })
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == name)
    }

    /// Whether the agent's settings have a place for the gateway's address, so that `install --gateway` can set it.
    pub fn takes_gateway(self) -> bool {
        // Some of the others can use the gateway, too, but the user must set it up: Gemini CLI, for example, with a
        // variable.
        matches!(self, Self::ClaudeCode | Self::Zed | Self::Opencode)
    }

    /// A note to show after the installation.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some(
                "start `codex` once and choose to trust the hooks, because `codex exec` skips untrusted hooks; a \
                 project's own configuration takes effect only if Codex trusts the project",
            ),
            Self::Cline => Some(
                "this sets up the Cline command-line tool; in the editor extension, add the same server under \"MCP Servers\"",
            ),
            _ => None,
        }
    }
}
