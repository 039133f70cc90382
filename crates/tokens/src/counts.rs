//! What was counted in a text or a block, and what that costs.

use bethink_transcript::{Block, BlockKind};

use crate::kind::{KINDS, Kind, MILLI};
use crate::scan;

/// How often each kind occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u32; KINDS]);

impl Counts {
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

    /// A content block as a provider counts it.
    pub fn of_block(block: &Block) -> Self {
        let mut counts = Self::default();
        match &block.kind {
            BlockKind::Image | BlockKind::Document => counts.add(Kind::Media, 1),
            BlockKind::ToolUse { .. } => {
                scan::json(block.input(), &mut counts);
                counts.add(Kind::Call, 1);
            }
            BlockKind::ToolResult { .. } => {
                scan::text(&block.text(), &mut counts);
                counts.add(Kind::Media, u32::from(block.media));
                counts.add(Kind::Result, 1);
            }
            BlockKind::Text => scan::text(&block.text(), &mut counts),
            BlockKind::Thinking => {
                scan::text(&block.text(), &mut counts);
                counts.add(Kind::Thought, 1);
            }
            // Sealed text, which costs what its plain text would: as letters without words.
            BlockKind::RedactedThinking => {
                counts.add(Kind::Long, u32::try_from(block.json.len()).unwrap_or(u32::MAX));
                counts.add(Kind::Thought, 1);
            }
            BlockKind::Other(_) => scan::json(block.as_str(), &mut counts),
        }
        counts
    }

    #[inline]
    pub fn add(&mut self, kind: Kind, times: u32) {
        if let Some(count) = self.0.get_mut(kind as usize) {
            *count = count.saturating_add(times);
        }
    }

    /// Both together.
    pub fn merge(&mut self, other: &Counts) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }

    pub fn of(&self, kind: Kind) -> u32 {
        self.0.get(kind as usize).copied().unwrap_or(0)
    }

    /// Rounded up: what is not empty costs something.
    pub fn tokens(&self) -> u32 {
        let milli: u64 = Kind::ALL.iter().map(|k| u64::from(self.of(*k)) * k.milli()).sum();
        u32::try_from(milli.div_ceil(MILLI)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counts: &Counts, expect: &[(Kind, u32)]) {
        for kind in Kind::ALL.into_iter().filter(|k| *k != Kind::Free) {
            let want = expect.iter().find(|(k, _)| *k == kind).map_or(0, |(_, n)| *n);
            assert_eq!(counts.of(kind), want, "{}: {counts:?}", kind.name());
        }
    }

    #[test]
    fn pieces_are_counted_where_they_meet() {
        use Kind::*;
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
            check(&Counts::of_text(text), expect);
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
            assert_eq!(Counts::of_json(json), Counts::of_text(text), "{json}");
        }
    }

    #[test]
    fn broken_escapes_are_counted_and_no_more() {
        for json in ["\\", "\\u", "\\u12", "\\uzzzz", "\\u1é34", "\\ud83d"] {
            assert!(Counts::of_json(json).tokens() <= 8, "{json}");
        }
    }

    #[test]
    fn no_long_text_is_nearly_free() {
        for text in ["x".repeat(3_000), "Z".repeat(3_000), "9".repeat(3_000), "aB3".repeat(1_000)] {
            let tokens = Counts::of_text(&text).tokens();
            assert!((800..=3_500).contains(&tokens), "{text:.6}…: {tokens}");
        }
    }
}
