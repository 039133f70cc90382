//! Finds again what a session said: index terms of a message, terms of a query, the part of a text
//! that answers it, and the names in a text that are worth remembering.
//!
//! Owns the analysis, which must be the same for what is indexed and what is asked. Leaves ranking
//! and storage to the store, and what to do with a hit to the daemon.
//!
//! Reading order: [`words`] → [`terms`] → [`fields`] → [`query`] → [`snippet`], and apart from them
//! [`names`].

pub mod fields;
pub mod names;
pub mod query;
pub mod snippet;
mod stop;
pub mod terms;
pub mod words;

pub use fields::{Fields, fields, for_each_json_string};
pub use names::{for_each_name, is_plain, last_part, last_two_parts};
pub use query::query_terms;
pub use snippet::snippet;
pub use terms::{Analyzer, analyze};
