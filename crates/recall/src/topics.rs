//! Finds the topics of a memory directory that a question is about, if any.
//!
//! This module contains the catalog of a directory (postings without text), the ranking with its threshold, the rule
//! about recently used tools, and the list from which a model chooses.

mod ask;
pub mod card;
pub mod catalog;
mod fit;
mod kin;
pub mod manifest;
pub mod select;
mod tools;
pub mod weights;
mod words;

pub use card::Card;
pub use catalog::{Catalog, TopicId};
pub use manifest::{Manifest, ManifestRow, read_pick};
pub use select::{CatalogQuery, Pick, Why};
