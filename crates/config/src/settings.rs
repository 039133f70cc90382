//! Every setting once: its meaning, what is allowed, its default and the reason for that.

use std::fmt;
use std::path::PathBuf;

use crate::keys::{DAY_MS, KeyTarget, MANY, MOST_TOKENS, STRATEGIES, SettingKey, WHO_OR_NOBODY};

#[derive(Clone, Debug, Default, PartialEq)]
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

impl Settings {
    /// All defaults, with its state below `home`.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), ..Self::default() }
    }
}

/// `name: Kind(bounds) = default`; a kind is a variant of [`Place`].
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
        /// Filter of the log where `BETHINK_LOG` gives none.
        /// What a person wants to read of a daemon that is well.
        log: Text = "info",
        /// A turn with a dozen screenshots in base64 is about 40 MiB.
        max_body_bytes: Whole(1_024, 1 << 32) = 64 << 20,
        /// Recorded session files of months of work; far above any single one met so far.
        max_import_bytes: Whole(1_024, 1 << 40) = 1 << 30,
        /// The nesting that common JSON parsers take; tool inputs stay below twenty.
        max_depth: Whole(8, 1_000) = 128,
        /// Messages in one append: a whole recorded session fits, a runaway loop does not.
        max_messages: Whole(1, MANY) = 10_000,
        /// Half of the descriptors that a process usually may have (1,024), so that files still open.
        max_connections: Whole(1, 65_536) = 512,
        /// A local client sends its request head at once; ten seconds is a stuck one.
        header_timeout_ms: Whole(100, DAY_MS) = 10_000,
        /// Service managers kill after ten seconds at the earliest; half is left for closing the store.
        drain_ms: Whole(0, DAY_MS) = 5_000,
        allowed_hosts: Names = [],
        allowed_origins: Names = [],
        /// Bytes of messages kept ready in memory over all sessions.
        /// With the process itself this stays well below 120 MB after driving many sessions.
        hot_bytes: Whole(0, 1 << 40) = 24 << 20,
    }
    #[derive(Debug)]
    context: ContextSettings {
        /// Window of a session that names none: that of today's common models.
        window: Whole(1_000, MOST_TOKENS) = 200_000,
        /// Output of a session that names none: their longest answer without an extended-output option.
        max_output: Whole(1, MOST_TOKENS) = 32_000,
        /// Windows by the beginning of a model's name, for clients that don't tell theirs; the longest name counts.
        windows: Windows = [],
        /// One tool result that is longer is shown as a preview (specification, section 3).
        result_chars: Whole(100, MOST_TOKENS) = 50_000,
        /// All tool results of one user message together (specification, section 3).
        results_chars: Whole(100, MOST_TOKENS) = 200_000,
        snip: Flag = false,
        /// Providers drop a prompt cache after at most an hour: from then on clearing costs no cache.
        microcompact_idle_minutes: Whole(0, MANY) = 60,
        /// The newest re-obtainable results stay, since work goes on with them.
        microcompact_keep: Whole(0, MANY) = 5,
        /// Clears by count too when more re-obtainable results than this are shown; 0 is off.
        microcompact_above: Whole(0, MANY) = 0,
        /// Tools whose results can be had again by calling them again: those of Claude Code, then the
        /// names that other agents use.
        microcompact_tools: Names = [
            "Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "MultiEdit", "Write", "NotebookEdit", "LS",
            "read", "bash", "shell", "grep", "glob", "web_search", "web_fetch", "edit", "write",
        ],
        /// Lowers `auto` to this share of the effective window, in percent; 0 is off.
        auto_percent: Percent = 0.0,
        auto_compact: Flag = true,
        /// Old spans are shown as short texts, prepared in the background; while it is on, compaction waits
        /// until the window is full.
        collapse: Flag = false,
        /// How long the provider keeps a cached prompt that nobody asks for: five minutes unless an hour is paid for.
        cache_ttl_minutes: Whole(1, MANY) = 5,
    }
    /// The notes of sessions.
    #[derive(Debug)]
    session_memory: SessionMemorySettings {
        /// Notes are taken by themselves; asked for, they are taken in any case.
        enabled: Flag = true,
        /// `default` or `frugal`.
        /// Notes cost no model call unless one is configured: they are kept fresh.
        profile: Either(&["default", "frugal"]) = "default",
        /// A template other than `session-memory/config/template.md` of the home; empty for that one.
        template: Text = "",
        /// An instruction other than `session-memory/config/prompt.md`; empty for that one.
        prompt: Text = "",
    }
    #[derive(Debug)]
    compact: CompactSettings {
        /// Newest messages that a compaction keeps as they are (specification, section 4): at least this
        /// many tokens and messages, at most `keep_max_tokens`.
        keep_min_tokens: Whole(0, MOST_TOKENS) = 10_000,
        keep_min_messages: Whole(0, MANY) = 5,
        keep_max_tokens: Whole(0, MOST_TOKENS) = 40_000,
        /// What users said is kept word for word up to this size.
        user_message_tokens: Whole(0, MOST_TOKENS) = 20_000,
        /// Files read last that stand again after a boundary, each and together.
        restore_files: Whole(0, MANY) = 5,
        restore_file_tokens: Whole(0, MOST_TOKENS) = 5_000,
        restore_files_tokens: Whole(0, MOST_TOKENS) = 50_000,
        /// Invoked skills, each and together.
        restore_skill_tokens: Whole(0, MOST_TOKENS) = 5_000,
        restore_skills_tokens: Whole(0, MOST_TOKENS) = 25_000,
        /// Failures in a row after which automatic compaction stops.
        max_failures: Whole(1, MANY) = 3,
        /// So many compactions, each within so many turns of the last, are thrashing.
        thrash_turns: Whole(1, MANY) = 3,
        thrash_times: Whole(1, MANY) = 3,
    }
    /// The model that summaries, notes and collapses are asked of. Keys are never settings: only the name of
    /// the variable, or the command, that gives one.
    model: ModelSettings {
        /// `none`, `anthropic` (Messages API) or `openai` (chat completions, also of local servers).
        /// Nothing leaves the machine unless a person names a provider.
        provider: Either(&["none", "anthropic", "openai"]) = "none",
        /// Scheme, host and port of another server than the provider's own; empty for that one.
        base_url: Text = "",
        /// Empty: each session's own model.
        name: Text = "",
        /// For notes; empty: as `name`.
        small_name: Text = "",
        /// The environment variable that holds the key; empty: the provider's usual one, for the provider's own server
        /// alone.
        api_key_env: Variable = "",
        /// A command that prints the key; it goes before the variable.
        api_key_command: Hidden = "",
        /// Lets a key and a conversation go unencrypted to another machine.
        allow_plain_http: Flag = false,
        stream: Flag = true,
        /// A provider's front answers a connection within a second; ten are a network that is down.
        connect_timeout_ms: Whole(100, DAY_MS) = 10_000,
        /// The longest silence within an answer.
        /// Before the first word of an answer to a full window a minute or two may pass, on a local model more;
        /// Claude Code waits as long on a silent stream.
        idle_timeout_ms: Whole(100, DAY_MS) = 300_000,
        /// One summary or one update of notes, with all that is tried for it.
        /// The provider's own limit of a request that is not streamed, and longer than a person waits.
        deadline_ms: Whole(100, DAY_MS) = 600_000,
        /// Tokens that an answer may have at first, and at most when it was cut off.
        /// Nine sections of a summary take 2,000 to 8,000 tokens, its analysis as much again.
        max_output: Whole(1, MOST_TOKENS) = 16_000,
        /// Once more with the room that today's common models allow, then it is given up.
        max_output_ceiling: Whole(1, MOST_TOKENS) = 64_000,
        /// `model` or `embedded`; without a provider all is embedded.
        /// Who configures a model wants it used.
        summary: Either(STRATEGIES) = "model",
        notes: Either(STRATEGIES) = "model",
        /// Tokens of a day (UTC), read and written, over all purposes; 0 is no limit.
        daily_tokens: Whole(0, 1 << 50) = 0,
        /// US dollars of a day (UTC); 0 is no limit. Calls of models without a price cost nothing here.
        daily_cost: Money = 0.0,
        /// US dollars for a million tokens, of `name` and of `small_name`; 0: as the built-in table has it.
        price_input: Money = 0.0,
        price_output: Money = 0.0,
        small_price_input: Money = 0.0,
        small_price_output: Money = 0.0,
    }
    /// Persistent memory, and the instruction files beside it.
    #[derive(Debug)]
    memory: MemorySettings {
        /// Where the projects' memories lie; empty for the layout's own place.
        root: Text = "",
        /// `bethink` (below the home) or `claude` (Claude Code's own place, so that both share one memory).
        /// bethink's own place: another agent's files are touched only when a person says so.
        layout: Either(&["bethink", "claude"]) = "bethink",
        /// `model`, `embedded` or `off`; without a provider `model` is embedded.
        /// Who configures a model wants it used.
        recall: Either(WHO_OR_NOBODY) = "model",
        extraction: Either(WHO_OR_NOBODY) = "model",
        dream: Either(WHO_OR_NOBODY) = "model",
        /// Hours from one dream to the next, and other sessions touched in between.
        /// Specification, section 7: at most one consolidation a day, and only after enough was learnt.
        dream_hours: Whole(1, MANY) = 24,
        dream_sessions: Whole(0, MANY) = 5,
        /// Instruction files stand in prompts.
        instructions: Flag = true,
    }
    /// Memory that several people share.
    #[derive(Debug)]
    team: TeamSettings {
        /// A folder that is shared by other means, for every project without one of its own; each project has a
        /// folder in it. Empty: `team` in the project's memory.
        dir: Text = "",
        /// Where `team init` clones from when it is told no other place.
        remote: Text = "",
        /// How long git may wait for a remote.
        /// A team's memory has a few megabytes: a remote that takes longer does not answer.
        timeout_ms: Whole(100, DAY_MS) = 60_000,
    }
    /// Where the requests of clients go that ask their model through the daemon. Keys are never settings here either.
    gateway: GatewaySettings {
        /// What of the memory is put into prompts: `off`, `recall` or `full`.
        /// A request says what the client said, and nothing else, until a person wants more.
        inject: Either(&["off", "recall", "full"]) = "off",
        /// Scheme, host and port of another server than the provider's own; empty for that one.
        anthropic_url: Hidden = "",
        /// The environment variable that holds the key, and the command that prints it; both empty: the client's own
        /// credential goes up.
        anthropic_key_env: Variable = "",
        anthropic_key_command: Hidden = "",
        openai_url: Hidden = "",
        openai_key_env: Variable = "",
        openai_key_command: Hidden = "",
        /// Lets keys and conversations go unencrypted to another machine.
        allow_plain_http: Flag = false,
        /// The longest silence of a server, before and within an answer.
        /// As long as the official clients wait for an answer by themselves.
        idle_timeout_ms: Whole(100, DAY_MS) = 600_000,
        /// The largest request that a provider takes has 32 MB; what is over it is better refused by the provider, in its
        /// own words.
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
