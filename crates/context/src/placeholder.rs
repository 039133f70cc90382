//! The texts that replace omitted content. The model reads them: each says what is missing and how to read it.

use bethink_transcript::text::beginning;
use bethink_transcript::{Message, Seq, ToolUseId};

use crate::budget::RESULT_CHARS;

/// Maximum size of a preview, in bytes.
pub const PREVIEW_BYTES: usize = 2_000;
/// Maximum size of a part of a result that is read on request, in bytes: below [`RESULT_CHARS`], so that no preview
/// replaces it.
pub const PART_BYTES: usize = 40_000;

/// The session that the texts refer to.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    pub session: String,
}

impl Hints {
    fn command(&self, seq: Seq) -> String {
        format!("`bethink history --session {} --message {seq}`", self.session)
    }

    /// Says how to read the text of a result from byte `from` on, in parts that fit into a budget of `most` characters.
    fn part(&self, message: &Message, id: &ToolUseId, from: usize, most: u64) -> String {
        let command = self.command(message.seq);
        let command = command.trim_end_matches('`');
        let call = match message.blocks.len() {
            1 => String::new(),
            _ => format!(" --call {id}"),
        };
        let part = PART_BYTES.min(usize::try_from(most).unwrap_or(PART_BYTES) * 4 / 5);
        let to = if part < PART_BYTES { (from + part).to_string() } else { String::new() };
        format!("{command}{call} --bytes {from}..{to}`, which shows up to {part} bytes at a time")
    }

    /// Returns the text that replaces a result that is larger than a budget of `most` characters.
    pub fn preview(&self, message: &Message, id: &ToolUseId, text: &str, most: u64) -> String {
        let shown = beginning(text, PREVIEW_BYTES);
        format!(
            "[Large tool result: {} characters, of which the first {} are shown. Read on with {}]\n{shown}",
            text.chars().count(),
            shown.chars().count(),
            self.part(message, id, shown.len(), most),
        )
    }

    pub fn cleared(&self, seq: Seq) -> String {
        format!(
            "[Old tool result content cleared] Call the tool again, or read it with {}",
            self.command(seq)
        )
    }

    pub fn snipped(&self, seq: Seq, why: &str) -> String {
        format!("[Tool result left out: {why}] Read it with {}", self.command(seq))
    }

    /// Returns the beginning of the text that replaces messages `first` to `last`.
    pub fn collapsed(&self, first: Seq, last: Seq, id: &str) -> String {
        format!(
            "[Messages {first} to {last} are shortened here; the messages below continue from them. Numbers in brackets are message numbers; `bethink expand {id} --session {}` shows the messages in full]",
            self.session
        )
    }

    pub fn clipped(&self, message: &Message, id: &ToolUseId, text: &str, keep: usize) -> String {
        let shown = beginning(text, keep);
        format!(
            "{shown}\n[Shortened by a compaction: {} of {} characters are shown. Read on with {}]",
            shown.chars().count(),
            text.chars().count(),
            self.part(message, id, shown.len(), RESULT_CHARS),
        )
    }
}

/// Replaces a result without content.
pub const NO_OUTPUT: &str = "(The tool completed with no output.)";
