//! What a project remembers, as the command line names it.

use std::path::PathBuf;

use bethink_api::MemoryKind;
use clap::{Args, Subcommand};

use super::words;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List the topics
    Ls {
        #[command(flatten)]
        of: OfTeam,
        /// Only this type
        #[arg(long = "type", value_name = "TYPE", value_parser = words::<MemoryKind>(MemoryKind::ALL.map(MemoryKind::as_str)))]
        kind: Option<MemoryKind>,
    },
    /// Show a topic, or what it held before
    Show {
        #[command(flatten)]
        one: OneMemory,
        /// What it held then, by the number that history shows
        #[arg(long, value_name = "NUMBER")]
        version: Option<i64>,
    },
    /// Add a topic, from a file, from stdin or in $VISUAL or $EDITOR
    Add(AddMemory),
    /// Edit a topic in $VISUAL or $EDITOR
    Edit(OneMemory),
    /// Remove topics; restore brings them back
    Rm {
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        of: OfTeam,
    },
    /// Show the index as a prompt gets it
    Index(OfTeam),
    /// List what a topic held before, newest first
    History(OneMemory),
    /// Put back what a topic held before
    Restore {
        #[command(flatten)]
        one: OneMemory,
        /// By the number that history shows [default: the newest that differs from the file]
        #[arg(long, value_name = "NUMBER")]
        version: Option<i64>,
    },
    /// Look for what is wrong, and say what to do about it
    Lint(OfTeam),
    /// Bring MEMORY.md up to date with the topics; prose and living lines stay
    Rebuild {
        #[command(flatten)]
        of: OfTeam,
        /// Only say what would change
        #[arg(long)]
        dry_run: bool,
    },
    /// Look through a session now for what later ones should know
    Extract {
        /// From the session's beginning, imported messages too [default: since the last extraction]
        #[arg(long)]
        all: bool,
        /// Show what would be written, and write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Take back what one session taught; restore brings it back
    Forget {
        /// Whose lessons go
        #[arg(value_name = "SESSION")]
        which: String,
        /// Show what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Clone, Debug, Args)]
pub(crate) struct OfTeam {
    /// The team's memory
    #[arg(long)]
    pub(crate) team: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OneMemory {
    /// The topic's file, with or without .md
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) of: OfTeam,
}

#[derive(Debug, Args)]
pub(crate) struct AddMemory {
    #[command(flatten)]
    pub(crate) one: OneMemory,
    /// Take the text from this file; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// What it is about
    #[arg(long = "type", value_name = "TYPE", value_parser = words::<MemoryKind>(MemoryKind::ALL.map(MemoryKind::as_str)))]
    pub(crate) kind: Option<MemoryKind>,
    /// One line that says when it matters
    #[arg(long)]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RememberArgs {
    /// What to remember, in a sentence or a few
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// [default: guessed where the words leave no doubt, else none]
    #[arg(long = "type", value_name = "TYPE", value_parser = words::<MemoryKind>(MemoryKind::ALL.map(MemoryKind::as_str)))]
    pub(crate) kind: Option<MemoryKind>,
    /// The file's name [default: made of the text]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// One line that says when it matters [default: the first sentence]
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// In the team's memory, for everybody
    #[arg(long)]
    pub(crate) team: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Recall {
    /// A question, or what is being worked on
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Whole texts as a prompt gets them, not their beginnings
    #[arg(long)]
    pub(crate) full: bool,
}
