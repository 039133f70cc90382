//! Hook events, and how long their answers may take.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Something that happened in a client's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    SessionStart,
    PromptSubmit,
    PostToolUse,
    PreCompact,
    Stop,
    SubagentStop,
    SessionEnd,
}

/// How long a hook waits for an answer that the model reads: short enough not to be noticed.
const ANSWER_DEADLINE: Duration = Duration::from_millis(250);
/// How long a hook waits to deliver an event that has no answer. Including the start of the process, this stays below
/// the 50 ms that a hook may take if the daemon hangs or is not running.
const DELIVERY_DEADLINE: Duration = Duration::from_millis(35);

impl HookEvent {
    pub const ALL: [Self; 7] = [
        Self::SessionStart,
        Self::PromptSubmit,
        Self::PostToolUse,
        Self::PreCompact,
        Self::Stop,
        Self::SubagentStop,
        Self::SessionEnd,
    ];

    /// Returns the event with this name, in any client's spelling. Dashes, underscores and case are ignored.
    pub fn named(name: &str) -> Option<Self> {
        let plain = name.replace(['-', '_'], "").to_ascii_lowercase();
        match plain.as_str() {
            // The names that Claude Code, Gemini CLI and Cursor use.
            "userpromptsubmit" | "beforeagent" | "beforesubmitprompt" => Some(Self::PromptSubmit),
            "aftertool" => Some(Self::PostToolUse),
            "precompress" => Some(Self::PreCompact),
            "afteragent" => Some(Self::Stop),
            plain => Self::ALL.into_iter().find(|event| event.as_str().replace('-', "") == plain),
        }
    }

    /// Returns the event's name on the command line and in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::PromptSubmit => "prompt-submit",
            Self::PostToolUse => "post-tool-use",
            Self::PreCompact => "pre-compact",
            Self::Stop => "stop",
            Self::SubagentStop => "subagent-stop",
            Self::SessionEnd => "session-end",
        }
    }

    /// Returns whether the answer may contain text for the model.
    pub fn is_answered(self) -> bool {
        matches!(self, Self::SessionStart | Self::PromptSubmit)
    }

    /// Returns how long a hook waits for the daemon, from the connection to the end of the answer.
    pub fn deadline(self) -> Duration {
        if self.is_answered() { ANSWER_DEADLINE } else { DELIVERY_DEADLINE }
    }

    /// Returns how long the daemon may take to answer, so that the hook has time to read it.
    pub fn budget(self) -> Duration {
        self.deadline() * 4 / 5
    }
}

impl std::fmt::Display for HookEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_may_spell_it_its_way() {
        let check = |name: &str, expect: Option<HookEvent>| {
            assert_eq!(HookEvent::named(name), expect, "{name}");
        };
        for (name, event) in [
            ("SessionStart", HookEvent::SessionStart),
            ("sessionStart", HookEvent::SessionStart),
            ("session-start", HookEvent::SessionStart),
            ("user_prompt_submit", HookEvent::PromptSubmit),
            ("UserPromptSubmit", HookEvent::PromptSubmit),
            ("BeforeAgent", HookEvent::PromptSubmit),
            ("PostToolUse", HookEvent::PostToolUse),
            ("AfterTool", HookEvent::PostToolUse),
            ("PreCompress", HookEvent::PreCompact),
            ("Stop", HookEvent::Stop),
            ("SubagentStop", HookEvent::SubagentStop),
            ("SessionEnd", HookEvent::SessionEnd),
        ] {
            check(name, Some(event));
        }
        for name in ["", "PreToolUse", "stopp", "Notification", "../stop"] {
            check(name, None);
        }
        for event in HookEvent::ALL {
            check(event.as_str(), Some(event));
        }
    }

    #[test]
    fn what_needs_no_answer_is_handed_over_at_once() {
        for event in HookEvent::ALL {
            let most = if event.is_answered() { 300 } else { 40 };
            assert!(event.deadline() <= Duration::from_millis(most), "{event}");
            assert!(event.budget() < event.deadline(), "{event}");
        }
    }
}
