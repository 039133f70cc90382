//! The supported clients, and their names for events.

use serde::{Deserialize, Serialize};

use crate::event::HookEvent;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookClient {
    /// <https://code.claude.com/docs/en/hooks>
    #[default]
    ClaudeCode,
    /// <https://developers.openai.com/codex/hooks>: the same members as Claude Code's.
    Codex,
    /// <https://geminicli.com/docs/hooks/reference>: the same members, but other names for events.
    Gemini,
    /// <https://cursor.com/docs/hooks>: different members and answers.
    Cursor,
    /// <https://qwenlm.github.io/qwen-code-docs/en/users/features/hooks>: the same members as Claude Code's.
    Qwen,
}

impl HookClient {
    pub const ALL: [Self; 5] =
        [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Cursor, Self::Qwen];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.as_str() == name)
    }

    /// Returns the client's name on the command line and in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Qwen => "qwen",
        }
    }

    /// Returns whether the client's transcripts are session files in Claude Code's format.
    pub fn has_session_files(self) -> bool {
        self == Self::ClaudeCode
    }

    /// Returns the client's name for an event, for use in answers. Only two events have answers, and Cursor's answers
    /// do not contain a name.
    pub fn name_of(self, event: HookEvent) -> &'static str {
        match (self, event) {
            (Self::Gemini, HookEvent::PromptSubmit) => "BeforeAgent",
            (_, HookEvent::SessionStart) => "SessionStart",
            (_, HookEvent::PromptSubmit) => "UserPromptSubmit",
            (_, HookEvent::PostToolUse) => "PostToolUse",
            (_, HookEvent::PreCompact) => "PreCompact",
            (_, HookEvent::Stop) => "Stop",
            (_, HookEvent::SubagentStop) => "SubagentStop",
            (_, HookEvent::SessionEnd) => "SessionEnd",
        }
    }
}

impl std::fmt::Display for HookClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_knows_its_own_names() {
        for client in HookClient::ALL {
            assert_eq!(HookClient::named(client.as_str()), Some(client));
            for event in HookEvent::ALL {
                assert_eq!(
                    HookEvent::named(client.name_of(event)),
                    Some(event),
                    "{client} {event}"
                );
            }
        }
        assert_eq!(HookClient::named("Claude Code"), None);
    }
}
