//! What the daemon remembers of notes that it wrote.

use serde::{Deserialize, Serialize};

/// Begins the key of a line of the template.
pub(crate) const TEMPLATE_KEY: char = '~';

/// What the daemon knows of a file that it wrote: kept beside it, for the next merge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WrittenNotes {
    /// The daemon's own lines in the file.
    pub rows: Vec<WrittenRow>,
    /// Rows that a person removed, oldest first.
    pub removed: Vec<RowId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenRow {
    #[serde(flatten)]
    pub id: RowId,
    pub text: String,
}

/// A row by its section's heading and its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowId {
    pub section: String,
    pub key: String,
}
