//! Arguments of the session and history commands.

use clap::{Args, Subcommand};

use super::words::count;
use crate::template::SessionTemplate;

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
    Show {
        /// A session id (a unique prefix or suffix is enough), `last` for the newest, or `pick` to choose from a list [default: --session, else last]
        #[arg(value_name = "SESSION")]
        which: Option<String>,
    },
    /// Change a session's title
    #[command(after_help = "Example: bethink session rename last 'the tide job'")]
    Rename {
        /// A session id (a unique prefix or suffix is enough), `last` for the newest, or `pick` to choose from a list
        #[arg(value_name = "SESSION")]
        which: String,
        /// The new title
        title: String,
    },
    /// Add or remove a session's tags
    #[command(after_help = "Example: bethink session tag last release --remove draft")]
    Tag {
        /// A session id (a unique prefix or suffix is enough), `last` for the newest, or `pick` to choose from a list
        #[arg(value_name = "SESSION")]
        which: String,
        /// Tags to add
        #[arg(value_name = "TAG", required_unless_present = "remove")]
        add: Vec<String>,
        /// Remove this tag
        #[arg(long, value_name = "TAG")]
        remove: Vec<String>,
    },
    /// Continue a session in a new one; the old one does not change
    #[command(after_help = "Example: bethink session fork last --at 120")]
    Fork {
        /// A session id (a unique prefix or suffix is enough), `last` for the newest, or `pick` to choose from a list [default: --session, else last]
        #[arg(value_name = "SESSION")]
        which: Option<String>,
        /// Number of the last message that the new session shares with the old one [default: the newest message]
        #[arg(long, value_name = "SEQ")]
        at: Option<u64>,
        /// The new session's title
        #[arg(long)]
        title: Option<String>,
    },
    /// Show what you need to continue a session: notes, todos and the last messages
    #[command(alias = "resume", after_help = "Example: bethink session handover last")]
    Handover {
        /// A session id (a unique prefix or suffix is enough), `last` for the newest, or `pick` to choose from a list [default: --session, else last]
        #[arg(value_name = "SESSION")]
        which: Option<String>,
    },
    /// Delete sessions with all their messages; this cannot be undone
    #[command(after_help = "Example: bethink session rm 3f9c1a2b --yes")]
    Rm {
        /// Session ids (unique prefixes or suffixes are enough); `last` is not allowed
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
    /// The parent session, if the new session is a subagent's
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// The model's name
    #[arg(long, requires = "window")]
    pub(crate) model: Option<String>,
    /// Size of the model's context window, in tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<u64>,
    /// Maximum length of the model's answer, in tokens
    #[arg(long, value_name = "TOKENS", requires = "window")]
    pub(crate) max_output: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ListSessions {
    /// List the sessions of all projects
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Show only sessions whose title or ID contains this text
    #[arg(long, short = 's', value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Show only sessions with this tag
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// Show at most this many sessions
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT", value_parser = count)]
    pub(crate) limit: usize,
    /// Print each session using this template, with fields such as {id}, {title} and {project}
    #[arg(long, value_name = "TEXT", value_parser = SessionTemplate::parse)]
    pub(crate) format: Option<SessionTemplate>,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Show new messages as they arrive
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Show only the last COUNT messages; 0 shows all
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT")]
    pub(crate) last: u64,
    /// Show only the message with this number, in full
    #[arg(long, short, value_name = "NUMBER", conflicts_with = "follow")]
    pub(crate) message: Option<u64>,
    /// Show bytes A to B of the message's text, counted from 0, without byte B; at most 40,000 bytes
    #[arg(long, value_name = "A..B", requires = "message", conflicts_with = "lines")]
    pub(crate) bytes: Option<String>,
    /// Show lines A to B of the message's text, counted from 1; at most 40,000 bytes
    #[arg(long = "line-range", value_name = "A..B", requires = "message")]
    pub(crate) lines: Option<String>,
    /// Show only the tool call with this ID, or its result, whichever the message contains
    #[arg(long, value_name = "ID", requires = "message")]
    pub(crate) call: Option<String>,
    /// Show whole messages, not only their beginnings
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// A question, or words to look for
    #[arg(required_unless_present = "rebuild", value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Search the sessions of all projects [default: this project's sessions, if it has any]
    #[arg(long, short, conflicts_with = "session")]
    pub(crate) all: bool,
    /// Search what people share with the team
    #[arg(long, conflicts_with_all = ["session", "all", "rebuild"])]
    pub(crate) team: bool,
    /// With --team: search only this team project
    #[arg(long, value_name = "NAME", requires = "team")]
    pub(crate) team_project: Option<String>,
    /// With --team: search only the sessions of this person, who is named by the login in the database
    #[arg(long, value_name = "LOGIN", requires = "team")]
    pub(crate) person: Option<String>,
    /// Show at most this many hits [default: 5 on a terminal, else 10]
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = count)]
    pub(crate) limit: Option<usize>,
    /// Show only messages from the user, or from the assistant
    #[arg(long, value_parser = ["user", "assistant"])]
    pub(crate) role: Option<String>,
    /// Show only calls to this tool and their results
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Show only tool calls that involve this file or directory, and their results
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Show only messages since a date (2026-11-20) or time (2026-11-20T09:00:00Z), or newer than an age (90min, 3h, 2d, 1w)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Show only messages before a date or time, or older than an age, in the same formats as for --since
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Rebuild the session's search index from its history
    #[arg(long, conflicts_with = "query")]
    pub(crate) rebuild: bool,
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
