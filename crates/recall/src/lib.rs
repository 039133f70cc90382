//! Finds again what a session said: index terms of a message, what is asked, which messages answer, the
//! part of a text that does; and of a memory directory the topics that a question is about.
//!
//! Owns the analysis, which must be the same for what is indexed and what is asked, and the ranking.
//! Leaves to the store where terms stand, and to the daemon what to do with a hit.
//!
//! Reading order: `stem` → [`terms`] → [`fields`] → [`marks`] ([`days`]) → [`question`]
//! ([`query`]) → [`rank`] (`grid`, [`weights`]) → [`mod@phrase`] →
//! [`snippet`], and apart from them [`topics`].

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
pub use rank::{Evidence, Occurrence, Ranked, SessionExtent, rank};
pub use snippet::{highlights, snippet};
pub use terms::{Analyzer, analyze};
pub use weights::Weights;
