//! What can be set, each value typed.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// All state lives below it.
    pub home: PathBuf,
    pub daemon: DaemonSettings,
    pub context: ContextSettings,
    pub compact: CompactSettings,
    pub session_memory: SessionMemorySettings,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DaemonSettings {
    pub listen: String,
    /// Unix socket beside TCP: `$BETHINK_HOME/daemon.sock`.
    pub socket: bool,
    /// Filter of the log where `BETHINK_LOG` gives none.
    pub log: String,
    pub max_body_bytes: u64,
    pub max_import_bytes: u64,
    pub max_depth: u64,
    pub max_messages: u64,
    pub max_connections: u64,
    pub header_timeout_ms: u64,
    pub drain_ms: u64,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    /// Bytes of messages kept ready in memory over all sessions.
    pub hot_bytes: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ContextSettings {
    /// Window and output of a session that names none.
    pub window: u64,
    pub max_output: u64,
    pub result_chars: u64,
    pub results_chars: u64,
    pub snip: bool,
    pub microcompact_idle_minutes: u64,
    pub microcompact_keep: u64,
    /// Clears by count too when more re-obtainable results than this are shown; 0 is off.
    pub microcompact_above: u64,
    pub microcompact_tools: Vec<String>,
    /// Lowers `auto` to this share of the effective window, in percent; 0 is off.
    pub auto_percent: f64,
    pub auto_compact: bool,
}

/// The notes of sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionMemorySettings {
    /// Notes are taken by themselves; asked for, they are taken in any case.
    pub enabled: bool,
    /// `default` or `frugal`.
    pub profile: String,
    /// A template other than `session-memory/config/template.md` of the home; empty for that one.
    pub template: String,
    /// An instruction other than `session-memory/config/prompt.md`; empty for that one.
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CompactSettings {
    pub keep_min_tokens: u64,
    pub keep_min_messages: u64,
    pub keep_max_tokens: u64,
    pub user_message_tokens: u64,
    pub restore_files: u64,
    pub restore_file_tokens: u64,
    pub restore_files_tokens: u64,
    pub restore_skill_tokens: u64,
    pub restore_skills_tokens: u64,
    pub max_failures: u64,
    pub thrash_turns: u64,
    pub thrash_times: u64,
}
