//! Arguments of the memory and instruction-file commands.

use std::path::PathBuf;

use bethink_api::MemoryKind;
use clap::{Args, Subcommand};

use super::words::words;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List the topics
    #[command(after_help = "Example: bethink memory ls --type feedback")]
    Ls {
        #[command(flatten)]
        of: OfTeam,
        /// Show only topics of this type
        #[arg(long = "type", value_name = "TYPE", value_parser = words::<MemoryKind>(MemoryKind::ALL.map(MemoryKind::as_str)))]
        kind: Option<MemoryKind>,
    },
    /// Show a topic, or an earlier version of it
    #[command(after_help = "Example: bethink memory show deploys")]
    Show {
        #[command(flatten)]
        one: OneMemory,
        /// Version number, as shown by `memory history`
        #[arg(long, value_name = "NUMBER")]
        version: Option<i64>,
    },
    /// Add a topic from a file, stdin or your editor ($VISUAL or $EDITOR)
    #[command(after_help = "Example: bethink memory add deploys --from deploys.md")]
    Add(AddMemory),
    /// Edit a topic in $VISUAL or $EDITOR
    #[command(after_help = "Example: bethink memory edit deploys")]
    Edit {
        #[command(flatten)]
        one: OneMemory,
        #[command(flatten)]
        allow: AllowSecret,
    },
    /// Remove topics; `restore` brings them back
    #[command(after_help = "Example: bethink memory rm deploys")]
    Rm {
        /// The topics' names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        of: OfTeam,
    },
    /// Search the full text of all memories
    #[command(after_help = "Example: bethink memory search staging deploy")]
    Search {
        /// The words to look for; other forms of the same words match, too
        #[arg(required = true, value_name = "QUERY")]
        query: Vec<String>,
        #[command(flatten)]
        of: OfTeam,
        /// Show at most this many topics
        #[arg(long, short = 'n', value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
        limit: Option<u64>,
    },
    /// Write all topics and the index to a directory or a .tar file
    #[command(after_help = "Example: bethink memory export backup.tar")]
    Export {
        /// A new or empty directory, or a file that ends in .tar
        #[arg(value_name = "PATH")]
        to: PathBuf,
        #[command(flatten)]
        of: OfTeam,
    },
    /// Add topics exported by `memory export`, claude-mem or mem0
    #[command(after_help = "Example: bethink memory import backup.tar")]
    Import {
        /// A directory, a .tar file or a .json file
        #[arg(value_name = "PATH")]
        from: PathBuf,
        #[command(flatten)]
        of: OfTeam,
    },
    /// Propose moving a private topic to the team's memory
    #[command(after_help = "Example: bethink memory share deploys")]
    Share {
        /// The topic's name, with or without .md
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Show the index as it appears in prompts
    #[command(after_help = "Example: bethink memory index")]
    Index(OfTeam),
    /// List the versions of a topic, newest first
    #[command(after_help = "Example: bethink memory history deploys")]
    History(OneMemory),
    /// Restore an earlier version of a topic
    #[command(after_help = "Example: bethink memory restore deploys --version 2")]
    Restore {
        #[command(flatten)]
        one: OneMemory,
        /// Version number, as shown by `memory history` [default: the newest version that differs from the current text]
        #[arg(long, value_name = "NUMBER")]
        version: Option<i64>,
    },
    /// Find problems and suggest fixes
    #[command(after_help = "Example: bethink memory lint")]
    Lint(OfTeam),
    /// Update MEMORY.md to match the topics, keeping your own text
    #[command(after_help = "Example: bethink memory rebuild --dry-run")]
    Rebuild {
        #[command(flatten)]
        of: OfTeam,
        /// Show what would change without changing it
        #[arg(long)]
        dry_run: bool,
    },
    /// List statements that may be worth remembering, and keep or drop them
    #[command(after_help = "Example: bethink memory candidates keep 3f9c1a2b")]
    Candidates(CandidatesArgs),
    /// Move a topic between this project's memory and your own, which applies to all projects
    #[command(after_help = "Example: bethink memory mv answer-in-german --me")]
    Mv {
        /// The topic's name, with or without .md
        name: String,
        /// Move the topic to your own memory [default: to this project's private memory]
        #[arg(long)]
        me: bool,
    },
    /// Extract memories from a session now
    #[command(
        after_help = "Example: bethink memory extract --dry-run ~/.claude/projects/-home-me-project"
    )]
    Extract {
        /// Show what would be learned from these transcripts, without importing them; in a directory, all .jsonl files are read
        #[arg(value_name = "PATH", requires = "dry_run", value_hint = clap::ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
        /// Read the session from its beginning, including imported messages [default: from where the last extraction ended]
        #[arg(long = "from-start", alias = "all")]
        from_start: bool,
        /// Show what would be written without writing it
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove what was learned from one session; `restore` brings it back
    #[command(after_help = "Example: bethink memory forget 3f9c1a2b --dry-run")]
    Forget {
        /// Remove what was learned from this session: an id (a unique prefix or suffix is enough), `last` or `pick`
        #[arg(value_name = "SESSION")]
        which: String,
        /// Show what would be removed without removing it
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CandidatesArgs {
    /// Also list candidates that were kept or dropped
    #[arg(long, short)]
    pub(crate) all: bool,
    #[command(subcommand)]
    pub(crate) command: Option<CandidatesCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CandidatesCommand {
    /// Write candidates to memory
    #[command(
        after_help = "Example: bethink memory candidates keep 3f9c1a2b --text \"Use pnpm, never npm\""
    )]
    Keep(KeepCandidates),
    /// Drop candidates; they are not offered again
    #[command(after_help = "Example: bethink memory candidates drop 3f9c1a2b")]
    Drop {
        /// Ids from `memory candidates`; a unique prefix or suffix is enough
        #[arg(required = true, value_name = "ID")]
        candidates: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeepCandidates {
    /// Ids from `memory candidates`; a unique prefix or suffix is enough
    #[arg(required = true, value_name = "ID")]
    pub(crate) candidates: Vec<String>,
    /// What to remember, in your words [default: the statement itself]
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// The topic's name [default: derived from the description]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The topic's type [default: the candidate's type]
    #[arg(long = "type", value_name = "TYPE", value_parser = words::<MemoryKind>(MemoryKind::ALL.map(MemoryKind::as_str)))]
    pub(crate) kind: Option<MemoryKind>,
    #[command(flatten)]
    pub(crate) questions: Questions,
    /// Add the topic to the team's memory, for everyone
    #[arg(long)]
    pub(crate) team: bool,
    /// Add the topic to your own memory, which applies to all projects [default for the type `user`]
    #[arg(long, conflicts_with = "team")]
    pub(crate) me: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct OfTeam {
    /// Use the team's memory
    #[arg(long)]
    pub(crate) team: bool,
    /// Use your own memory, which applies to all projects
    #[arg(long, conflicts_with = "team")]
    pub(crate) me: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OneMemory {
    /// The topic's name, with or without .md
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) of: OfTeam,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AllowSecret {
    /// Allow text that this rule of the secret scan flagged; RULE:LINE allows one line; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) allow_secret: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Questions {
    /// A question that the topic answers, worded differently from the topic itself; may be repeated
    #[arg(long, value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddMemory {
    #[command(flatten)]
    pub(crate) one: OneMemory,
    /// Read the text from this file; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// The topic's type
    #[arg(long = "type", value_name = "TYPE", value_parser = words::<MemoryKind>(MemoryKind::ALL.map(MemoryKind::as_str)))]
    pub(crate) kind: Option<MemoryKind>,
    /// One line that says when the topic is relevant
    #[arg(long)]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) questions: Questions,
    #[command(flatten)]
    pub(crate) allow: AllowSecret,
}

#[derive(Debug, Args)]
pub(crate) struct RememberArgs {
    /// What to remember, in a few sentences at most
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// The topic's type [default: guessed from the text; none if the text is unclear]
    #[arg(long = "type", value_name = "TYPE", value_parser = words::<MemoryKind>(MemoryKind::ALL.map(MemoryKind::as_str)))]
    pub(crate) kind: Option<MemoryKind>,
    /// The topic's name [default: derived from the description]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// One line that says when the topic is relevant [default: the first sentence]
    #[arg(long)]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) questions: Questions,
    /// Add the topic to the team's memory, for everyone
    #[arg(long)]
    pub(crate) team: bool,
    /// Add the topic to your own memory, which applies to all projects [default for the type `user`]
    #[arg(long, conflicts_with = "team")]
    pub(crate) me: bool,
    #[command(flatten)]
    pub(crate) allow: AllowSecret,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Recall {
    #[command(subcommand)]
    pub(crate) command: Option<RecallCommand>,
    /// A question, or a description of your task
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Another wording of the question; may be repeated
    #[arg(long, value_name = "QUERY")]
    pub(crate) or: Vec<String>,
    /// Show at most this many memories
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Show each topic as it appears in a prompt (at most 200 lines or 4,096 bytes)
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecallCommand {
    /// Check that a search for a topic's own words finds it, and that no topic is recalled too often
    #[command(after_help = "Example: bethink recall check")]
    Check,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InstructionsArgs {
    /// Show what would be loaded after the agent reads or writes this file; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) touch: Vec<String>,
    #[command(subcommand)]
    pub(crate) command: Option<InstructionsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InstructionsCommand {
    /// Allow this project to load a file that needs approval
    #[command(after_help = "Example: bethink instructions approve ../shared/RULES.md")]
    Approve {
        /// The file to approve
        path: String,
    },
    /// Undo an approval
    #[command(after_help = "Example: bethink instructions revoke ../shared/RULES.md")]
    Revoke {
        /// The file whose approval to revoke
        path: String,
    },
}
