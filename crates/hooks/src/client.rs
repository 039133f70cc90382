//! The clients whose hooks are understood, and what each calls its events.

use serde::{Deserialize, Serialize};

use crate::event::Event;

/// A coding agent that has hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
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

impl Client {
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

    /// Whether its transcripts are session files as we read them. Those of the others have forms of their own.
    pub fn has_session_files(self) -> bool {
        self == Self::ClaudeCode
    }

    /// What it calls an event, in answers that have to repeat the name.
    pub fn name_of(self, event: Event) -> &'static str {
        match (self, event) {
            (Self::Gemini, Event::PromptSubmit) => "BeforeAgent",
            (Self::Gemini, Event::PostToolUse) => "AfterTool",
            (Self::Gemini, Event::PreCompact) => "PreCompress",
            (Self::Gemini, Event::Stop) => "AfterAgent",
            (Self::Cursor, Event::SessionStart) => "sessionStart",
            (Self::Cursor, Event::PromptSubmit) => "beforeSubmitPrompt",
            (Self::Cursor, Event::PostToolUse) => "postToolUse",
            (Self::Cursor, Event::PreCompact) => "preCompact",
            (Self::Cursor, Event::Stop) => "stop",
            (Self::Cursor, Event::SubagentStop) => "subagentStop",
            (Self::Cursor, Event::SessionEnd) => "sessionEnd",
            (_, Event::SessionStart) => "SessionStart",
            (_, Event::PromptSubmit) => "UserPromptSubmit",
            (_, Event::PostToolUse) => "PostToolUse",
            (_, Event::PreCompact) => "PreCompact",
            (_, Event::Stop) => "Stop",
            (_, Event::SubagentStop) => "SubagentStop",
            (_, Event::SessionEnd) => "SessionEnd",
        }
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_knows_its_own_names() {
        for client in Client::ALL {
            assert_eq!(Client::named(client.as_str()), Some(client));
            for event in Event::ALL {
                assert_eq!(Event::named(client.name_of(event)), Some(event), "{client} {event}");
            }
        }
        assert_eq!(Client::named("Claude Code"), None);
    }
}
