//! Which topics of a memory directory a question is about, and whether any is.
//!
//! Owns the catalog of a directory (postings, no text), the ranking with its refusal, the rule about tools in
//! recent use, and what a model is shown to choose from. Leaves files, ages and what is done with a pick to others.

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

pub use card::{Card, Field};
pub use catalog::{Catalog, TopicId};
pub use manifest::{Manifest, ManifestRow, read_pick};
pub use select::{CatalogQuery, Pick, Why};
