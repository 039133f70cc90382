//! Arguments of `bethink team`.

use std::path::PathBuf;

use clap::Subcommand;

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
        /// Ids, or their beginnings or ends, as `team proposals` shows them
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
        /// Approve even if the topic has changed since the proposal was made
        #[arg(long)]
        replace: bool,
    },
    /// Reject proposals; they are not proposed again
    #[command(after_help = "Example: bethink team reject 3f9c1a2b")]
    Reject {
        /// Ids, or their beginnings or ends, as `team proposals` shows them
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
    },
}
