//! A small sentence encoder: texts of similar meaning get similar vectors.
//!
//! Runs the six layers of MiniLM on the CPU. The weights are 4-bit numbers and remain in the program's file: a row is
//! unpacked when it is used, so an idle encoder needs no memory of its own. Callers decide what to encode and how to
//! store the vectors.
//!
//! Reading order: [`weights`] → [`word_pieces`] → `vectorized` → `matrix` → `layer` → [`encoder`] → [`embedding`].

pub mod embedding;
pub mod encoder;
mod layer;
mod matrix;
mod vectorized;
pub mod weights;
pub mod word_pieces;

pub use embedding::Embedding;
pub use encoder::Encoder;
pub use weights::BrokenWeights;
