//! The agents whose transcripts bethink can read, and where the transcripts are stored.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// An agent whose transcripts can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TranscriptAgent {
    ClaudeCode,
    Codex,
    Gemini,
    Qwen,
    Opencode,
    Pi,
    Cline,
    Continue,
}

/// How an agent stores a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageForm {
    /// A file to which a line is appended for each event.
    Lines,
    /// A JSON file that is replaced after each change.
    Document,
    /// An SQLite database with all sessions.
    Database,
}

impl TranscriptAgent {
    pub const ALL: [Self; 8] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Qwen,
        Self::Opencode,
        Self::Pi,
        Self::Cline,
        Self::Continue,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == name)
    }

    /// Returns the agent's name on the command line and in the API.
    pub fn as_str(self) -> &'static str {
        self.names().0
    }

    /// Returns the agent's product name.
    pub fn title(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("claude-code", "Claude Code"),
            Self::Codex => ("codex", "Codex"),
            Self::Gemini => ("gemini", "Gemini CLI"),
            Self::Qwen => ("qwen", "Qwen Code"),
            Self::Opencode => ("opencode", "opencode"),
            Self::Pi => ("pi", "pi"),
            Self::Cline => ("cline", "Cline"),
            Self::Continue => ("continue", "Continue"),
        }
    }

    pub fn storage(self) -> StorageForm {
        match self {
            Self::ClaudeCode | Self::Codex | Self::Gemini | Self::Qwen | Self::Pi => {
                StorageForm::Lines
            }
            Self::Cline | Self::Continue => StorageForm::Document,
            Self::Opencode => StorageForm::Database,
        }
    }

    /// Returns the path of the directory or database that contains the agent's sessions. `person` is the user's home
    /// directory, and `variable` returns the value of an environment variable.
    pub fn place(self, person: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let own =
            |name: &str, default: &str| variable(name).unwrap_or_else(|| person.join(default));
        match self {
            Self::ClaudeCode => own("CLAUDE_CONFIG_DIR", ".claude").join("projects"),
            Self::Codex => own("CODEX_HOME", ".codex").join("sessions"),
            Self::Gemini => own("GEMINI_CLI_HOME", "").join(".gemini/tmp"),
            Self::Qwen => own("QWEN_HOME", ".qwen").join("projects"),
            Self::Opencode => variable("OPENCODE_DB").unwrap_or_else(|| {
                own("XDG_DATA_HOME", ".local/share").join("opencode/opencode.db")
            }),
            Self::Pi => own("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
            Self::Cline => own("CLINE_DIR", ".cline").join("data/sessions"),
            Self::Continue => own("CONTINUE_GLOBAL_DIR", ".continue").join("sessions"),
        }
    }

    /// Returns whether a file below the agent's directory contains a session, judging by its path.
    pub fn is_session(self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let ends = |end: &str| name.ends_with(end);
        let has = |part: &str| path.components().any(|one| one.as_os_str() == part);
        match self {
            Self::ClaudeCode | Self::Pi => ends(".jsonl"),
            Self::Codex => name.starts_with("rollout-") && ends(".jsonl"),
            Self::Gemini => has("chats") && (ends(".jsonl") || ends(".json")),
            Self::Qwen => (has("chats") || has("subagents")) && ends(".jsonl"),
            Self::Opencode => ends(".db"),
            Self::Cline => ends(".messages.json"),
            Self::Continue => ends(".json") && name != "sessions.json",
        }
    }

    /// Returns the agent that wrote a file, judging by the first complete JSON object in it. Returns `None` for Claude
    /// Code's files, which have no distinguishing fields.
    pub fn of(path: &Path, first: &Value) -> Option<Self> {
        let has = |name: &str| first.get(name).is_some();
        if has("payload") && has("timestamp") {
            return Some(Self::Codex);
        }
        if has("sessionId") && has("projectHash") {
            return Some(Self::Gemini);
        }
        if first.get("type").and_then(Value::as_str) == Some("session") && has("cwd") {
            return Some(Self::Pi);
        }
        if has("sessionId") && first.pointer("/message/parts").is_some() {
            return Some(Self::Qwen);
        }
        if has("sessionId") && has("history") {
            return Some(Self::Continue);
        }
        if has("messages") && Self::Cline.is_session(path) {
            return Some(Self::Cline);
        }
        None
    }
}

impl std::fmt::Display for TranscriptAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_directory_and_a_variable_that_moves_it() {
        let home = Path::new("/home/me");
        for agent in TranscriptAgent::ALL {
            assert_eq!(TranscriptAgent::named(agent.as_str()), Some(agent));
            let default = agent.place(home, |_| None);
            assert!(default.starts_with(home), "{agent}");
            let moved = agent.place(home, |_| Some("/moved".into()));
            assert!(moved.starts_with("/moved"), "{agent}");
        }
        assert_eq!(TranscriptAgent::named("Codex"), None);
    }

    #[test]
    fn only_session_files_count() {
        let check = |agent: TranscriptAgent, path: &str, expect: bool| {
            assert_eq!(agent.is_session(Path::new(path)), expect, "{agent} {path}");
        };
        check(TranscriptAgent::Codex, "2026/11/22/rollout-2026-11-22T16-25-49-a.jsonl", true);
        check(TranscriptAgent::Codex, "history.jsonl", false);
        check(TranscriptAgent::Gemini, "project/chats/session-2026-a.jsonl", true);
        check(TranscriptAgent::Gemini, "project/logs.json", false);
        check(TranscriptAgent::Qwen, "-p/subagents/a/agent-b.jsonl", true);
        check(TranscriptAgent::Qwen, "-p/subagents/a/agent-b.meta.json", false);
        check(TranscriptAgent::Cline, "1/1.messages.json", true);
        check(TranscriptAgent::Cline, "1/1.json", false);
        check(TranscriptAgent::Continue, "sessions.json", false);
    }
}
