//! Finds again what a session said: index terms of a message, what is asked, which messages answer, the
//! part of a text that does, the names in a text that are worth remembering; and of a memory directory the topics that
//! a question is about.
//!
//! Owns the analysis, which must be the same for what is indexed and what is asked, and the ranking.
//! Leaves to the store where terms stand, and to the daemon what to do with a hit.
//!
//! Reading order: [`words`] → `stem` → [`terms`] → [`fields`] → [`marks`] ([`days`]) → [`question`]
//! ([`query`], `frame`) → [`rank`] (`grid`, [`weights`]) → [`mod@phrase`] →
//! [`snippet`], and apart from them [`names`] and [`topics`].

pub mod days;
pub mod fields;
mod frame;
mod grid;
pub mod marks;
pub mod names;
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
pub mod words;

pub use fields::{Fields, fields, for_each_json_string};
pub use names::{for_each_name, is_plain, last_part, last_two_parts};
pub use query::query_terms;
pub use question::Question;
pub use rank::{Evidence, Extent, Occurrence, Ranked, rank};
pub use snippet::{highlights, snippet};
pub use terms::{Analyzer, analyze};
pub use weights::Weights;
