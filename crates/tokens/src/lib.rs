//! How many tokens something costs: one seam, so that a better estimate changes no caller.
//!
//! Owns the estimate of a text, of JSON and of a content block, and how an estimate learns from what
//! a provider reports. Leaves to others which of a session's figures are fit to learn from
//! (`bethink-context`). No public tokenizer of current Claude models exists; every figure here is an
//! estimate, and diagnostics say so.
//!
//! Reading order: [`kind`] → [`scan`] → [`counts`] → [`calibration`].

pub mod calibration;
pub mod counts;
pub mod kind;
mod scan;

use bethink_transcript::Block;

pub use calibration::Calibration;
pub use counts::Counts;
pub use kind::Kind;

/// Estimates tokens. Implementations are pure; the same input gives the same figure.
pub trait Estimator: Send + Sync + std::fmt::Debug {
    /// Readable text.
    fn text(&self, text: &str) -> u32;
    /// JSON structure, such as a tool definition.
    fn json(&self, json: &str) -> u32;
    /// One content block as it stands in a prompt.
    fn block(&self, block: &Block) -> u32;
}

/// Counts what the bytes of a text are: words, digits, marks, indentation, other scripts.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteEstimator;

impl Estimator for ByteEstimator {
    fn text(&self, text: &str) -> u32 {
        Counts::of_text(text).tokens()
    }

    fn json(&self, json: &str) -> u32 {
        Counts::of_json(json).tokens()
    }

    fn block(&self, block: &Block) -> u32 {
        Counts::of_block(block).tokens()
    }
}
