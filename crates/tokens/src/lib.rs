//! How many tokens something costs: one seam, so that a better estimate changes no caller.
//!
//! Owns the estimate of a text, of JSON and of a content block, and how an estimate learns from what
//! a provider reports. Leaves to others which of a session's figures are fit to learn from
//! (`bethink-context`). No public tokenizer of current Claude models exists; every figure here is an
//! estimate, and diagnostics say so.

mod calibration;
mod counts;
pub mod kind;
mod scan;

use bethink_transcript::Block;

pub use calibration::Calibration;
pub use counts::TokenCounts;
pub use kind::TokenKind;

/// Tokens of a readable text.
pub fn text_tokens(text: &str) -> u32 {
    TokenCounts::of_text(text).tokens()
}

/// Tokens of JSON structure, such as a tool definition.
pub fn json_tokens(json: &str) -> u32 {
    TokenCounts::of_json(json).tokens()
}

/// Tokens of a content block, of which `text` is [`Block::text`], as it stands in a prompt.
pub fn block_tokens(block: &Block, text: &str) -> u32 {
    TokenCounts::of_block(block, text).tokens()
}
