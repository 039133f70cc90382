//! The daemon's arguments, which the generator of manual pages also reads.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// The local memory daemon for coding agents.
///
/// Serves one home directory until SIGTERM or SIGINT, then finishes its work and exits.
#[derive(Debug, Parser)]
#[command(name = "bethinkd", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// Loopback address to listen on; port 0 picks a free port, which is written to daemon.json
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Option<String>,
    /// Directory for all data [default: BETHINK_HOME, else $XDG_DATA_HOME/bethink]
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Config file [default: BETHINK_CONFIG, else $XDG_CONFIG_HOME/bethink/config.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Format of the log on stderr; BETHINK_LOG sets its level
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Option<DaemonCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Used by `bethink store`
    #[command(subcommand, hide = true)]
    Store(StoreCommand),
}

/// The arguments are those of `bethink store`.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    Copy {
        from: String,
        to: String,
        #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
        home: Option<PathBuf>,
    },
    Check {
        place: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}
