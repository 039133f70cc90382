//! A small sentence encoder: texts of similar meaning get similar vectors.
//!
//! Runs the three layers of MiniLM on the CPU. The weights are 4-bit numbers and stay where they are, in the
//! program's file: a row is widened when it is used, so that an idle encoder needs no memory of its own. This crate
//! decides neither what is encoded nor how vectors are stored.
//!
//! Reading order: [`weights`] → [`word_pieces`] → `matrix` → `layer` → [`encoder`] → [`embedding`].

pub mod embedding;
pub mod encoder;
mod layer;
mod matrix;
pub mod weights;
pub mod word_pieces;

pub use embedding::Embedding;
pub use encoder::Encoder;
pub use weights::BrokenWeights;
