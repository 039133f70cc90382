//! The input of a dream: the files of one directory as text, and what was learned from sessions since.

use bethink_memdir::{Name, Scope};
use bethink_transcript::UnixMicros;

/// One memory directory. A private directory contains no team files, and vice versa.
#[derive(Clone, Debug)]
pub struct DreamDirectory {
    pub scope: Scope,
    /// `None` if there is no index.
    pub index: Option<String>,
    /// Whether a person restored this index. If so, it is left as it is.
    pub index_put_back: bool,
    pub topics: Vec<DreamTopic>,
    /// Existing topics that cannot be read because they are too large or not UTF-8. Index links to them are not dead.
    pub unread: Vec<Name>,
}

#[derive(Clone, Debug)]
pub struct DreamTopic {
    pub name: Name,
    /// The whole file, including front matter.
    pub text: String,
    pub modified: UnixMicros,
    /// Whether only this daemon has written the file, and no person has changed it.
    pub untouched: bool,
    /// Whether a person restored this version. If so, it is left as it is.
    pub put_back: bool,
}

/// A topic that was learned from a session, with the whole text for its file, including the source.
#[derive(Clone, Debug)]
pub struct TaughtTopic {
    pub name: Name,
    pub text: String,
}
