//! What the daemon remembers about the notes that it wrote.

use serde::{Deserialize, Serialize};

/// First character of the key of a template line.
pub(crate) const TEMPLATE_KEY: char = '~';

/// What the daemon knows about a file that it wrote, stored for the next merge.
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

/// Identifies a row by its section's heading and its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowId {
    pub section: String,
    pub key: String,
}
