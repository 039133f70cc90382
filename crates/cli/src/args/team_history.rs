//! Arguments of `bethink team history`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum TeamHistoryCommand {
    /// Show which history is shared, with whom, and what is not copied yet
    #[command(after_help = "Example: bethink team history status")]
    Status,
    /// Share the sessions of this project, or one of them with --session
    #[command(
        after_help = "Examples:\n  bethink team history on                   share the sessions that begin from now on\n  bethink team history on --all             share the earlier ones, too\n  bethink team history on --session last    share one session that began earlier"
    )]
    On {
        #[command(flatten)]
        project: OfTeamProject,
        /// Also share the sessions that began before now
        #[arg(long)]
        all: bool,
    },
    /// Stop sharing the sessions of this project, or one of them with --session, and remove the copies
    #[command(
        after_help = "Examples:\n  bethink team history off\n  bethink team history off --session last"
    )]
    Off,
    /// List the sessions that the team shares
    #[command(after_help = "Example: bethink team history ls --person ann")]
    Ls {
        #[command(flatten)]
        project: OfTeamProject,
        /// List only the sessions of this person, who is named by the login in the database
        #[arg(long, value_name = "LOGIN")]
        person: Option<String>,
        /// Show at most this many sessions
        #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20)]
        limit: usize,
    },
    /// Show a session that the team shares
    #[command(
        after_help = "Examples:\n  bethink team history show 3f9c1a2b\n  bethink team history show 3f9c1a2b -m 12    show message 12 in full"
    )]
    Show {
        /// An id from `bethink team history ls` or `bethink search --team`
        #[arg(value_name = "ID")]
        id: String,
        /// Show only this message, in full
        #[arg(long, short, value_name = "NUMBER")]
        message: Option<u64>,
    },
    /// Remove a session from the team's history, whoever shares it; needs the role admin
    #[command(after_help = "Example: bethink team history rm 3f9c1a2b")]
    Rm {
        /// An id from `bethink team history ls`
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Let a person use the team's project, or change their role; needs the role admin
    #[command(after_help = "Example: bethink team history add ben --role reader")]
    Add {
        /// The person's login in the database
        #[arg(value_name = "LOGIN")]
        person: String,
        /// A reader reads and searches, a member also shares sessions, and an admin also chooses the members [default: the person's role, or else member]
        #[arg(long, value_enum)]
        role: Option<MemberRole>,
        #[command(flatten)]
        project: OfTeamProject,
    },
    /// Remove a person from the team's project; what they have shared stays; needs the role admin
    #[command(after_help = "Example: bethink team history remove ben")]
    #[command(after_help = "Example: bethink team history remove ben")]
    Remove {
        /// The person's login in the database
        #[arg(value_name = "LOGIN")]
        person: String,
        #[command(flatten)]
        project: OfTeamProject,
    },
    /// Print the SQL that creates the team's tables, for a superuser of the database
    #[command(
        after_help = "Example: bethink team history setup | psql postgres://postgres@db.example.org/bethink"
    )]
    Setup,
}

#[derive(Debug, Args)]
pub(crate) struct OfTeamProject {
    /// The team's project [default: the one with which this directory is shared, or that of its repository]
    #[arg(long, value_name = "NAME")]
    pub(crate) team_project: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MemberRole {
    Reader,
    Member,
    Admin,
}
