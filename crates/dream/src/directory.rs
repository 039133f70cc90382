//! What a dream is given: the files of one directory as text, and what sessions taught since.

use bethink_memdir::{Name, Scope};
use bethink_transcript::UnixMicros;

/// One memory directory. A private one holds nothing of the team's, and the other way round.
#[derive(Clone, Debug)]
pub struct DreamDirectory {
    pub scope: Scope,
    /// `None`: there is none.
    pub index: Option<String>,
    /// A person put this index back: it is left as it is.
    pub index_put_back: bool,
    pub topics: Vec<DreamTopic>,
    /// Topics that are there and can't be read: too large, not UTF-8. An index line that leads to one is no dead link.
    pub unread: Vec<Name>,
}

#[derive(Clone, Debug)]
pub struct DreamTopic {
    pub name: Name,
    /// The whole file, front matter included.
    pub text: String,
    pub modified: UnixMicros,
    /// It stands as this daemon wrote it last. A person's hand makes it a person's file, whatever its header says.
    pub untouched: bool,
    /// A person put this version back: it is left as it is, and nothing is done twice against their will.
    pub put_back: bool,
}

/// A topic that a session taught, as it would stand in its file, source included.
#[derive(Clone, Debug)]
pub struct TaughtTopic {
    pub name: Name,
    pub text: String,
}
