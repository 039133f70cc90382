//! The texts that stand where something was left out. The model reads them: each says what is
//! missing and how to get it back.

use bethink_transcript::{Seq, json};

/// Bytes of a large result that stay readable.
pub const PREVIEW_BYTES: usize = 2_000;

/// What the texts need to point at the original.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Id of the session, for the history endpoint.
    pub session: String,
}

impl Hints {
    /// The command that shows message `seq` whole.
    fn command(&self, seq: Seq) -> String {
        format!("`bethink history --session {} --message {seq}`", self.session)
    }

    /// How to read message `seq` whole, by command and by endpoint.
    pub fn whereabouts(&self, seq: Seq) -> String {
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
            "[Large tool result: {} characters, of which the first {} are shown. The full text is kept in {}]\n{shown}",
            text.chars().count(),
            shown.chars().count(),
            self.whereabouts(seq),
        )
    }

    pub fn cleared(&self, seq: Seq) -> String {
        format!(
            "[Old tool result content cleared] Call the tool again, or read it with {}",
            self.command(seq)
        )
    }

    pub fn snipped(&self, seq: Seq, why: &str) -> String {
        format!("[Tool result left out: {why}] It can be read with {}", self.command(seq))
    }

    /// The beginning of what stands for messages `first` to `last`.
    pub fn collapsed(&self, first: Seq, last: Seq, id: &str) -> String {
        format!(
            "[Messages {first} to {last} stand here in short; what follows goes on from them. Numbers in brackets are message numbers; `bethink expand {id} --session {}` shows the messages whole]",
            self.session
        )
    }

    pub fn clipped(&self, text: &str, keep: usize, seq: Seq) -> String {
        let shown = beginning(text, keep);
        format!(
            "{shown}\n[Shortened at a compaction: {} of {} characters are shown. The full text is kept in {}]",
            shown.chars().count(),
            text.chars().count(),
            self.whereabouts(seq),
        )
    }
}

/// What stands for a result without content.
pub const NO_OUTPUT: &str = "(The tool completed with no output.)";

/// A `content` literal for [`NO_OUTPUT`].
pub fn no_output_literal() -> String {
    json::encode_string(NO_OUTPUT)
}

/// The first `bytes` of `text`, cut at a line end unless that would lose more than half of them.
pub fn beginning(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    match head.rfind('\n') {
        Some(line_end) if line_end * 2 >= bytes => &head[..line_end],
        _ => head,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_at_a_line_unless_that_loses_half() {
        assert_eq!(beginning("short", 10), "short");
        assert_eq!(beginning("one\ntwo\nthree", 9), "one\ntwo");
        assert_eq!(beginning("a\nbbbbbbbbbbbbbb", 10), "a\nbbbbbbbb");
        assert_eq!(beginning("ééééé", 5), "éé");
    }
}
