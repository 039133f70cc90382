//! All settings: their meaning, allowed values and defaults, with the reasons for the defaults.

use std::fmt;
use std::path::PathBuf;

use crate::keys::{DAY_MS, KeyTarget, MANY, MAX_TOKENS, STRATEGIES, SettingKey, WHO_OR_NOBODY};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The directory with all data.
    pub home: PathBuf,
    pub daemon: DaemonSettings,
    pub store: StoreSettings,
    pub context: ContextSettings,
    pub compact: CompactSettings,
    pub session_memory: SessionMemorySettings,
    pub model: ModelSettings,
    pub memory: MemorySettings,
    pub team: TeamSettings,
    pub gateway: GatewaySettings,
    pub capture: CaptureSettings,
    /// The user's home directory, where agents keep their files. `None` if HOME is not set.
    pub person: Option<PathBuf>,
}

impl Settings {
    /// Returns the default settings with this home.
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
    (Paths) => { Vec<String> };
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
    (Paths, $paths:expr) => {
        ($paths as [&str; _]).map(str::to_owned).to_vec()
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
        /// A loopback address, or `auto`: the port of 127.0.0.1 that the home chose at its first start, 4747 if that one was
        /// free.
        listen: Listen = "auto",
        /// Whether to listen on the Unix socket `$BETHINK_HOME/daemon.sock` as well.
        socket: Flag = true,
        /// Filter of the log, unless `BETHINK_LOG` is set.
        log: LogFilter = "info",
        /// Maximum size of a request, in bytes. A turn with a dozen screenshots in base64 takes about 40 MiB.
        max_body_bytes: Whole(1_024, 1 << 32) = 64 << 20,
        /// Maximum total size of the request bodies that are read or handled at the same time, apart from small ones.
        /// Handling takes several times as much memory. A larger body is admitted alone.
        in_flight_bytes: Whole(1_024, (1 << 32) - 1) = 64 << 20,
        /// Maximum size of an imported file: far above that of any known session file.
        max_import_bytes: Whole(1_024, 1 << 40) = 1 << 30,
        /// Maximum nesting depth of JSON: that of common JSON parsers. Tool inputs are less than 20 levels deep.
        max_depth: Whole(8, 1_000) = 128,
        /// Maximum number of messages in one append: enough for a whole session, but not for a runaway loop.
        max_messages: Whole(1, MANY) = 10_000,
        /// Maximum number of TCP connections of clients with a token. In addition, a quarter as many connections may be
        /// without a token, and a quarter as many may use the socket: together three quarters of the usual limit of
        /// file descriptors (1,024), so that files can still be opened.
        max_connections: Whole(1, 65_536) = 512,
        /// Maximum time for the headers of a request, and maximum time for which a connection may be idle. A local client
        /// sends its headers at once, so one that takes longer is stuck.
        header_timeout_ms: Whole(100, DAY_MS) = 10_000,
        /// How long open requests may still run once the daemon is asked to stop. Service managers kill a process after ten
        /// seconds at the earliest; the rest of that time is for closing the store.
        drain_ms: Whole(0, DAY_MS) = 5_000,
        allowed_hosts: Names = [],
        allowed_origins: Names = [],
        /// Maximum size, in bytes, of the messages in memory, for all sessions. Sessions in use may exceed it.
        hot_bytes: Whole(0, 1 << 40) = 24 << 20,
    }
    /// Where history is stored.
    store: StoreSettings {
        /// A PostgreSQL database, such as `postgres://ann@db.example.org/bethink`. If empty, an SQLite file in the home.
        url: Database = "",
        /// A command that prints the database's password; takes precedence over the file, and the file over the URL.
        password_command: Hidden = "",
        /// A file that contains the database's password.
        password_file: Text = "",
    }
    #[derive(Debug)]
    context: ContextSettings {
        /// Context window of a session whose client sends none: that of common models.
        window: Whole(1_000, MAX_TOKENS) = 200_000,
        /// Maximum length of an answer in a session whose client sends no limit: that of common models.
        max_output: Whole(1, MAX_TOKENS) = 32_000,
        /// Context windows by the beginning of a model's name, for clients that do not send theirs. The longest match
        /// wins.
        windows: Windows = [],
        /// Maximum size of a tool result, in characters. A larger one is shown as a preview.
        result_chars: Whole(100, MAX_TOKENS) = 50_000,
        /// Maximum total size of the tool results in one user message, in characters.
        results_chars: Whole(100, MAX_TOKENS) = 200_000,
        snip: Flag = false,
        /// Old tool results are cleared after a pause this long. Providers drop a prompt cache after at most an hour, so
        /// clearing results then costs nothing.
        microcompact_idle_minutes: Whole(0, MANY) = 60,
        /// Number of the newest results that are kept, because they are probably still in use.
        microcompact_keep: Whole(0, MANY) = 5,
        /// Also clears old results when the prompt shows more than this many results that can be obtained again; 0
        /// turns this off.
        microcompact_above: Whole(0, MANY) = 0,
        /// Tools whose results can be obtained again by another call, by kind or by name. Every agent's tool of a kind
        /// counts: `read` is also Gemini's `read_file` and `mcp__fs__read_file`. The kinds are `read`, `search`,
        /// `shell`, `web`, `edit` and `write`.
        microcompact_tools: Names = ["read", "search", "shell", "web", "edit", "write"],
        /// Tools whose results are always shown in full: a preview of a file makes the model read it again.
        preview_exempt_tools: Names = ["read"],
        /// Compacts at this percentage of the effective window, if that is earlier than usual; 0 turns this off.
        auto_percent: Percent = 0.0,
        auto_compact: Flag = true,
        /// Shows old spans as short texts that are prepared in the background. Compaction then waits until the window
        /// is full.
        collapse: Flag = false,
        /// How long the provider keeps an unused prompt cache: five minutes, unless the client pays for an hour.
        cache_ttl_minutes: Whole(1, MANY) = 5,
    }
    /// The notes of sessions.
    #[derive(Debug)]
    session_memory: SessionMemorySettings {
        /// Whether notes are taken in the background. `bethink notes update` always works.
        enabled: Flag = true,
        /// How often notes are updated: `default`, or `frugal` for a quarter as often.
        profile: Either(&["default", "frugal"]) = "default",
        /// The template file. If empty, `session-memory/config/template.md` in the home.
        template: Text = "",
        /// The file with the instruction for the model. If empty, `session-memory/config/prompt.md` in the home.
        prompt: Text = "",
    }
    #[derive(Debug)]
    compact: CompactSettings {
        /// How much of the newest messages a compaction keeps unchanged: at least this many tokens and messages, and at
        /// most `keep_max_tokens`.
        keep_min_tokens: Whole(0, MAX_TOKENS) = 10_000,
        keep_min_messages: Whole(0, MANY) = 5,
        keep_max_tokens: Whole(0, MAX_TOKENS) = 40_000,
        /// Maximum number of tokens of the user's own messages that are kept word for word.
        user_message_tokens: Whole(0, MAX_TOKENS) = 20_000,
        /// The files that were read last are shown again after a compaction: their maximum number, and the maximum sizes of
        /// each and of all together.
        restore_files: Whole(0, MANY) = 5,
        restore_file_tokens: Whole(0, MAX_TOKENS) = 5_000,
        restore_files_tokens: Whole(0, MAX_TOKENS) = 50_000,
        /// The same sizes for skills that were used.
        restore_skill_tokens: Whole(0, MAX_TOKENS) = 5_000,
        restore_skills_tokens: Whole(0, MAX_TOKENS) = 25_000,
        /// Automatic compaction stops after this many failures in a row.
        max_failures: Whole(1, MANY) = 3,
        /// Compactions count as thrashing if `thrash_times` of them in a row come at most `thrash_turns` turns after the
        /// previous one.
        thrash_turns: Whole(1, MANY) = 3,
        thrash_times: Whole(1, MANY) = 3,
    }
    /// The model that bethink calls for its own purposes, such as summaries, notes and extraction. API keys are not settings;
    /// only the variable or command that provides a key is.
    model: ModelSettings {
        /// `none`, `anthropic` (Messages API) or `openai` (chat completions, also of local servers).
        /// With `none`, bethink itself sends no part of a session to a model.
        provider: Either(&["none", "anthropic", "openai"]) = "none",
        /// Scheme, host, port and path prefix of another server. If empty, the provider's own.
        base_url: Url = "",
        /// The model's name. If empty, each session's own model is used.
        name: Text = "",
        /// The model for notes and recall. If empty, `name` is used.
        small_name: Text = "",
        /// The environment variable with the key. If empty, the provider's usual one, but only for its own server.
        api_key_env: Variable = "",
        /// A command that prints the key; takes precedence over the variable.
        api_key_command: Hidden = "",
        /// Allows keys and conversations to be sent unencrypted to another machine.
        allow_plain_http: Flag = false,
        stream: Flag = true,
        /// Providers accept a connection within a second. After ten seconds, the network is probably down.
        connect_timeout_ms: Whole(100, DAY_MS) = 10_000,
        /// Maximum pause within an answer. With a full window, the first word may take a minute or two, and longer with
        /// a local model. Claude Code has the same limit for streams.
        idle_timeout_ms: Whole(100, DAY_MS) = 300_000,
        /// Maximum time for one task of the model, such as a summary, including retries. It is the providers' own limit
        /// for a request that is not streamed, and longer than a person waits.
        deadline_ms: Whole(100, DAY_MS) = 600_000,
        /// Maximum length of an answer, in tokens. The nine sections of a summary take 2,000 to 8,000 tokens, and its
        /// analysis as many again.
        max_output: Whole(1, MAX_TOKENS) = 16_000,
        /// Maximum length of an answer, in tokens, for a retry after the first one was cut off: that of common models.
        max_output_ceiling: Whole(1, MAX_TOKENS) = 64_000,
        /// `model` or `embedded`. Without a provider, `model` means `embedded`.
        summary: Either(STRATEGIES) = "model",
        notes: Either(STRATEGIES) = "model",
        /// Maximum number of tokens per day (UTC), input and output, for all purposes; 0 means no limit.
        daily_tokens: Whole(0, 1 << 50) = 0,
        /// Maximum cost per day (UTC), in US dollars; 0 means no limit. Calls to models without a price do not count.
        daily_cost: Money = 0.0,
        /// Prices of `name` and `small_name`, in US dollars per million tokens. If a price is 0, the built-in one is used.
        price_input: Money = 0.0,
        price_output: Money = 0.0,
        small_price_input: Money = 0.0,
        small_price_output: Money = 0.0,
    }
    /// Memory directories and instruction files.
    #[derive(Debug)]
    memory: MemorySettings {
        /// The directory of all projects' memories. If empty, the layout's default.
        root: Directory = "",
        /// `bethink` (in the home) or `claude` (Claude Code's own directories, so that both share one memory). Another
        /// agent's files are only changed if the user chooses this.
        layout: Either(&["bethink", "claude"]) = "bethink",
        /// `model`, `embedded` or `off`. Without a provider, `model` means `embedded`.
        recall: Either(WHO_OR_NOBODY) = "model",
        extraction: Either(WHO_OR_NOBODY) = "model",
        dream: Either(WHO_OR_NOBODY) = "model",
        /// Minimum number of hours, and of other sessions, between two consolidations: at most one a day, and only
        /// after enough new sessions.
        dream_hours: Whole(1, MANY) = 24,
        dream_sessions: Whole(0, MANY) = 5,
        /// Whether instruction files are added to prompts.
        instructions: Flag = true,
        /// Whether to load instruction files from directories above the project's root as well, as Claude Code does.
        /// Off by default, because other people may write to such directories, for example `/tmp`.
        instructions_above: Flag = false,
    }
    /// Memory that several people share.
    #[derive(Debug)]
    team: TeamSettings {
        /// A folder that people share without git, for example with a program that synchronizes files. The folder has a
        /// subfolder for each project that has no folder of its own. If empty, `team` in the project's memory.
        dir: Directory = "",
        /// The repository that `team init` clones if `--remote` is not given.
        remote: Text = "",
        /// How long git may wait for a remote. A team's memory has only a few megabytes, so a slower remote is probably
        /// down.
        timeout_ms: Whole(100, DAY_MS) = 60_000,
        /// What happens to secrets in history that is shared with the team: each is removed (`redact`), nothing of its message is
        /// shared (`hold`), or they are shared, too (`allow`).
        history_secrets: Either(&["redact", "hold", "allow"]) = "redact",
    }
    /// Which projects and transcripts are recorded.
    #[derive(Debug)]
    capture: CaptureSettings {
        /// Projects and transcripts below these paths are neither recorded nor learned from.
        exclude: Paths = [],
    }
    /// Where the gateway forwards requests. Here, too, API keys are not settings.
    gateway: GatewaySettings {
        /// What is added to prompts: `off`, `recall` or `full`. By default, requests are not changed.
        inject: Either(&["off", "recall", "full"]) = "off",
        /// Which model writes the summaries of the gateway's sessions: the one in `[model]` (`model`), or the client's
        /// own, with the key of the client's current request (`client`). The client pays for it, so it is off by
        /// default.
        compaction: Either(&["model", "client"]) = "model",
        /// Scheme, host and port of another server. If empty, the provider's own.
        anthropic_url: Url = "",
        /// The environment variable with the key, or the command that prints it. If both are empty, the client's own
        /// credentials are used.
        anthropic_key_env: Variable = "",
        anthropic_key_command: Hidden = "",
        openai_url: Url = "",
        openai_key_env: Variable = "",
        openai_key_command: Hidden = "",
        gemini_url: Url = "",
        gemini_key_env: Variable = "",
        gemini_key_command: Hidden = "",
        /// Allows keys and conversations to be sent unencrypted to another machine.
        allow_plain_http: Flag = false,
        /// Maximum time without data from a server, before and during an answer: as long as the official clients wait.
        idle_timeout_ms: Whole(100, DAY_MS) = 600_000,
        /// Maximum size of a request, in bytes. Providers accept up to 32 MB; they should reject somewhat larger ones
        /// themselves.
        max_body_bytes: Whole(1_024, 1 << 32) = 40 << 20,
    }
}

impl ContextSettings {
    /// Returns the context window that `windows` gives for a model.
    pub fn window_of(&self, model: &str) -> Option<u64> {
        let fitting = self.windows.iter().filter(|(start, _)| model.starts_with(start.as_str()));
        fitting.max_by_key(|(start, _)| start.len()).map(|(_, window)| *window)
    }
}

impl ModelSettings {
    /// Returns whether a provider is configured.
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

/// Leaves out the URL and the command, which may contain a secret.
impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_url = !self.url.is_empty();
        f.debug_struct("StoreSettings").field("has_url", &has_url).finish_non_exhaustive()
    }
}

/// Leaves out commands and URLs, which may contain a secret.
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
