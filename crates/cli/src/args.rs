//! The arguments of every command. The names of arguments are part of the public contract.

mod memory;
mod session;
mod start;
mod store;
mod team;
mod team_history;
mod window;
mod words;

use std::path::PathBuf;

use bethink_terminal::TerminalLook;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use memory::{
    AddMemory, AllowSecret, CandidatesArgs, CandidatesCommand, InstructionsArgs,
    InstructionsCommand, KeepCandidates, MemoryCommand, OfTeam, OneMemory, Recall, RecallCommand,
    RememberArgs,
};
pub(crate) use session::{
    HistoryArgs, ListSessions, NewSessionArgs, NotesCommand, Search, SessionCommand,
};
pub(crate) use start::{ConfigCommand, Demo, TokenCommand};
pub(crate) use store::StoreCommand;
pub(crate) use team::TeamCommand;
pub(crate) use team_history::TeamHistoryCommand;
pub(crate) use window::{Compact, Expand};

const AFTER_HELP: &str = "\
SESSION is an id, a unique prefix or suffix of one, `last`, which is the
newest session of the nearest directory with sessions, or `pick`, which
lets you choose from a list.
`bethink COMMAND --help` explains a command and shows an example.

Exit codes: 0 success, 1 failure, 2 usage error, 3 daemon unreachable.";

/// Gives your coding agent a memory
#[derive(Debug, Parser)]
#[command(name = "bethink", version, after_help = AFTER_HELP, propagate_version = false)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Output JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only the result: no hints, no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// The project's directory [default: the current one]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The session to use: an id (a unique prefix or suffix is enough), `last`, or `pick` to choose from a list [default: last, if a session is needed]
    #[arg(long, global = true, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Do not use a pager ($PAGER, or `less` if it is not set) for long output
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// When to use color; `auto` uses it on a terminal unless NO_COLOR is set [default: auto]
    #[arg(long, global = true, value_name = "WHEN", hide_default_value = true)]
    #[arg(default_value = "auto", value_enum)]
    pub(crate) color: ColorChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    pub(crate) fn of(self, look: TerminalLook) -> TerminalLook {
        match self {
            Self::Auto => look,
            Self::Always => TerminalLook { colour: true, ..look },
            Self::Never => TerminalLook { colour: false, ..look },
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Replay a recorded session in a small context window
    #[command(after_help = "Example: bethink demo --window 60000")]
    Demo(Demo),
    /// Start the daemon
    #[command(after_help = "Example: bethink up --install --dry-run")]
    Up {
        /// Also start the daemon at login: installs a systemd user unit, or a launch agent on macOS
        #[arg(long)]
        install: bool,
        /// Show what --install would write and run, without doing it
        #[arg(long, requires = "install")]
        dry_run: bool,
    },
    /// Stop the daemon
    #[command(after_help = "Example: bethink down --uninstall")]
    Down {
        /// Also remove the login service that `up --install` installed
        #[arg(long)]
        uninstall: bool,
        /// Show what --uninstall would remove, without removing it
        #[arg(long, requires = "uninstall")]
        dry_run: bool,
    },
    /// Stop recording and learning for a while
    #[command(after_help = "Example: bethink pause --for 2h")]
    Pause {
        /// Length of the pause, such as 30min, 2h or 1d [default: until you run `bethink resume`]
        #[arg(long = "for", value_name = "TIME")]
        span: Option<String>,
    },
    /// Resume recording and learning
    #[command(after_help = "Example: bethink resume")]
    Resume,
    /// Show whether the daemon is running, and where
    #[command(after_help = "Example: bethink status --json")]
    Status,
    /// Find problems and suggest fixes
    #[command(after_help = "Example: bethink doctor")]
    Doctor,
    /// Open the dashboard in a browser
    #[command(after_help = "Example: bethink dashboard --print")]
    Dashboard {
        /// Print the dashboard's URL instead; the URL works once and expires after a minute
        #[arg(long)]
        print: bool,
    },
    /// List, read and change settings
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink config set memory.layout claude")]
    Config(ConfigCommand),
    /// Show the gateway's base URLs for Anthropic, OpenAI and Gemini
    #[command(after_help = "Example: bethink gateway --project ~/src/app")]
    Gateway,
    /// Replace the token that gives programs access to the daemon
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink token rotate")]
    Token(TokenCommand),
    /// Show the daemon's log
    #[command(after_help = "Example: bethink logs -n 200 --follow")]
    Logs {
        /// Show new lines as they are written
        #[arg(long, short)]
        follow: bool,
        /// Show only the last COUNT lines
        #[arg(long, short = 'n', default_value_t = 50, value_name = "COUNT")]
        lines: usize,
    },
    /// Create, list and change sessions
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink session ls --all")]
    Session(SessionCommand),
    /// Start an agent that continues the work of a session
    ///
    /// The agent runs in the session's directory. Its prompt contains the session's open todos, notes and last messages.
    /// The agent need not be the one that recorded the session.
    #[command(after_help = "Example: bethink continue codex")]
    Continue {
        /// The agent: claude-code, codex, gemini, qwen or opencode
        agent: String,
        /// Print the prompt instead of starting the agent
        #[arg(long)]
        print: bool,
    },
    /// Show what fills the context window
    #[command(after_help = "Example: bethink context --session last")]
    Context {
        /// Show only the number of tokens, as counted by the provider (requires a configured model)
        #[arg(long)]
        count: bool,
    },
    /// Summarize the older part of a session now
    #[command(after_help = "Example: bethink compact --instructions 'keep the failing tests'")]
    Compact(Compact),
    /// List the compactions of a session
    #[command(after_help = "Example: bethink compactions --session last")]
    Compactions,
    /// List old messages that are, or can be, replaced by a short text
    #[command(after_help = "Example: bethink collapses --session last")]
    Collapses,
    /// Undo a compaction: prompts contain the original messages again
    #[command(after_help = "Example: bethink undo")]
    Undo {
        /// A compaction id (a unique prefix or suffix is enough) [default: the newest compaction]
        compaction: Option<String>,
    },
    /// Show the messages behind a summary or a collapsed span
    #[command(after_help = "Example: bethink expand --search 'retry limit'")]
    Expand(Expand),
    /// Show a session's messages, including summarized ones
    #[command(after_help = "Example: bethink history -n 50 --full")]
    History(HistoryArgs),
    /// Search the project's sessions, including summarized messages
    #[command(after_help = "Example: bethink search 'failing test' --since 2d")]
    Search(Search),
    /// Show, edit or update a session's notes
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink notes show")]
    Notes(NotesCommand),
    /// Show a session's todo list
    #[command(after_help = "Example: bethink todo")]
    Todo,
    /// Find memories that help with a question
    #[command(after_help = "Example: bethink recall 'how do we deploy?'")]
    Recall(Recall),
    /// Remember something for later sessions of the project
    #[command(after_help = "Example: bethink remember 'We deploy with make ship, never by hand.'")]
    Remember(RememberArgs),
    /// Tidy the project's memory: merge duplicates, mark outdated text
    #[command(after_help = "Example: bethink dream --dry-run")]
    Dream {
        /// Show what would change without changing it
        #[arg(long)]
        dry_run: bool,
        /// Undo the last consolidation, except in topics that have changed since
        #[arg(long, conflicts_with = "dry_run")]
        undo: bool,
        /// Consolidate your own memory, which applies to all projects
        #[arg(long)]
        me: bool,
    },
    /// List, write and repair the project's memories
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink memory ls")]
    Memory(MemoryCommand),
    /// Share memory with others through a git repository or a folder
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink team sync")]
    Team(TeamCommand),
    /// Show which instruction files are loaded here, and why
    #[command(after_help = "Example: bethink instructions --touch src/main.rs")]
    Instructions(InstructionsArgs),
    /// Show bethink's own model calls and what they cost
    #[command(after_help = "Example: bethink usage --since 1w")]
    Usage {
        /// Show only calls since a date (2026-11-20) or time (2026-11-20T09:00:00Z), or newer than an age (90min, 3h, 2d, 1w)
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
    },
    /// Import sessions that your agents recorded
    ///
    /// Reads the sessions of Claude Code, Codex, Gemini CLI, Qwen Code, opencode, pi, Cline and Continue.
    #[command(after_help = "Example: bethink import --agent codex --yes")]
    Import {
        /// Session files, or directories of JSONL files [default: the sessions of all agents on this machine]
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Import only this agent's sessions; PATH, if given, is the agent's session directory or database
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Show what would be imported without importing it; if PATH is given, --agent is required
        #[arg(long)]
        dry_run: bool,
        /// Import without asking
        #[arg(long, short)]
        yes: bool,
    },
    /// Write a session as JSONL
    #[command(after_help = "Example: bethink export --output session.jsonl")]
    Export {
        /// A session id (a unique prefix or suffix is enough), `last` for the newest, or `pick` to choose from a list [default: --session, else last]
        #[arg(value_name = "SESSION")]
        which: Option<String>,
        /// Write to this file instead of stdout; the file appears only when it is complete
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Replay a recorded session; show prompt sizes and compactions
    ///
    /// If a model is configured, it is called as in any other session, for summaries, notes and recall; its calls may cost money.
    /// To replay without it, set BETHINK_MODEL__PROVIDER=none when you start the daemon.
    #[command(after_help = "Example: bethink replay session.jsonl --window 60000")]
    Replay(Replay),
    /// Add bethink to an agent's settings
    ///
    /// Adds the MCP server, and also hooks if bethink uses hooks with that agent. With --project DIR, changes that project's
    /// settings instead of your own. In settings files that you share with others, the command is `bethink`, without its path.
    #[command(after_help = "Example: bethink install claude-code --dry-run")]
    Install {
        /// The agent: claude-code, codex, cursor, vscode, zed, gemini, opencode, claude-desktop, copilot, windsurf, cline, roo,
        /// qwen, kiro or amp [default: list the agents on this machine, and ask]
        agent: Option<String>,
        /// Install bethink for all agents on this machine without asking
        #[arg(long, short)]
        yes: bool,
        /// Show what would change without changing it
        #[arg(long)]
        dry_run: bool,
        /// Also send the agent's model calls through bethink's gateway
        #[arg(long)]
        gateway: bool,
    },
    /// Remove what `install` added to an agent's settings
    #[command(after_help = "Example: bethink uninstall claude-code")]
    Uninstall {
        /// One of the agents that `install` supports
        agent: String,
        /// Show what would change without changing it
        #[arg(long)]
        dry_run: bool,
    },
    /// Copy history between a home and PostgreSQL, or check it
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink store check")]
    Store(StoreCommand),
    /// Pass an agent's hook event to the daemon (JSON on stdin)
    #[command(
        disable_help_flag = true,
        after_help = "Example: bethink hook session-start < event.json"
    )]
    Hook {
        /// The event: session-start, prompt-submit, post-tool-use, pre-compact, stop, subagent-stop or session-end
        #[arg(num_args = 0.., allow_hyphen_values = true, trailing_var_arg = true, value_name = "EVENT")]
        words: Vec<std::ffi::OsString>,
    },
    /// Serve MCP over stdin and stdout
    #[command(after_help = "Example: claude mcp add bethink -- bethink mcp")]
    Mcp,
    /// Show how to update bethink
    #[command(after_help = "Example: bethink upgrade")]
    Upgrade,
    /// Print a completion script for a shell
    #[command(
        after_help = "Example: bethink completions bash > ~/.local/share/bash-completion/completions/bethink"
    )]
    Completions { shell: Shell },
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A Claude Code session file (JSONL)
    pub(crate) file: PathBuf,
    /// Size of the model's context window, in tokens
    #[arg(long, default_value_t = 200_000, value_name = "TOKENS")]
    pub(crate) window: u64,
    /// Maximum length of the model's answer, in tokens
    #[arg(long, default_value_t = 8_000, value_name = "TOKENS")]
    pub(crate) max_output: u64,
    /// Build and check a prompt only every N turns, which is faster
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) every: u64,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_options_may_be_anywhere() {
        for line in
            ["bethink --json --session last context", "bethink context --session last --json"]
        {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.global.json && cli.global.session.as_deref() == Some("last"), "{line}");
        }
    }
}
