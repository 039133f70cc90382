//! The end of an export, where readers look for its metadata.

use memchr::memmem;

use crate::envelope::{LineEnvelope, text};

/// Claude Code reads this many bytes at the end of each file when it lists sessions.
pub const METADATA_BYTES: u64 = 16 << 10;

/// Records where the metadata of an export was written.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    written: u64,
    /// Positions of the newest title line and tag line.
    title_at: Option<u64>,
    tag_at: Option<u64>,
    open_line: bool,
}

impl Ending {
    /// Must be called for each line that was written, with its head, its raw message and its tail.
    pub fn wrote(&mut self, head: &[u8], raw: &[u8], tail: &[u8]) {
        if raw.is_empty() && tail.is_empty() {
            self.note_metadata(head);
        }
        self.written += (head.len() + raw.len() + tail.len()) as u64;
        let last = [tail, raw, head].into_iter().find_map(<[u8]>::last);
        self.open_line = last.map_or(self.open_line, |byte| *byte != b'\n');
    }

    /// Whether the last line has no line ending, so that one must be written before another line.
    pub fn open_line(&self) -> bool {
        self.open_line
    }

    /// Whether the title and the tags must be written again at the end, because a person has changed them, or because
    /// they are too far from the end for readers to find them. A file without metadata stays unchanged.
    pub fn wants_metadata(&self, changed: bool) -> bool {
        let reach = self.written.saturating_sub(METADATA_BYTES);
        changed || [self.title_at, self.tag_at].into_iter().flatten().any(|at| at < reach)
    }

    fn note_metadata(&mut self, line: &[u8]) {
        // The search is fast, and hardly any line must be parsed.
        let candidate =
            memmem::find(line, b"custom-title").or_else(|| memmem::find(line, b"\"tag\""));
        if candidate.is_none() || line.len() as u64 > METADATA_BYTES {
            return;
        }
        let Ok(record) = serde_json::from_slice::<LineEnvelope<'_>>(line) else { return };
        match text(record.kind).as_deref() {
            Some("custom-title") => self.title_at = Some(self.written),
            Some("tag") => self.tag_at = Some(self.written),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "{\"type\":\"custom-title\",\"customTitle\":\"a\",\"sessionId\":\"s\"}\n";
    const TAG: &str = "{\"type\":\"tag\",\"tag\":\"a\",\"sessionId\":\"s\"}\n";

    fn check(lines: &[&str], changed: bool, expect: bool) {
        let mut ending = Ending::default();
        for line in lines {
            ending.wrote(line.as_bytes(), b"", b"");
        }
        assert_eq!(ending.wants_metadata(changed), expect, "{lines:.60?} changed: {changed}");
    }

    #[test]
    fn metadata_is_wanted_only_where_it_is_out_of_reach_or_changed() {
        let long = format!("{}\n", "x".repeat(METADATA_BYTES as usize));
        check(&[], false, false);
        check(&[&long, &long], false, false);
        check(&[&long], true, true);
        check(&[TITLE], false, false);
        check(&[TITLE, &long], false, true);
        check(&[TITLE, &long, TITLE], false, false);
        check(&[TAG, &long, TITLE], false, true);
        check(&[TAG, TITLE, &long, TITLE, TAG], false, false);
        check(&["{\"type\":\"user\",\"tag\":\"custom-title\"}\n", &long], false, false);
    }

    #[test]
    fn reach_is_counted_to_the_byte() {
        let reach = METADATA_BYTES as usize - TITLE.len();
        check(&["x\n", TITLE, &"x".repeat(reach)], false, false);
        check(&["x\n", TITLE, &"x".repeat(reach + 1)], false, true);
    }

    #[test]
    fn an_open_line_is_noticed() {
        let mut ending = Ending::default();
        assert!(!ending.open_line());
        ending.wrote(b"{", b"m", b"}\n");
        assert!(!ending.open_line());
        ending.wrote(b"{", b"m", b"}");
        assert!(ending.open_line());
        ending.wrote(b"\r\n", b"", b"");
        assert!(!ending.open_line());
    }
}
