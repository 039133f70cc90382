//! Arguments of `bethink team history`.

use bethink_api::TeamRole;
use clap::Subcommand;

use super::words::{count, words};

#[derive(Debug, Subcommand)]
pub(crate) enum TeamHistoryCommand {
    /// Show which history is shared, with whom, and what is not copied yet
    #[command(after_help = "Example: bethink team history status")]
    Status,
    /// Share the sessions of this directory, or one of them with --session
    #[command(
        after_help = "Examples:\n  bethink team history on                   share the sessions that begin from now on\n  bethink team history on --all             share the earlier ones, too\n  bethink team history on --session last    share one session that began earlier"
    )]
    On {
        /// The team project [default: the one that this directory is shared with, or the name of its repository]
        #[arg(long, value_name = "NAME")]
        team_project: Option<String>,
        /// Also share the sessions that began before now
        #[arg(long)]
        all: bool,
    },
    /// Stop sharing the sessions of this directory, or one of them with --session, and remove the copies
    #[command(
        after_help = "Examples:\n  bethink team history off\n  bethink team history off --session last"
    )]
    Off,
    /// List the sessions that the team shares
    #[command(after_help = "Example: bethink team history ls --person ann")]
    Ls {
        /// List only the sessions of this team project
        #[arg(long, value_name = "NAME")]
        team_project: Option<String>,
        /// List only the sessions of this person, who is named by the login in the database
        #[arg(long, value_name = "LOGIN")]
        person: Option<String>,
        /// Show at most this many sessions
        #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20, value_parser = count)]
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
    /// Remove a shared session from the team's history; if an admin removes another person's session, it can never be shared again
    #[command(after_help = "Example: bethink team history rm 3f9c1a2b")]
    Rm {
        /// An id from `bethink team history ls`
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Add a person to a team project, or change their role (admins only)
    #[command(after_help = "Example: bethink team history add-member ben --role reader")]
    AddMember {
        /// The person's login in the database
        #[arg(value_name = "LOGIN")]
        person: String,
        /// A reader reads and searches, a contributor also shares sessions, and an admin also chooses the members [default: the person's present role, or else contributor]
        #[arg(long, value_parser = words::<TeamRole>(["reader", "contributor", "admin"]))]
        role: Option<TeamRole>,
        /// The team project [default: the one that this directory is shared with, or your only one]
        #[arg(long, value_name = "NAME")]
        team_project: Option<String>,
    },
    /// Remove a person from a team project; what they have shared stays (admins only)
    #[command(after_help = "Example: bethink team history remove-member ben")]
    RemoveMember {
        /// The person's login in the database
        #[arg(value_name = "LOGIN")]
        person: String,
        /// The team project [default: the one that this directory is shared with, or your only one]
        #[arg(long, value_name = "NAME")]
        team_project: Option<String>,
    },
    /// Print the SQL that creates the team's tables, for a superuser of the database
    #[command(
        after_help = "Example: bethink team history setup | psql -v ON_ERROR_STOP=1 postgres://postgres@db.example.org/bethink"
    )]
    Setup,
}
