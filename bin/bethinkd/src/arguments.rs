//! What the daemon's program takes. Also read by what makes its manual page.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// The local memory daemon for coding agents.
///
/// Serves one home until it gets SIGTERM or SIGINT, then finishes what is under way.
#[derive(Debug, Parser)]
#[command(name = "bethinkd", version)]
pub(crate) struct Arguments {
    /// Loopback address to serve on; port 0 takes a free one and writes it to daemon.json
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Option<String>,
    /// Where all state lives; else BETHINK_HOME, else $XDG_DATA_HOME/bethink
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Config file; else BETHINK_CONFIG, else $XDG_CONFIG_HOME/bethink/config.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How the log on stderr is written; BETHINK_LOG sets its level
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}
