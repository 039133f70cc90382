//! Which topics of a memory directory a question is about, and whether any is.
//!
//! Owns the catalog of a directory (postings, no text), the ranking with its refusal, the rule about tools in
//! recent use, and what a model is shown to choose from. Leaves files, ages and what is done with a pick to others.
//!
//! Reading order: [`weights`] → `common` → [`card`] → [`catalog`] → `kin` → `ask` → [`mod@select`] → `fit`, and apart
//! from them `tools` and [`manifest`].

mod ask;
pub mod card;
pub mod catalog;
mod common;
mod fit;
mod kin;
pub mod manifest;
pub mod select;
mod tools;
pub mod weights;

pub use card::{Card, Field};
pub use catalog::{Catalog, TopicId};
pub use manifest::{Manifest, Row, read_pick};
pub use select::{Ask, Pick, Why};
