//! The kinds of files in a directory.

use std::fmt;

use crate::name::{BadName, INDEX, Name, REJECTIONS};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DirectoryFile {
    Index,
    /// The list of memories that the team rejected.
    Rejections,
    Topic(Name),
}

impl DirectoryFile {
    /// Parses a path relative to the directory: `MEMORY.md`, `plans/fog.md`.
    pub fn parse(path: &str) -> Result<Self, BadName> {
        match path {
            INDEX => Ok(DirectoryFile::Index),
            REJECTIONS => Ok(DirectoryFile::Rejections),
            _ => Name::parse(path).map(DirectoryFile::Topic),
        }
    }

    /// Returns the path relative to the directory, with `.md`.
    pub fn path(&self) -> String {
        match self {
            DirectoryFile::Index => INDEX.to_owned(),
            DirectoryFile::Rejections => REJECTIONS.to_owned(),
            DirectoryFile::Topic(name) => name.file(),
        }
    }
}

impl fmt::Display for DirectoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}
