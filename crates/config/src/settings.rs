//! What can be set, each value typed.

use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// All state lives below it.
    pub home: PathBuf,
    pub daemon: DaemonSettings,
    pub context: ContextSettings,
    pub compact: CompactSettings,
    pub session_memory: SessionMemorySettings,
    pub model: ModelSettings,
    pub memory: MemorySettings,
    pub team: TeamSettings,
    pub gateway: GatewaySettings,
    /// The person's home directory, where other agents keep their files; `None` where the environment
    /// names none.
    pub person: Option<PathBuf>,
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
    /// Windows by the beginning of a model's name, for clients that don't tell theirs; the longest name counts.
    pub windows: Vec<(String, u64)>,
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
    /// Old spans are shown as short texts, prepared in the background; while it is on, compaction waits
    /// until the window is full.
    pub collapse: bool,
    /// How long the provider keeps a cached prompt that nobody asks for.
    pub cache_ttl_minutes: u64,
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

/// The model that summaries, notes and collapses are asked of. Keys are never settings: only the name of
/// the variable, or the command, that gives one.
#[derive(Clone, PartialEq)]
pub struct ModelSettings {
    /// `none`, `anthropic` (Messages API) or `openai` (chat completions, also of local servers).
    pub provider: String,
    /// Scheme, host and port of another server than the provider's own; empty for that one.
    pub base_url: String,
    /// Empty: each session's own model.
    pub name: String,
    /// For notes; empty: as `name`.
    pub small_name: String,
    /// The environment variable that holds the key; empty: the provider's usual one, for the provider's own server
    /// alone.
    pub api_key_env: String,
    /// A command that prints the key; it goes before the variable.
    pub api_key_command: String,
    /// Lets a key and a conversation go unencrypted to another machine.
    pub allow_plain_http: bool,
    pub stream: bool,
    pub connect_timeout_ms: u64,
    /// The longest silence within an answer.
    pub idle_timeout_ms: u64,
    /// One summary or one update of notes, with all that is tried for it.
    pub deadline_ms: u64,
    /// Tokens that an answer may have at first, and at most when it was cut off.
    pub max_output: u64,
    pub max_output_ceiling: u64,
    /// `model` or `embedded`; without a provider all is embedded.
    pub summary: String,
    pub notes: String,
    /// Tokens of a day (UTC), read and written, over all purposes; 0 is no limit.
    pub daily_tokens: u64,
    /// US dollars of a day (UTC); 0 is no limit. Calls of models without a price cost nothing here.
    pub daily_cost: f64,
    /// US dollars for a million tokens, of `name` and of `small_name`; 0: as the built-in table has it.
    pub price_input: f64,
    pub price_output: f64,
    pub small_price_input: f64,
    pub small_price_output: f64,
}

impl ModelSettings {
    /// A provider is configured.
    pub fn is_on(&self) -> bool {
        self.provider != "none"
    }

    pub fn summaries_by_model(&self) -> bool {
        self.is_on() && self.summary == "model"
    }

    pub fn notes_by_model(&self) -> bool {
        self.is_on() && self.notes == "model"
    }
}

/// Persistent memory, and the instruction files beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySettings {
    /// Where the projects' memories lie; empty for the layout's own place.
    pub root: String,
    /// `bethink` (below the home) or `claude` (Claude Code's own place, so that both share one memory).
    pub layout: String,
    /// `model`, `embedded` or `off`; without a provider `model` is embedded.
    pub recall: String,
    pub extraction: String,
    pub dream: String,
    /// Hours from one dream to the next, and other sessions touched in between.
    pub dream_hours: u64,
    pub dream_sessions: u64,
    /// Instruction files stand in prompts.
    pub instructions: bool,
}

/// Memory that several people share.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamSettings {
    /// A folder that is shared by other means, for every project without one of its own; each project has a
    /// folder in it. Empty: `team` in the project's memory.
    pub dir: String,
    /// Where `team init` clones from when it is told no other place.
    pub remote: String,
    /// How long git may wait for a remote.
    pub timeout_ms: u64,
}

/// Where the requests of clients go that ask their model through the daemon. Keys are never settings here either.
#[derive(Clone, PartialEq)]
pub struct GatewaySettings {
    /// What of the memory is put into prompts: `off`, `recall` or `full`.
    pub inject: String,
    /// Scheme, host and port of another server than the provider's own; empty for that one.
    pub anthropic_url: String,
    /// The environment variable that holds the key, and the command that prints it; both empty: the client's own
    /// credential goes up.
    pub anthropic_key_env: String,
    pub anthropic_key_command: String,
    pub openai_url: String,
    pub openai_key_env: String,
    pub openai_key_command: String,
    /// Lets keys and conversations go unencrypted to another machine.
    pub allow_plain_http: bool,
    /// The longest silence of a server, before and within an answer.
    pub idle_timeout_ms: u64,
    pub max_body_bytes: u64,
}

/// A command can hold a secret in its arguments, and a URL one in its credentials.
impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("provider", &self.provider)
            .field("name", &self.name)
            .field("small_name", &self.small_name)
            .field("summary", &self.summary)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for GatewaySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewaySettings").field("inject", &self.inject).finish_non_exhaustive()
    }
}
