//! The supported clients, and their names of events.

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
    /// <https://geminicli.com/docs/hooks/reference>: the same members, other names of events.
    Gemini,
    /// <https://cursor.com/docs/hooks>: members and answers of its own.
    Cursor,
}

impl HookClient {
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Cursor];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.as_str() == name)
    }

    /// Its name among the entrances.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
        }
    }

    /// Whether its transcripts are session files that we can read.
    pub fn has_session_files(self) -> bool {
        self == Self::ClaudeCode
    }

    /// Its name of an event in answers, which only two events have; Cursor's answers have no name.
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
