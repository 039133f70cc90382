//! How many tokens something costs: one seam, so that a better estimate changes no caller.
//!
//! No public tokenizer of current Claude models exists; every figure here is an estimate, and
//! diagnostics say so. Figures per kind of text are the specification's (section 3).

use bethink_transcript::{Block, BlockKind};

/// Bytes of prose a token.
pub const PROSE_BYTES: u32 = 4;
/// Bytes of JSON structure a token: braces, quotes and keys split finely.
pub const JSON_BYTES: u32 = 2;
/// An image or a document, whatever its bytes.
pub const MEDIA_TOKENS: u32 = 2_000;
/// Estimates are padded by 4/3: too small a figure overflows the window, too large a one compacts
/// early.
const PAD: (u64, u64) = (4, 3);
/// A string inside JSON at least so long reads as prose (file contents, commands), not as structure.
const LONG_STRING: usize = 64;

/// Estimates tokens. Implementations are pure; the same input gives the same figure.
pub trait Estimator: Send + Sync + std::fmt::Debug {
    /// Readable text.
    fn text(&self, text: &str) -> u32;
    /// JSON structure, such as a tool definition.
    fn json(&self, json: &str) -> u32;
    /// One content block as it stands in a prompt.
    fn block(&self, block: &Block) -> u32;
}

/// Counts bytes by kind of text.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteEstimator;

impl Estimator for ByteEstimator {
    fn text(&self, text: &str) -> u32 {
        padded(&Count { prose: text.len() as u64, ..Count::of_cjk(text) })
    }

    fn json(&self, json: &str) -> u32 {
        padded(&Count::of_json(json))
    }

    fn block(&self, block: &Block) -> u32 {
        let text = block.as_str();
        match block.kind {
            BlockKind::Image | BlockKind::Document => MEDIA_TOKENS,
            BlockKind::ToolUse { .. } | BlockKind::Other(_) => self.json(text),
            // Base64 of nested images weighs nothing like text.
            BlockKind::ToolResult { .. } if block.media > 0 => {
                MEDIA_TOKENS * u32::from(block.media) + self.text(&block.text())
            }
            _ => self.text(text),
        }
    }
}

/// Bytes by kind; CJK in characters.
#[derive(Default)]
struct Count {
    prose: u64,
    structure: u64,
    cjk: u64,
}

impl Count {
    fn of_cjk(text: &str) -> Self {
        // Lead bytes E3..=ED open the three-byte characters from U+3000 to U+DFFF: kana, han, hangul.
        let cjk = text.bytes().filter(|b| (0xE3..=0xED).contains(b)).count() as u64;
        Self { cjk, ..Self::default() }
    }

    fn of_json(json: &str) -> Self {
        let mut count = Self::of_cjk(json);
        let bytes = json.as_bytes();
        let mut start = 0;
        let (mut in_string, mut escaped) = (false, false);
        for (i, byte) in bytes.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => {
                    let stretch = (i - start) as u64;
                    if in_string && i - start >= LONG_STRING {
                        count.prose += stretch;
                    } else {
                        count.structure += stretch;
                    }
                    in_string = !in_string;
                    start = i;
                }
                _ => {}
            }
        }
        count.structure += (bytes.len() - start) as u64;
        count
    }
}

fn padded(count: &Count) -> u32 {
    let cjk_bytes = count.cjk * 3;
    let prose = count.prose.saturating_sub(cjk_bytes).div_ceil(u64::from(PROSE_BYTES));
    let structure = count.structure.div_ceil(u64::from(JSON_BYTES));
    let tokens = (prose + structure + count.cjk) * PAD.0 / PAD.1;
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_text_cost_differently() {
        let e = ByteEstimator;
        assert_eq!(e.text(""), 0);
        assert_eq!(e.text(&"word ".repeat(600)), 1_000);
        assert_eq!(e.text(&"记忆".repeat(300)), 800);
        assert_eq!(e.json(r#"{"a":1,"b":2}"#), 9);
        let long = format!(r#"{{"content":"{}"}}"#, "x".repeat(3_000));
        assert!((1_000..1_030).contains(&e.json(&long)), "{}", e.json(&long));
    }
}
