//! Arguments of `bethink team`.

use std::path::PathBuf;

use clap::Subcommand;

use super::TeamHistoryCommand;

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Set up the project's team memory: where it is stored and how it is shared
    #[command(after_help = "Example: bethink team init --remote git@example.com:team/memory.git")]
    Init {
        /// A git repository that everyone can reach: https, ssh or a path [default: team.remote in the settings]
        #[arg(long, value_name = "URL")]
        remote: Option<String>,
        /// A synced or mounted folder to use instead of the default directory
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Show what is shared, what is not yet shared, and what is blocked
    #[command(after_help = "Example: bethink team status")]
    Status,
    /// Fetch, merge and push the team's memory
    #[command(after_help = "Example: bethink team sync")]
    Sync {
        /// Accept that the remote's history was rewritten
        #[arg(long)]
        accept_rewrite: bool,
    },
    /// Resolve a conflict: keep one version of a topic, or merge the versions
    #[command(
        after_help = "Examples:\n  bethink team resolve fog          show the versions\n  bethink team resolve fog --mine   keep yours\n  bethink team resolve fog --edit   merge them in your editor"
    )]
    Resolve {
        /// The topic, as shown by `bethink team status`
        #[arg(value_name = "TOPIC")]
        topic: String,
        /// Keep your version
        #[arg(long, group = "kept")]
        mine: bool,
        /// Keep the other person's version
        #[arg(long, group = "kept")]
        theirs: bool,
        /// Keep the version with this name, as shown by `bethink team status`
        #[arg(long, value_name = "VERSION", group = "kept")]
        keep_version: Option<String>,
        /// Merge the versions in your editor
        #[arg(long, group = "kept")]
        edit: bool,
    },
    /// Remove files that bethink refused to pull because of what they contain, for the whole team
    #[command(after_help = "Example: bethink team drop keys.md")]
    Drop {
        /// Files, as shown by `bethink team status`
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
    },
    /// Share the history of this directory with the team
    #[command(subcommand, after_help = "Example: bethink team history on")]
    History(TeamHistoryCommand),
    /// List the memories that are proposed for the team
    #[command(after_help = "Example: bethink team proposals --all")]
    Proposals {
        /// Also list proposals that were approved or rejected
        #[arg(long, short)]
        all: bool,
    },
    /// Approve proposals: add them to the team's memory
    #[command(after_help = "Example: bethink team approve 3f9c1a2b")]
    Approve {
        /// Ids from `team proposals`; a unique prefix or suffix is enough
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
        /// Approve even if the team's topic has changed since the proposal was made
        #[arg(long)]
        replace: bool,
        /// Keep the private topic [default: remove it if a person proposed it and it has not changed since]
        #[arg(long)]
        keep_private: bool,
    },
    /// Reject proposals; nothing with the same meaning is proposed again
    #[command(
        after_help = "Example: bethink team reject 3f9c1a2b --reason \"obvious from the code\""
    )]
    Reject {
        /// Ids from `team proposals`; a unique prefix or suffix is enough
        #[arg(required = true, value_name = "ID")]
        proposals: Vec<String>,
        /// The reason, which the team can read
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}
