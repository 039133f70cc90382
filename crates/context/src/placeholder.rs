//! The texts that replace omitted content. The model reads them: each says what is missing and how to read it.

use bethink_transcript::Seq;
use bethink_transcript::text::beginning;

/// Maximum size of a preview, in bytes.
pub const PREVIEW_BYTES: usize = 2_000;

/// The session that the texts refer to.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    pub session: String,
}

impl Hints {
    fn command(&self, seq: Seq) -> String {
        format!("`bethink history --session {} --message {seq}`", self.session)
    }

    /// Says how to read message `seq` in full, by command and by endpoint.
    pub fn full_text_hint(&self, seq: Seq) -> String {
        format!(
            "message {seq}: {} or GET /v1/sessions/{}/messages?after_seq={}&limit=1",
            self.command(seq),
            self.session,
            seq.0.saturating_sub(1)
        )
    }

    pub fn preview(&self, text: &str, seq: Seq) -> String {
        let shown = beginning(text, PREVIEW_BYTES);
        format!(
            "[Large tool result: {} characters, of which the first {} are shown. The full text is in {}]\n{shown}",
            text.chars().count(),
            shown.chars().count(),
            self.full_text_hint(seq),
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

    pub fn clipped(&self, text: &str, keep: usize, seq: Seq) -> String {
        let shown = beginning(text, keep);
        format!(
            "{shown}\n[Shortened by a compaction: {} of {} characters are shown. The full text is in {}]",
            shown.chars().count(),
            text.chars().count(),
            self.full_text_hint(seq),
        )
    }
}

/// Replaces a result without content.
pub const NO_OUTPUT: &str = "(The tool completed with no output.)";
