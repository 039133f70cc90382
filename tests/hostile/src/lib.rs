//! Hostile texts, and every engine that reads text from outside.
//!
//! [`HOSTILE_TEXTS`] are texts that make a careless reader take quadratic time or more. [`ENGINES`] are the functions
//! that read what people paste, programs print, models answer, or other people commit. The test `linear` gives each
//! engine each text and doubles its size; the program `figures` prints the worst time of each engine.
//!
//! A new engine that reads text from outside belongs into [`ENGINES`]; a text that was slow once belongs into
//! [`HOSTILE_TEXTS`].

pub mod engines;
pub mod measure;
pub mod texts;

pub use engines::{ENGINES, TextEngine};
pub use measure::least_time;
pub use texts::{HOSTILE_TEXTS, HostileText};
