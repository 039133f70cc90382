//! The command line: nouns, verbs and what they take. The words are the public contract.

mod memory;

use std::path::PathBuf;

use bethink_api::{SummaryLevel, parse_word};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use serde::de::DeserializeOwned;

pub(crate) use memory::{AddMemory, MemoryCommand, OfTeam, OneMemory, Recall, RememberArgs};

const AFTER_HELP: &str = "\
A SESSION is an id, the beginning of one that no other has, or `last`: the newest session of the
project, else the newest of all.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 daemon unreachable.";

/// The words of a closed set, as JSON has them.
fn words<T>(all: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(all).try_map(|word| parse_word(&word).ok_or("is no word of these"))
}

/// Memory for coding agents: sessions that never overflow their window
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
    /// Print JSON instead of words
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only what was asked for: no hints, no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// The project's directory [default: the current one]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The session to work on [default: last]
    #[arg(long, global = true, value_name = "SESSION")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Watch a recorded session play into a small window, start to finish
    Demo(Demo),
    /// Start the daemon
    Up {
        /// Also at each login: a user unit of systemd, or a launch agent on macOS
        #[arg(long)]
        install: bool,
        /// With --install: show what would be written and run
        #[arg(long, requires = "install")]
        dry_run: bool,
    },
    /// Stop the daemon
    Down {
        /// No longer at each login either: takes back what `up --install` did
        #[arg(long)]
        uninstall: bool,
        /// With --uninstall: show what would be removed
        #[arg(long, requires = "uninstall")]
        dry_run: bool,
    },
    /// Say whether the daemon runs, and where
    Status,
    /// Look for what is wrong, and say what to do about it
    Doctor,
    /// Open the dashboard in a browser
    Dashboard {
        /// Print the address instead: it logs one browser in, once, within a minute
        #[arg(long)]
        print: bool,
    },
    /// Show where to point a client of Anthropic's or OpenAI's, so that its sessions are remembered
    Gateway,
    /// Show the daemon's log
    Logs {
        /// Go on showing what is added
        #[arg(long, short)]
        follow: bool,
        /// How many of the last lines
        #[arg(long, short = 'n', default_value_t = 50, value_name = "LINES")]
        lines: usize,
    },
    /// Make, list and change sessions
    #[command(subcommand, arg_required_else_help = true)]
    Session(SessionCommand),
    /// Show what fills the window, as a bar
    Context {
        /// Let the provider count, where a model is configured
        #[arg(long)]
        count: bool,
    },
    /// Summarise the older part of a session now
    Compact(Compact),
    /// List the compactions of a session
    Compactions,
    /// List the spans of a session that are shown as short texts, or are ready to
    Collapses,
    /// Take a compaction back: the prompt shows the messages again
    Undo {
        /// A compaction's id, or the beginning of one [default: the newest]
        compaction: Option<String>,
    },
    /// Show the messages behind a compaction's summary, or behind a collapsed span
    Expand(Expand),
    /// Show a session's messages, all of them kept
    History(HistoryArgs),
    /// Search all of a session, before and after compactions
    Search(Search),
    /// Show, edit or refresh what a session keeps of itself
    #[command(subcommand, arg_required_else_help = true)]
    Notes(NotesCommand),
    /// Show a session's todo list
    Todo,
    /// Ask what the project remembers
    Recall(Recall),
    /// Remember something for later sessions of the project
    Remember(RememberArgs),
    /// Bring the project's memory into order, or look at what that would change
    Dream {
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Put back what the last dream changed, as far as nobody changed it since
        #[arg(long, conflicts_with = "dry_run")]
        undo: bool,
    },
    /// List, write and mend what the project remembers
    #[command(subcommand, arg_required_else_help = true)]
    Memory(MemoryCommand),
    /// Share memory with others, through a git repository or a folder
    #[command(subcommand, arg_required_else_help = true)]
    Team(TeamCommand),
    /// Show which instruction files count here, and why others don't
    Instructions(InstructionsArgs),
    /// Show what models were asked for bethink's own purposes, and what it cost
    Usage {
        /// From then on: a day, a time, or so long ago (90min, 3h, 2d, 1w)
        #[arg(long, value_name = "WHEN")]
        since: Option<String>,
    },
    /// Take in recorded sessions: JSONL files, or directories of them
    Import {
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Write a session as JSONL
    Export {
        /// [default: --session, else last]
        #[arg(value_name = "SESSION")]
        which: Option<String>,
        /// Write to this file instead of stdout; it appears when it is whole
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Play a recorded session through the daemon, turn by turn, and measure
    Replay(Replay),
    /// Put bethink into an agent's own configuration: tools, and hooks where it has them
    ///
    /// With --project DIR into the files of that project instead of yours; those that others share look for
    /// bethink in PATH.
    Install {
        /// claude-code, codex, cursor, vscode, zed, gemini or opencode
        agent: String,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Have the agent speak to its provider through bethink's gateway as well
        #[arg(long)]
        gateway: bool,
    },
    /// Take out of it what install put in, and nothing else
    Uninstall {
        /// As for install
        agent: String,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Hand a coding agent's hook to the daemon: JSON on stdin, the answer on stdout
    #[command(disable_help_flag = true)]
    Hook {
        /// session-start, prompt-submit, post-tool-use, pre-compact, stop, subagent-stop, session-end
        #[arg(num_args = 0.., allow_hyphen_values = true, trailing_var_arg = true, value_name = "EVENT")]
        words: Vec<std::ffi::OsString>,
    },
    /// Serve MCP over stdin and stdout, for clients that start a program
    Mcp,
    /// Print a completion script for a shell
    Completions { shell: Shell },
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Tokens of the window that the session has to fit
    #[arg(long, default_value_t = 72_000, value_name = "TOKENS")]
    pub(crate) window: u64,
    /// Keep the demo's daemon and home, to look around in
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NotesCommand {
    /// Show the notes
    Show,
    /// Edit the notes in $VISUAL or $EDITOR; later updates respect what you write
    Edit,
    /// Bring the notes up to date now
    Update,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Say where the project's team memory lies, and with whom it is shared
    Init {
        /// A repository that everybody reaches: https, ssh, or a path [default: what [team] says]
        #[arg(long, value_name = "URL")]
        remote: Option<String>,
        /// A synced or mounted folder in the place of the project's own
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Show what is shared, what is not yet, and what may not be
    Status,
    /// Fetch, merge and push
    Sync {
        /// The remote's history was rewritten, and that is meant: take it on
        #[arg(long)]
        accept_rewrite: bool,
    },
    /// List what agents would have the team know
    Proposals {
        /// What was decided, too
        #[arg(long, short)]
        all: bool,
    },
    /// Let proposals into the team's memory
    Approve {
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
        /// Although the topic was changed since
        #[arg(long)]
        replace: bool,
    },
    /// Turn proposals down; they are not made again
    Reject {
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Begin a session in the project
    New(NewSessionArgs),
    /// List sessions, newest first
    Ls(ListSessions),
    /// Show one session
    Show { session: Option<String> },
    /// Give a session a title
    Rename { session: String, title: String },
    /// Add tags to a session, or take them away
    Tag {
        session: String,
        #[arg(value_name = "TAG", required_unless_present = "remove")]
        add: Vec<String>,
        /// Take this tag away
        #[arg(long, value_name = "TAG")]
        remove: Vec<String>,
    },
    /// Go on from a session in a new one; the old one stays as it is
    Fork {
        session: Option<String>,
        /// The last message to share, by its number [default: the newest]
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        #[arg(long)]
        title: Option<String>,
    },
    /// Show where a session stands, to go on with it
    Resume { session: Option<String> },
    /// Delete sessions with all their messages, for ever
    Rm {
        #[arg(required = true, value_name = "SESSION")]
        sessions: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewSessionArgs {
    #[arg(long)]
    pub(crate) title: Option<String>,
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The session that this one explores for
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// The model's name; its window decides when to compact
    #[arg(long, requires = "window")]
    pub(crate) model: Option<String>,
    /// Tokens of the model's window
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<u64>,
    /// Tokens that one answer may have
    #[arg(long, value_name = "TOKENS", requires = "window")]
    pub(crate) max_output: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ListSessions {
    /// Of all projects, not this one alone
    #[arg(long, short)]
    pub(crate) all: bool,
    /// With these words in the title
    #[arg(long, short = 's', value_name = "WORDS")]
    pub(crate) search: Option<String>,
    #[arg(long)]
    pub(crate) tag: Option<String>,
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT")]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// What the summary should look at above all
    #[arg(long)]
    pub(crate) instructions: Option<String>,
    /// [default: the cheapest that works]
    #[arg(long, value_parser = words::<SummaryLevel>(SummaryLevel::ALL.map(SummaryLevel::as_str)))]
    pub(crate) level: Option<SummaryLevel>,
    /// Tokens that the summary may have
    #[arg(long, value_name = "TOKENS")]
    pub(crate) summary_tokens: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Expand {
    /// Id of a compaction or of a collapsed span, or the beginning of one [default: the newest
    /// compaction]
    pub(crate) compaction: Option<String>,
    /// Only what is about these words, such as a line of the summary
    #[arg(long, short = 's', value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Whole messages, not their beginnings
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Go on showing messages as they come
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// How many of the last messages; 0 is all
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT")]
    pub(crate) last: u64,
    /// One message whole, by its number
    #[arg(long, short, value_name = "NUMBER", conflicts_with = "follow")]
    pub(crate) message: Option<u64>,
    /// Whole messages, not their beginnings
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// A question, or words to look for
    #[arg(required_unless_present = "rebuild", value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// In all sessions of the project [default with --project]
    #[arg(long, short)]
    pub(crate) all: bool,
    #[arg(long, short = 'n', default_value_t = 10, value_name = "COUNT")]
    pub(crate) limit: usize,
    /// Only what the user said, or the assistant
    #[arg(long, value_parser = ["user", "assistant"])]
    pub(crate) role: Option<String>,
    /// Only calls of this tool, and their results
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only calls about this file or folder, and their results
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// From then on: a day, a time, or so long ago (90min, 3h, 2d, 1w)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Before then
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Make the index of the session anew, from its history
    #[arg(long, conflicts_with = "query")]
    pub(crate) rebuild: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InstructionsArgs {
    /// As if the session had read or written this file; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) touch: Vec<String>,
    #[command(subcommand)]
    pub(crate) command: Option<InstructionsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InstructionsCommand {
    /// Let this project load a file that lies outside of it, or that looks like a secret
    Approve { path: String },
    /// Take that back
    Revoke { path: String },
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    pub(crate) file: PathBuf,
    /// Tokens of the model's window
    #[arg(long, default_value_t = 200_000, value_name = "TOKENS")]
    pub(crate) window: u64,
    /// Tokens that one answer may have
    #[arg(long, default_value_t = 8_000, value_name = "TOKENS")]
    pub(crate) max_output: u64,
    /// Ask for the prompt at every Nth turn alone
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
