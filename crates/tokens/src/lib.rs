//! Estimates how many tokens something costs, in one place, so that a better estimate requires no change to callers.
//!
//! This crate estimates texts, JSON and content blocks, and corrects the estimates based on what a provider reports.
//! `bethink-context` decides which of a session's figures to learn from. There is no public tokenizer for current
//! Claude models, so every figure is an estimate, and diagnostics say so.

mod calibration;
mod counts;
pub mod kind;
mod scan;

use bethink_transcript::Block;

pub use calibration::Calibration;
pub use counts::TokenCounts;
pub use kind::TokenKind;

/// Returns the estimated number of tokens in a text.
pub fn text_tokens(text: &str) -> u32 {
    TokenCounts::of_text(text).tokens()
}

/// Returns the estimated number of tokens in JSON, such as a tool definition.
pub fn json_tokens(json: &str) -> u32 {
    TokenCounts::of_json(json).tokens()
}

/// Returns the estimated number of tokens in a content block of a prompt; `text` is [`Block::text`].
pub fn block_tokens(block: &Block, text: &str) -> u32 {
    TokenCounts::of_block(block, text).tokens()
}
