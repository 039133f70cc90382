//! The arguments of every command. Their names are part of the public contract.

mod memory;

use std::path::PathBuf;

use bethink_api::{SummaryLevel, parse_word};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use serde::de::DeserializeOwned;

pub(crate) use memory::{AddMemory, MemoryCommand, OfTeam, OneMemory, Recall, RememberArgs};

const AFTER_HELP: &str = "\
SESSION is an id, a unique beginning or end of one, or `last`: the newest session of the project.
`bethink COMMAND --help` explains a command and shows an example.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the daemon could not be reached.";

/// The words of a closed set, as JSON has them.
fn words<T>(all: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(all).try_map(|word| parse_word(&word).ok_or("unknown value"))
}

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
    /// The session to work on [default: last]
    #[arg(long, global = true, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Do not show long output in $PAGER
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Watch a recorded session play into a small context window
    #[command(after_help = "Example: bethink demo --window 60000")]
    Demo(Demo),
    /// Start the daemon
    #[command(after_help = "Example: bethink up --install --dry-run")]
    Up {
        /// Also start it at login: installs a systemd user unit, or a launch agent on macOS
        #[arg(long)]
        install: bool,
        /// With --install: show what would be written and run
        #[arg(long, requires = "install")]
        dry_run: bool,
    },
    /// Stop the daemon
    #[command(after_help = "Example: bethink down --uninstall")]
    Down {
        /// Also stop starting at login: undoes `up --install`
        #[arg(long)]
        uninstall: bool,
        /// With --uninstall: show what would be removed
        #[arg(long, requires = "uninstall")]
        dry_run: bool,
    },
    /// Show whether the daemon is running, and where
    #[command(after_help = "Example: bethink status --json")]
    Status,
    /// Find problems and say how to fix them
    #[command(after_help = "Example: bethink doctor")]
    Doctor,
    /// Open the dashboard in a browser
    #[command(after_help = "Example: bethink dashboard --print")]
    Dashboard {
        /// Print the URL instead; it logs in one browser, once, and expires in a minute
        #[arg(long)]
        print: bool,
    },
    /// List, read and change settings
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink config set memory.layout claude")]
    Config(ConfigCommand),
    /// Show the base URLs to set in Anthropic and OpenAI clients
    #[command(after_help = "Example: bethink gateway --project ~/src/app")]
    Gateway,
    /// Show the daemon's log
    #[command(after_help = "Example: bethink logs -n 200 --follow")]
    Logs {
        /// Keep showing new lines
        #[arg(long, short)]
        follow: bool,
        /// How many of the last lines to show
        #[arg(long, short = 'n', default_value_t = 50, value_name = "LINES")]
        lines: usize,
    },
    /// Create, list and change sessions
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink session ls --all")]
    Session(SessionCommand),
    /// Show what fills the context window
    #[command(after_help = "Example: bethink context --session last")]
    Context {
        /// Ask the provider to count the tokens (needs a configured model)
        #[arg(long)]
        count: bool,
    },
    /// Summarize the older part of a session now
    #[command(after_help = "Example: bethink compact --instructions 'keep the failing tests'")]
    Compact(Compact),
    /// List the compactions of a session
    #[command(after_help = "Example: bethink compactions --session last")]
    Compactions,
    /// List the spans that are, or can be, shown as short texts
    #[command(after_help = "Example: bethink collapses --session last")]
    Collapses,
    /// Undo a compaction: the prompt shows the messages again
    #[command(after_help = "Example: bethink undo")]
    Undo {
        /// Compaction id, or a unique part of it [default: the newest]
        compaction: Option<String>,
    },
    /// Show the messages behind a summary or a collapsed span
    #[command(after_help = "Example: bethink expand --search 'retry limit'")]
    Expand(Expand),
    /// Show a session's messages, before and after compactions
    #[command(after_help = "Example: bethink history -n 50 --full")]
    History(HistoryArgs),
    /// Search a session or a project, before and after compactions
    #[command(after_help = "Example: bethink search 'failing test' --all --since 2d")]
    Search(Search),
    /// Show, edit or update a session's notes
    #[command(subcommand, arg_required_else_help = true)]
    #[command(after_help = "Example: bethink notes show")]
    Notes(NotesCommand),
    /// Show a session's todo list
    #[command(after_help = "Example: bethink todo")]
    Todo,
    /// Find memories that fit a question
    #[command(after_help = "Example: bethink recall 'how do we deploy?'")]
    Recall(Recall),
    /// Remember something for later sessions of the project
    #[command(after_help = "Example: bethink remember 'We deploy with make ship, never by hand.'")]
    Remember(RememberArgs),
    /// Tidy the project's memory: merge duplicates, mark old topics
    #[command(after_help = "Example: bethink dream --dry-run")]
    Dream {
        /// Show what would change without changing it
        #[arg(long)]
        dry_run: bool,
        /// Undo the last consolidation, except for topics that were changed since
        #[arg(long, conflicts_with = "dry_run")]
        undo: bool,
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
    /// Show the model calls bethink made for itself and their cost
    #[command(after_help = "Example: bethink usage --since 1w")]
    Usage {
        /// Only calls since then: a day, a time, or an age (90min, 3h, 2d, 1w)
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
    },
    /// Import recorded sessions: JSONL files, or directories of them
    #[command(after_help = "Example: bethink import ~/.claude/projects")]
    Import {
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Write a session as JSONL
    #[command(after_help = "Example: bethink export --output session.jsonl")]
    Export {
        /// The session to export [default: --session, else last]
        #[arg(value_name = "SESSION")]
        which: Option<String>,
        /// Write to this file instead of stdout; the file appears when it is complete
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Play a recorded session through the daemon and measure it
    #[command(after_help = "Example: bethink replay session.jsonl --window 60000")]
    Replay(Replay),
    /// Add bethink to an agent's settings
    ///
    /// Adds the MCP server, and hooks where the agent has them. With --project DIR, changes the settings of that project instead of yours. Files that are shared with others
    /// name `bethink` without its path.
    #[command(after_help = "Example: bethink install claude-code --dry-run")]
    Install {
        /// claude-code, codex, cursor, vscode, zed, gemini or opencode
        agent: String,
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
        /// The same names as for install
        agent: String,
        /// Show what would change without changing it
        #[arg(long)]
        dry_run: bool,
    },
    /// Pass an agent's hook to the daemon (JSON on stdin)
    #[command(
        disable_help_flag = true,
        after_help = "Example: bethink hook session-start < event.json"
    )]
    Hook {
        /// session-start, prompt-submit, post-tool-use, pre-compact, stop, subagent-stop, session-end
        #[arg(num_args = 0.., allow_hyphen_values = true, trailing_var_arg = true, value_name = "EVENT")]
        words: Vec<std::ffi::OsString>,
    },
    /// Serve MCP over stdin and stdout
    #[command(after_help = "Example: claude mcp add bethink -- bethink mcp")]
    Mcp,
    /// Print a completion script for a shell
    #[command(
        after_help = "Example: bethink completions bash > ~/.local/share/bash-completion/completions/bethink"
    )]
    Completions { shell: Shell },
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Size of the context window, in tokens
    #[arg(long, default_value_t = 72_000, value_name = "TOKENS")]
    pub(crate) window: u64,
    /// Keep the demo's daemon and home directory, so that you can look around
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List all settings with their values and where each comes from
    #[command(after_help = "Example: bethink config list")]
    List,
    /// Show one setting
    #[command(after_help = "Example: bethink config get model.provider")]
    Get {
        #[arg(value_name = "SECTION.KEY")]
        key: String,
    },
    /// Write a setting to the config file, keeping its comments
    #[command(after_help = "Example: bethink config set model.provider anthropic")]
    Set {
        #[arg(value_name = "SECTION.KEY")]
        key: String,
        /// The value; lists are joined by commas
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Show the path of the config file
    #[command(after_help = "Example: $EDITOR \"$(bethink config path)\"")]
    Path,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NotesCommand {
    /// Show the notes
    #[command(after_help = "Example: bethink notes show --session last")]
    Show,
    /// Edit the notes in $VISUAL or $EDITOR; later updates keep what you write
    #[command(after_help = "Example: EDITOR=nano bethink notes edit")]
    Edit,
    /// Update the notes now
    #[command(after_help = "Example: bethink notes update")]
    Update,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Set up the project's team memory: where it is and how it is shared
    #[command(after_help = "Example: bethink team init --remote git@example.com:team/memory.git")]
    Init {
        /// A git repository that everyone can reach: https, ssh or a path [default: team.remote in the settings]
        #[arg(long, value_name = "URL")]
        remote: Option<String>,
        /// A synced or mounted folder, instead of the project's own
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Show what is shared, what is not yet shared, and what is blocked
    #[command(after_help = "Example: bethink team status")]
    Status,
    /// Fetch, merge and push
    #[command(after_help = "Example: bethink team sync")]
    Sync {
        /// Accept that the remote's history was rewritten
        #[arg(long)]
        accept_rewrite: bool,
    },
    /// List the memories that agents propose to share
    #[command(after_help = "Example: bethink team proposals --all")]
    Proposals {
        /// Also list proposals that were approved or rejected
        #[arg(long, short)]
        all: bool,
    },
    /// Approve proposals: add them to the team's memory
    #[command(after_help = "Example: bethink team approve 3f9c1a2b")]
    Approve {
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
        /// Approve even if the topic has changed since the proposal was made
        #[arg(long)]
        replace: bool,
    },
    /// Reject proposals; they are not proposed again
    #[command(after_help = "Example: bethink team reject 3f9c1a2b")]
    Reject {
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Create a session in the project
    #[command(after_help = "Example: bethink session new --title 'try bethink'")]
    New(NewSessionArgs),
    /// List sessions, newest first
    #[command(after_help = "Example: bethink session ls --all --search deploy")]
    Ls(ListSessions),
    /// Show one session
    #[command(after_help = "Example: bethink session show last")]
    Show { session: Option<String> },
    /// Change a session's title
    #[command(after_help = "Example: bethink session rename last 'the tide job'")]
    Rename { session: String, title: String },
    /// Add or remove a session's tags
    #[command(after_help = "Example: bethink session tag last release --remove draft")]
    Tag {
        session: String,
        #[arg(value_name = "TAG", required_unless_present = "remove")]
        add: Vec<String>,
        /// Remove this tag
        #[arg(long, value_name = "TAG")]
        remove: Vec<String>,
    },
    /// Continue a session in a new one; the old one does not change
    #[command(after_help = "Example: bethink session fork last --at 120")]
    Fork {
        session: Option<String>,
        /// Number of the last message to share [default: the newest]
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        /// The new session's title
        #[arg(long)]
        title: Option<String>,
    },
    /// Show what you need to continue a session: notes, todos and the last messages
    #[command(after_help = "Example: bethink session resume last")]
    Resume { session: Option<String> },
    /// Delete sessions with all their messages; this cannot be undone
    #[command(after_help = "Example: bethink session rm 3f9c1a2b --yes")]
    Rm {
        #[arg(required = true, value_name = "SESSION")]
        sessions: Vec<String>,
        /// Delete without asking
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewSessionArgs {
    /// The session's title
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// A tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The session that starts this one as a subagent
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// The model's name
    #[arg(long, requires = "window")]
    pub(crate) model: Option<String>,
    /// Size of the model's context window, in tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<u64>,
    /// Longest answer of the model, in tokens
    #[arg(long, value_name = "TOKENS", requires = "window")]
    pub(crate) max_output: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ListSessions {
    /// List the sessions of all projects
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Only sessions with these words in their title
    #[arg(long, short = 's', value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Only sessions with this tag
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// List at most this many
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT")]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// What the summary should focus on
    #[arg(long)]
    pub(crate) instructions: Option<String>,
    /// How to write the summary [default: the cheapest way that works]
    #[arg(long, value_parser = words::<SummaryLevel>(SummaryLevel::ALL.map(SummaryLevel::as_str)))]
    pub(crate) level: Option<SummaryLevel>,
    /// Longest summary, in tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) summary_tokens: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Expand {
    /// Id of a compaction or collapsed span, or a unique part of it [default: the newest
    /// compaction]
    pub(crate) compaction: Option<String>,
    /// Only messages about these words, such as a line of the summary
    #[arg(long, short = 's', value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Show whole messages, not only their beginnings
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Keep showing new messages
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// How many of the last messages to show; 0 shows all
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT")]
    pub(crate) last: u64,
    /// Show this one message in full
    #[arg(long, short, value_name = "NUMBER", conflicts_with = "follow")]
    pub(crate) message: Option<u64>,
    /// Show whole messages, not only their beginnings
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// A question, or words to look for
    #[arg(required_unless_present = "rebuild", value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Search all sessions of the project [default with --project]
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Show at most this many hits
    #[arg(long, short = 'n', default_value_t = 10, value_name = "COUNT")]
    pub(crate) limit: usize,
    /// Only what the user or the assistant said
    #[arg(long, value_parser = ["user", "assistant"])]
    pub(crate) role: Option<String>,
    /// Only calls of this tool and their results
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only calls about this file or directory and their results
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Only messages since then: a day, a time, or an age (90min, 3h, 2d, 1w)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only messages before then
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Rebuild the session's search index from its history
    #[arg(long, conflicts_with = "query")]
    pub(crate) rebuild: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InstructionsArgs {
    /// Show what would be loaded once the session has read or written this file; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) touch: Vec<String>,
    #[command(subcommand)]
    pub(crate) command: Option<InstructionsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InstructionsCommand {
    /// Allow this project to load a file that is outside of it or looks like a secret
    #[command(after_help = "Example: bethink instructions approve ../shared/RULES.md")]
    Approve { path: String },
    /// Undo an approval
    #[command(after_help = "Example: bethink instructions revoke ../shared/RULES.md")]
    Revoke { path: String },
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The recorded session
    pub(crate) file: PathBuf,
    /// Size of the model's context window, in tokens
    #[arg(long, default_value_t = 200_000, value_name = "TOKENS")]
    pub(crate) window: u64,
    /// Longest answer of the model, in tokens
    #[arg(long, default_value_t = 8_000, value_name = "TOKENS")]
    pub(crate) max_output: u64,
    /// Request the prompt only at every Nth turn
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
    fn global_options_stand_anywhere() {
        for line in
            ["bethink --json --session last context", "bethink context --session last --json"]
        {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.global.json && cli.global.session.as_deref() == Some("last"), "{line}");
        }
    }
}
