//! Arguments of the context-window commands.

use bethink_api::SummaryLevel;
use clap::Args;

use super::words::words;

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// What the summary should focus on
    #[arg(long)]
    pub(crate) instructions: Option<String>,
    /// How to write the summary: from the session's notes, by a model, or with the built-in algorithm [default: the
    /// first of these that works]
    #[arg(long, value_parser = words::<SummaryLevel>(SummaryLevel::ALL.map(SummaryLevel::as_str)))]
    pub(crate) level: Option<SummaryLevel>,
    /// Maximum length of the summary, in tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) summary_tokens: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Expand {
    /// The id of a compaction or a collapsed span (a unique prefix or suffix is enough) [default: the newest compaction]
    pub(crate) compaction: Option<String>,
    /// Show only messages that match these words, for example a line of the summary
    #[arg(long, short = 's', value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Show whole messages, not only their beginnings
    #[arg(long)]
    pub(crate) full: bool,
}
