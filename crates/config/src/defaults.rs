//! The default of every setting, with its reason.

use std::path::PathBuf;

use crate::settings::{
    CompactSettings, ContextSettings, DaemonSettings, GatewaySettings, MemorySettings,
    ModelSettings, SessionMemorySettings, Settings, TeamSettings,
};

/// Loopback only; the port that clients try when no `daemon.json` says otherwise.
pub const LISTEN: &str = "127.0.0.1:4747";
/// What a person wants to read of a daemon that is well.
pub const LOG: &str = "info";
/// A turn with a dozen screenshots in base64 is about 40 MiB.
pub const MAX_BODY_BYTES: u64 = 64 << 20;
/// Recorded session files of months of work; far above any single one met so far.
pub const MAX_IMPORT_BYTES: u64 = 1 << 30;
/// The nesting that common JSON parsers take; tool inputs stay below twenty.
pub const MAX_DEPTH: u64 = 128;
/// Messages in one append: a whole recorded session fits, a runaway loop does not.
pub const MAX_MESSAGES: u64 = 10_000;
/// Half of the descriptors that a process usually may have (1,024), so that files still open.
pub const MAX_CONNECTIONS: u64 = 512;
/// A local client sends its request head at once; ten seconds is a stuck one.
pub const HEADER_TIMEOUT_MS: u64 = 10_000;
/// Service managers kill after ten seconds at the earliest; half is left for closing the store.
pub const DRAIN_MS: u64 = 5_000;
/// With the process itself this stays well below 120 MB after driving many sessions.
pub const HOT_BYTES: u64 = 24 << 20;

/// The window of today's common models.
pub const WINDOW: u64 = 200_000;
/// Their longest answer without an extended-output option.
pub const MAX_OUTPUT: u64 = 32_000;
/// One tool result that is longer is shown as a preview (specification, section 3).
pub const RESULT_CHARS: u64 = 50_000;
/// All tool results of one user message together (specification, section 3).
pub const RESULTS_CHARS: u64 = 200_000;
/// Providers drop a prompt cache after at most an hour: from then on clearing costs no cache.
pub const MICROCOMPACT_IDLE_MINUTES: u64 = 60;
/// The newest re-obtainable results stay, since work goes on with them.
pub const MICROCOMPACT_KEEP: u64 = 5;
/// Tools whose results can be had again by calling them again: those of Claude Code, then the
/// names that other agents use.
pub const MICROCOMPACT_TOOLS: [&str; 20] = [
    "Read",
    "Bash",
    "Grep",
    "Glob",
    "WebSearch",
    "WebFetch",
    "Edit",
    "MultiEdit",
    "Write",
    "NotebookEdit",
    "LS",
    "read",
    "bash",
    "shell",
    "grep",
    "glob",
    "web_search",
    "web_fetch",
    "edit",
    "write",
];

/// What providers keep a cached prompt for unless an hour is paid for.
pub const CACHE_TTL_MINUTES: u64 = 5;

/// Notes cost no model call unless one is configured: they are kept fresh.
pub const NOTES_PROFILE: &str = "default";

/// Newest messages that a compaction keeps as they are (specification, section 4): at least this
/// many tokens and messages, at most [`KEEP_MAX_TOKENS`].
pub const KEEP_MIN_TOKENS: u64 = 10_000;
pub const KEEP_MIN_MESSAGES: u64 = 5;
pub const KEEP_MAX_TOKENS: u64 = 40_000;
/// What users said is kept word for word up to this size.
pub const USER_MESSAGE_TOKENS: u64 = 20_000;
/// Files read last that stand again after a boundary, each and together.
pub const RESTORE_FILES: u64 = 5;
pub const RESTORE_FILE_TOKENS: u64 = 5_000;
pub const RESTORE_FILES_TOKENS: u64 = 50_000;
/// Invoked skills, each and together.
pub const RESTORE_SKILL_TOKENS: u64 = 5_000;
pub const RESTORE_SKILLS_TOKENS: u64 = 25_000;
/// Failures in a row after which automatic compaction stops.
pub const MAX_FAILURES: u64 = 3;
/// So many compactions, each within so many turns of the last, are thrashing.
pub const THRASH_TURNS: u64 = 3;
pub const THRASH_TIMES: u64 = 3;

/// Nothing leaves the machine unless a person names a provider.
pub const PROVIDER: &str = "none";
/// A provider's front answers a connection within a second; ten are a network that is down.
pub const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// Before the first word of an answer to a full window a minute or two may pass, on a local model more;
/// Claude Code waits as long on a silent stream.
pub const IDLE_TIMEOUT_MS: u64 = 300_000;
/// The provider's own limit of a request that is not streamed, and longer than a person waits.
pub const DEADLINE_MS: u64 = 600_000;
/// Nine sections of a summary take 2,000 to 8,000 tokens, its analysis as much again.
pub const MODEL_MAX_OUTPUT: u64 = 16_000;
/// Once more with the room that today's common models allow, then it is given up.
pub const MODEL_MAX_OUTPUT_CEILING: u64 = 64_000;
/// bethink's own place: another agent's files are touched only when a person says so.
pub const MEMORY_LAYOUT: &str = "bethink";
/// Specification, section 7: at most one consolidation a day, and only after enough was learnt.
pub const DREAM_HOURS: u64 = 24;
pub const DREAM_SESSIONS: u64 = 5;
/// A team's memory has a few megabytes: a remote that takes longer does not answer.
pub const TEAM_TIMEOUT_MS: u64 = 60_000;
/// Who configures a model wants it used.
pub const STRATEGY: &str = "model";
/// A request says what the client said, and nothing else, until a person wants more.
pub const INJECT: &str = "off";
/// As long as the official clients wait for an answer by themselves.
pub const GATEWAY_IDLE_TIMEOUT_MS: u64 = 600_000;
/// The largest request that a provider takes has 32 MB; what is over it is better refused by the provider, in its
/// own words.
pub const GATEWAY_MAX_BODY_BYTES: u64 = 40 << 20;

impl Settings {
    /// All defaults, with its state below `home`.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            daemon: DaemonSettings::default(),
            context: ContextSettings::default(),
            compact: CompactSettings::default(),
            session_memory: SessionMemorySettings::default(),
            model: ModelSettings::default(),
            memory: MemorySettings::default(),
            team: TeamSettings::default(),
            gateway: GatewaySettings::default(),
            person: None,
        }
    }
}

impl Default for TeamSettings {
    fn default() -> Self {
        Self { dir: String::new(), remote: String::new(), timeout_ms: TEAM_TIMEOUT_MS }
    }
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            inject: INJECT.to_owned(),
            anthropic_url: String::new(),
            anthropic_key_env: String::new(),
            anthropic_key_command: String::new(),
            openai_url: String::new(),
            openai_key_env: String::new(),
            openai_key_command: String::new(),
            allow_plain_http: false,
            idle_timeout_ms: GATEWAY_IDLE_TIMEOUT_MS,
            max_body_bytes: GATEWAY_MAX_BODY_BYTES,
        }
    }
}

impl Default for SessionMemorySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            profile: NOTES_PROFILE.to_owned(),
            template: String::new(),
            prompt: String::new(),
        }
    }
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            provider: PROVIDER.to_owned(),
            base_url: String::new(),
            name: String::new(),
            small_name: String::new(),
            api_key_env: String::new(),
            api_key_command: String::new(),
            allow_plain_http: false,
            stream: true,
            connect_timeout_ms: CONNECT_TIMEOUT_MS,
            idle_timeout_ms: IDLE_TIMEOUT_MS,
            deadline_ms: DEADLINE_MS,
            max_output: MODEL_MAX_OUTPUT,
            max_output_ceiling: MODEL_MAX_OUTPUT_CEILING,
            summary: STRATEGY.to_owned(),
            notes: STRATEGY.to_owned(),
            daily_tokens: 0,
            daily_cost: 0.0,
            price_input: 0.0,
            price_output: 0.0,
            small_price_input: 0.0,
            small_price_output: 0.0,
        }
    }
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            root: String::new(),
            layout: MEMORY_LAYOUT.to_owned(),
            recall: STRATEGY.to_owned(),
            extraction: STRATEGY.to_owned(),
            dream: STRATEGY.to_owned(),
            dream_hours: DREAM_HOURS,
            dream_sessions: DREAM_SESSIONS,
            instructions: true,
        }
    }
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self {
            listen: LISTEN.to_owned(),
            socket: true,
            log: LOG.to_owned(),
            max_body_bytes: MAX_BODY_BYTES,
            max_import_bytes: MAX_IMPORT_BYTES,
            max_depth: MAX_DEPTH,
            max_messages: MAX_MESSAGES,
            max_connections: MAX_CONNECTIONS,
            header_timeout_ms: HEADER_TIMEOUT_MS,
            drain_ms: DRAIN_MS,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            hot_bytes: HOT_BYTES,
        }
    }
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            window: WINDOW,
            windows: Vec::new(),
            max_output: MAX_OUTPUT,
            result_chars: RESULT_CHARS,
            results_chars: RESULTS_CHARS,
            snip: false,
            microcompact_idle_minutes: MICROCOMPACT_IDLE_MINUTES,
            microcompact_keep: MICROCOMPACT_KEEP,
            microcompact_above: 0,
            microcompact_tools: MICROCOMPACT_TOOLS.map(str::to_owned).to_vec(),
            auto_percent: 0.0,
            auto_compact: true,
            collapse: false,
            cache_ttl_minutes: CACHE_TTL_MINUTES,
        }
    }
}

impl Default for CompactSettings {
    fn default() -> Self {
        Self {
            keep_min_tokens: KEEP_MIN_TOKENS,
            keep_min_messages: KEEP_MIN_MESSAGES,
            keep_max_tokens: KEEP_MAX_TOKENS,
            user_message_tokens: USER_MESSAGE_TOKENS,
            restore_files: RESTORE_FILES,
            restore_file_tokens: RESTORE_FILE_TOKENS,
            restore_files_tokens: RESTORE_FILES_TOKENS,
            restore_skill_tokens: RESTORE_SKILL_TOKENS,
            restore_skills_tokens: RESTORE_SKILLS_TOKENS,
            max_failures: MAX_FAILURES,
            thrash_turns: THRASH_TURNS,
            thrash_times: THRASH_TIMES,
        }
    }
}
