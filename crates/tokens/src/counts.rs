//! Counts of the pieces of a text or a block, and their cost in tokens.

use bethink_transcript::{Block, BlockKind};

use crate::kind::{KINDS, MILLI, TokenKind};
use crate::scan;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts([u32; KINDS]);

impl TokenCounts {
    pub fn of_text(text: &str) -> Self {
        let mut counts = Self::default();
        scan::text(text, &mut counts);
        counts
    }

    pub fn of_json(json: &str) -> Self {
        let mut counts = Self::default();
        scan::json(json, &mut counts);
        counts
    }

    /// Counts a content block as a provider does; `text` is [`Block::text`].
    pub fn of_block(block: &Block, text: &str) -> Self {
        let mut counts = Self::default();
        match &block.kind {
            BlockKind::Image | BlockKind::Document => counts.add(TokenKind::Media, 1),
            BlockKind::ToolUse { .. } => {
                scan::json(block.input(), &mut counts);
                counts.add(TokenKind::Call, 1);
            }
            BlockKind::ToolResult { .. } => {
                scan::text(text, &mut counts);
                counts.add(TokenKind::Media, u32::from(block.media));
                counts.add(TokenKind::Result, 1);
            }
            BlockKind::Text => scan::text(text, &mut counts),
            BlockKind::Thinking => {
                scan::text(text, &mut counts);
                counts.add(TokenKind::Thought, 1);
            }
            // Encrypted text, counted as letters without words.
            BlockKind::RedactedThinking => {
                counts.add(TokenKind::Long, u32::try_from(block.json.len()).unwrap_or(u32::MAX));
                counts.add(TokenKind::Thought, 1);
            }
            BlockKind::Other(_) => scan::json(block.as_str(), &mut counts),
        }
        counts
    }

    #[inline]
    pub fn add(&mut self, kind: TokenKind, times: u32) {
        if let Some(count) = self.0.get_mut(kind as usize) {
            *count = count.saturating_add(times);
        }
    }

    pub fn merge(&mut self, other: &TokenCounts) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }

    pub fn of(&self, kind: TokenKind) -> u32 {
        self.0.get(kind as usize).copied().unwrap_or(0)
    }

    /// Returns the cost in tokens, rounded up: any content costs at least one.
    pub fn tokens(&self) -> u32 {
        let milli: u64 = TokenKind::ALL.iter().map(|k| u64::from(self.of(*k)) * k.milli()).sum();
        u32::try_from(milli.div_ceil(MILLI)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counts: &TokenCounts, expect: &[(TokenKind, u32)]) {
        for kind in TokenKind::ALL.into_iter().filter(|k| *k != TokenKind::Free) {
            let want = expect.iter().find(|(k, _)| *k == kind).map_or(0, |(_, n)| *n);
            assert_eq!(counts.of(kind), want, "{}: {counts:?}", kind.name());
        }
    }

    #[test]
    fn pieces_are_counted_where_they_meet() {
        use TokenKind::*;
        for (text, expect) in [
            ("", &[][..]),
            ("plain words here", &[(Word, 3)]),
            ("A parseFile HTTPServer", &[(Capital, 3), (Word, 1)]),
            ("snake_case(x);", &[(Word, 3), (Mark, 3), (Marks, 1)]),
            ("1234 5", &[(Digits, 2), (Digit, 3)]),
            ("a\n\n    b", &[(Word, 2), (Line, 1), (Indent, 3)]),
            ("     1→use", &[(Indent, 4), (Digits, 1), (Symbol, 1), (Word, 1)]),
            ("记忆 か 한", &[(Cjk, 4)]),
            ("né Привет", &[(Word, 1), (Script, 7)]),
            ("👍🏽", &[(Emoji, 2)]),
            ("สวัสดี नम", &[(Cjk, 8)]),
        ] {
            check(&TokenCounts::of_text(text), expect);
        }
    }

    #[test]
    fn an_escape_costs_what_it_stands_for() {
        for (json, text) in [
            (r#"a\nb"#, "a\nb"),
            (r#"a\n\n\t\tb \\ \" \/"#, "a\n\n\t\tb \\ \" /"),
            (r#"\u8bb0\u5fc6 \u0041b\u00e9"#, "记忆 Abé"),
            (r#"\ud83d\udc4d"#, "👍"),
        ] {
            assert_eq!(TokenCounts::of_json(json), TokenCounts::of_text(text), "{json}");
        }
    }

    #[test]
    fn broken_escapes_are_counted_and_no_more() {
        for json in ["\\", "\\u", "\\u12", "\\uzzzz", "\\u1é34", "\\ud83d"] {
            assert!(TokenCounts::of_json(json).tokens() <= 8, "{json}");
        }
    }

    #[test]
    fn no_long_text_is_nearly_free() {
        for text in ["x".repeat(3_000), "Z".repeat(3_000), "9".repeat(3_000), "aB3".repeat(1_000)] {
            let tokens = TokenCounts::of_text(&text).tokens();
            assert!((800..=3_500).contains(&tokens), "{text:.6}…: {tokens}");
        }
    }
}
