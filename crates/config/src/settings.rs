//! All settings: meaning, allowed values, default, and the reason for the default.

use std::fmt;
use std::path::PathBuf;

use crate::keys::{DAY_MS, KeyTarget, MANY, MOST_TOKENS, STRATEGIES, SettingKey, WHO_OR_NOBODY};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The directory of all state.
    pub home: PathBuf,
    pub daemon: DaemonSettings,
    pub context: ContextSettings,
    pub compact: CompactSettings,
    pub session_memory: SessionMemorySettings,
    pub model: ModelSettings,
    pub memory: MemorySettings,
    pub team: TeamSettings,
    pub gateway: GatewaySettings,
    /// The user's home directory, where agents keep their files; `None` if the environment does not name it.
    pub person: Option<PathBuf>,
}

impl Settings {
    /// All defaults, with the state in `home`.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), ..Self::default() }
    }
}

/// `name: Kind(bounds) = default`; a kind is a variant of [`KeyTarget`].
macro_rules! settings {
    ($($(#[$about:meta])* $section:ident: $settings:ident {
        $($(#[$doc:meta])* $name:ident: $kind:ident $(($($bound:expr),+))? = $default:expr,)*
    })*) => {
        $(
            $(#[$about])*
            #[derive(Clone, PartialEq)]
            pub struct $settings {
                $($(#[$doc])* pub $name: value!($kind),)*
            }

            impl Default for $settings {
                fn default() -> Self {
                    Self { $($name: default!($kind, $default),)* }
                }
            }
        )*

        /// In the order of the settings.
        pub(crate) const KEYS: &[SettingKey] = &[$($(SettingKey {
            section: stringify!($section),
            name: stringify!($name),
            place: KeyTarget::$kind(|settings| &mut settings.$section.$name $($(, $bound)+)?),
        },)*)*];
    };
}

macro_rules! value {
    (Whole) => { u64 };
    (Flag) => { bool };
    (Percent) => { f64 };
    (Money) => { f64 };
    (Names) => { Vec<String> };
    (Windows) => { Vec<(String, u64)> };
    ($text:ident) => { String };
}

macro_rules! default {
    (Whole, $value:expr) => {
        $value
    };
    (Flag, $value:expr) => {
        $value
    };
    (Percent, $value:expr) => {
        $value
    };
    (Money, $value:expr) => {
        $value
    };
    (Names, $names:expr) => {
        ($names as [&str; _]).map(str::to_owned).to_vec()
    };
    (Windows, $windows:expr) => {
        $windows.to_vec()
    };
    ($text:ident, $value:expr) => {
        $value.to_owned()
    };
}

settings! {
    #[derive(Debug)]
    daemon: DaemonSettings {
        /// Loopback only; the port that clients try when no `daemon.json` says otherwise.
        listen: Text = "127.0.0.1:4747",
        /// Unix socket beside TCP: `$BETHINK_HOME/daemon.sock`.
        socket: Flag = true,
        /// Filter of the log, unless `BETHINK_LOG` is set.
        log: Text = "info",
        /// A turn with a dozen screenshots in base64 is about 40 MiB.
        max_body_bytes: Whole(1_024, 1 << 32) = 64 << 20,
        /// Far above any recorded session file we have seen.
        max_import_bytes: Whole(1_024, 1 << 40) = 1 << 30,
        /// The nesting that common JSON parsers accept; tool inputs stay below twenty.
        max_depth: Whole(8, 1_000) = 128,
        /// Messages in one append: enough for a whole recorded session, but not for a runaway loop.
        max_messages: Whole(1, MANY) = 10_000,
        /// Half of the usual limit of file descriptors (1,024), so that files can still be opened.
        max_connections: Whole(1, 65_536) = 512,
        /// A local client sends its headers at once; after ten seconds it is stuck.
        header_timeout_ms: Whole(100, DAY_MS) = 10_000,
        /// Service managers kill after ten seconds at the earliest; the other half is for closing the store.
        drain_ms: Whole(0, DAY_MS) = 5_000,
        allowed_hosts: Names = [],
        allowed_origins: Names = [],
        /// Bytes of messages kept in memory, over all sessions. The process stays well below 120 MB.
        hot_bytes: Whole(0, 1 << 40) = 24 << 20,
    }
    #[derive(Debug)]
    context: ContextSettings {
        /// Window of a session that names none: that of common models.
        window: Whole(1_000, MOST_TOKENS) = 200_000,
        /// Longest answer of a session that names none: that of common models.
        max_output: Whole(1, MOST_TOKENS) = 32_000,
        /// Windows by the beginning of a model's name, for clients that do not send theirs; the longest match counts.
        windows: Windows = [],
        /// A longer tool result is shown as a preview (specification, section 3).
        result_chars: Whole(100, MOST_TOKENS) = 50_000,
        /// All tool results of one user message together (specification, section 3).
        results_chars: Whole(100, MOST_TOKENS) = 200_000,
        snip: Flag = false,
        /// Providers drop a prompt cache after at most an hour, so clearing is free from then on.
        microcompact_idle_minutes: Whole(0, MANY) = 60,
        /// The newest results that can be obtained again are kept, because they are still in use.
        microcompact_keep: Whole(0, MANY) = 5,
        /// Also clears when more results that can be obtained again are shown; 0 is off.
        microcompact_above: Whole(0, MANY) = 0,
        /// Tools whose results can be obtained again by another call: Claude Code's names, then those of other agents.
        microcompact_tools: Names = [
            "Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "MultiEdit", "Write", "NotebookEdit", "LS",
            "read", "bash", "shell", "grep", "glob", "web_search", "web_fetch", "edit", "write",
        ],
        /// Lowers `auto` to this share of the effective window, in percent; 0 is off.
        auto_percent: Percent = 0.0,
        auto_compact: Flag = true,
        /// Shows old spans as short texts that are prepared in the background. Compaction then waits until the window is
        /// full.
        collapse: Flag = false,
        /// How long the provider keeps an unused prompt cache: five minutes, unless an hour is paid for.
        cache_ttl_minutes: Whole(1, MANY) = 5,
    }
    /// The notes of sessions.
    #[derive(Debug)]
    session_memory: SessionMemorySettings {
        /// Take notes in the background; `bethink notes update` works in any case.
        enabled: Flag = true,
        /// `default` or `frugal`.
        /// Without a model, notes cost nothing and are updated often.
        profile: Either(&["default", "frugal"]) = "default",
        /// Another template than `session-memory/config/template.md` in the home; empty: that one.
        template: Text = "",
        /// Another instruction than `session-memory/config/prompt.md`; empty: that one.
        prompt: Text = "",
    }
    #[derive(Debug)]
    compact: CompactSettings {
        /// Newest messages that a compaction keeps as they are (specification, section 4): at least this
        /// many tokens and messages, at most `keep_max_tokens`.
        keep_min_tokens: Whole(0, MOST_TOKENS) = 10_000,
        keep_min_messages: Whole(0, MANY) = 5,
        keep_max_tokens: Whole(0, MOST_TOKENS) = 40_000,
        /// Up to this size, the user's words are kept word for word.
        user_message_tokens: Whole(0, MOST_TOKENS) = 20_000,
        /// Files read last that are shown again after a compaction, each and together.
        restore_files: Whole(0, MANY) = 5,
        restore_file_tokens: Whole(0, MOST_TOKENS) = 5_000,
        restore_files_tokens: Whole(0, MOST_TOKENS) = 50_000,
        /// Invoked skills, each and together.
        restore_skill_tokens: Whole(0, MOST_TOKENS) = 5_000,
        restore_skills_tokens: Whole(0, MOST_TOKENS) = 25_000,
        /// Automatic compaction stops after this many failures in a row.
        max_failures: Whole(1, MANY) = 3,
        /// This many compactions, each within this many turns of the last, count as thrashing.
        thrash_turns: Whole(1, MANY) = 3,
        thrash_times: Whole(1, MANY) = 3,
    }
    /// The model that writes summaries, notes and collapses. Keys are never settings, only the name of the variable or
    /// the command that provides one.
    model: ModelSettings {
        /// `none`, `anthropic` (Messages API) or `openai` (chat completions, also of local servers).
        /// Nothing leaves the machine unless the user names a provider.
        provider: Either(&["none", "anthropic", "openai"]) = "none",
        /// Scheme, host and port of another server; empty: the provider's own.
        base_url: Text = "",
        /// Empty: each session's own model.
        name: Text = "",
        /// For notes; empty: as `name`.
        small_name: Text = "",
        /// The environment variable with the key; empty: the provider's usual one, but only for its own server.
        api_key_env: Variable = "",
        /// A command that prints the key; takes precedence over the variable.
        api_key_command: Hidden = "",
        /// Allows keys and conversations to be sent unencrypted to another machine.
        allow_plain_http: Flag = false,
        stream: Flag = true,
        /// Providers accept a connection within a second; after ten the network is down.
        connect_timeout_ms: Whole(100, DAY_MS) = 10_000,
        /// The longest silence within an answer.
        /// Before the first word of an answer to a full window a minute or two may pass, on a local model more;
        /// Claude Code waits as long on a silent stream.
        idle_timeout_ms: Whole(100, DAY_MS) = 300_000,
        /// One summary or one update of notes, including retries.
        /// The provider's own limit of a request that is not streamed, and longer than a person waits.
        deadline_ms: Whole(100, DAY_MS) = 600_000,
        /// Longest answer in tokens, at first and after one was cut off.
        /// Nine sections of a summary take 2,000 to 8,000 tokens, its analysis as much again.
        max_output: Whole(1, MOST_TOKENS) = 16_000,
        /// One retry with the longest answer of common models, then it fails.
        max_output_ceiling: Whole(1, MOST_TOKENS) = 64_000,
        /// `model` or `embedded`; without a provider both are embedded.
        summary: Either(STRATEGIES) = "model",
        notes: Either(STRATEGIES) = "model",
        /// Tokens per day (UTC), input and output, for all purposes; 0 is no limit.
        daily_tokens: Whole(0, 1 << 50) = 0,
        /// US dollars per day (UTC); 0 is no limit. Calls to models without a price do not count.
        daily_cost: Money = 0.0,
        /// US dollars per million tokens, of `name` and of `small_name`; 0: the built-in price.
        price_input: Money = 0.0,
        price_output: Money = 0.0,
        small_price_input: Money = 0.0,
        small_price_output: Money = 0.0,
    }
    /// Persistent memory, and the instruction files beside it.
    #[derive(Debug)]
    memory: MemorySettings {
        /// Directory of the projects' memories; empty: the layout's own.
        root: Text = "",
        /// `bethink` (below the home) or `claude` (Claude Code's own place, so that both share one memory).
        /// Another agent's files are only touched if the user says so.
        layout: Either(&["bethink", "claude"]) = "bethink",
        /// `model`, `embedded` or `off`; without a provider `model` is embedded.
        recall: Either(WHO_OR_NOBODY) = "model",
        extraction: Either(WHO_OR_NOBODY) = "model",
        dream: Either(WHO_OR_NOBODY) = "model",
        /// Hours between two dreams, and other sessions used in between.
        /// Specification, section 7: at most one consolidation a day, and only after enough was learnt.
        dream_hours: Whole(1, MANY) = 24,
        dream_sessions: Whole(0, MANY) = 5,
        /// Add instruction files to prompts.
        instructions: Flag = true,
    }
    /// Memory that several people share.
    #[derive(Debug)]
    team: TeamSettings {
        /// A folder that is shared by other means, for projects without their own; each has a folder in it. Empty:
        /// `team` in the project's memory.
        dir: Text = "",
        /// The repository that `team init` clones without `--remote`.
        remote: Text = "",
        /// How long git may wait for a remote.
        /// A team's memory has a few megabytes, so a slower remote is down.
        timeout_ms: Whole(100, DAY_MS) = 60_000,
    }
    /// Where the gateway forwards requests to. Keys are never settings here, either.
    gateway: GatewaySettings {
        /// What is added to prompts: `off`, `recall` or `full`. By default requests are not changed.
        inject: Either(&["off", "recall", "full"]) = "off",
        /// Scheme, host and port of another server; empty: the provider's own.
        anthropic_url: Hidden = "",
        /// The environment variable with the key, and the command that prints it; both empty: the client's own
        /// credentials are used.
        anthropic_key_env: Variable = "",
        anthropic_key_command: Hidden = "",
        openai_url: Hidden = "",
        openai_key_env: Variable = "",
        openai_key_command: Hidden = "",
        /// Allows keys and conversations to be sent unencrypted to another machine.
        allow_plain_http: Flag = false,
        /// The longest silence of a server, before and within an answer.
        /// As long as the official clients wait for an answer.
        idle_timeout_ms: Whole(100, DAY_MS) = 600_000,
        /// Providers accept requests of up to 32 MB, and should refuse larger ones in their own words.
        max_body_bytes: Whole(1_024, 1 << 32) = 40 << 20,
    }
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

/// A command can contain a secret in its arguments, and a URL in its credentials.
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
