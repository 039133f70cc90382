//! A part of a summary with a size limit.

/// The text of an empty section.
pub(crate) const NONE: &str = "- none\n";

/// Lines with a size limit.
#[derive(Debug)]
pub(super) struct SummaryPage {
    text: String,
    limit: usize,
}

impl SummaryPage {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit }
    }

    pub(super) fn left(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Adds the line if it fits.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if line.len() + 1 > self.left() {
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Adds the line, shortened if necessary. Adds nothing if less than a few words fit.
    pub(super) fn line_or_part(&mut self, line: &str) -> bool {
        const FEW_WORDS: usize = 48;
        if self.line(line) {
            return true;
        }
        let room = self.left().saturating_sub(5);
        room >= FEW_WORDS && self.line(&bethink_transcript::text::shorten(line, room))
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
