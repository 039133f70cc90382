//! Arguments of the setup commands.

use clap::{Args, Subcommand};

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
pub(crate) enum TokenCommand {
    /// Replace the token; the old one stops working at once
    ///
    /// Use this if another program may know the token. Every client that has a copy of the token, or a gateway address,
    /// must be set up again; the command says how.
    #[command(after_help = "Example: bethink token rotate")]
    Rotate,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List all settings, with their values and where each value comes from
    #[command(after_help = "Example: bethink config list")]
    List,
    /// Show one setting
    #[command(after_help = "Example: bethink config get model.provider")]
    Get {
        /// The setting's name, as shown by `config list`
        #[arg(value_name = "SECTION.KEY")]
        key: String,
    },
    /// Write a setting to the config file, keeping its comments
    #[command(after_help = "Example: bethink config set model.provider anthropic")]
    Set {
        /// The setting's name, as shown by `config list`
        #[arg(value_name = "SECTION.KEY")]
        key: String,
        /// The value; separate the items of a list with commas
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Show the path of the config file
    #[command(after_help = "Example: $EDITOR \"$(bethink config path)\"")]
    Path,
}
