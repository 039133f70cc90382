use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::MemoryScope;

/// Which memories to search.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemorySearch {
    /// Any directory of the project
    pub project_dir: String,
    /// The words to look for; other forms of the same words match, too
    pub q: String,
    /// Only topics of this scope
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<MemoryScope>,
    /// Maximum number of hits
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
}

/// Topics that contain some of the words, ordered by the number of words found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryHits {
    pub hits: Vec<MemoryHit>,
    /// Number of topics that contain at least one of the words.
    pub total: u64,
    /// Number of topics that were searched.
    pub searched: u64,
}

/// A topic that contains some of the words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryHit {
    pub scope: MemoryScope,
    pub name: String,
    pub description: String,
    /// The part of the text that contains the most of these words.
    pub snippet: String,
    /// Positions of the words in the snippet, as ranges of characters.
    pub highlights: Vec<[usize; 2]>,
}

/// A file that another memory program exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportMemories {
    pub project_dir: String,
    #[serde(default)]
    pub scope: MemoryScope,
    /// The JSON that claude-mem or mem0 exported.
    pub text: String,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoriesImported {
    /// The program that made the export.
    pub from: String,
    /// Names of the new topics.
    pub imported: Vec<String>,
    /// Number of entries that were skipped because an existing topic says the same.
    pub known: u64,
    /// Number of entries that were skipped because they contain no text.
    pub empty: u64,
    /// Reasons why entries were not imported. They never quote a secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}
