//! Search in history and memory: index terms of messages, parsing of questions, ranking, snippets, and the choice of
//! topics in a memory directory that match a question.
//!
//! This crate analyzes text, in the same way for messages and questions, and ranks messages. The store finds where
//! terms occur, and the daemon decides what to do with a hit.
//!
//! Reading order: `stem` → [`terms`] → [`fields`] → [`marks`] ([`days`]) → [`question`]
//! ([`query`]) → [`rank`] (`grid`, [`weights`]) → [`mod@phrase`] →
//! [`snippet`]; separately [`topics`].

pub mod fields;
mod grid;
pub mod marks;
pub mod phrase;
pub mod query;
pub mod question;
pub mod rank;
pub mod snippet;
mod stem;
mod stop;
pub mod terms;
pub mod topics;
pub mod weights;

pub use bethink_days as days;
pub use fields::{Fields, fields};
pub use query::query_terms;
pub use question::Question;
pub use rank::{Evidence, RankedMessage, SessionExtent, rank};
pub use snippet::{highlights, snippet};
pub use terms::{Analyzer, analyze};
pub use weights::Weights;
