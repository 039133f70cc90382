//! The kinds of files in a directory.

use std::fmt;

use crate::name::{BadName, INDEX, Name};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DirectoryFile {
    Index,
    Topic(Name),
}

impl DirectoryFile {
    /// Parses a path relative to the directory: `MEMORY.md`, `plans/fog.md`.
    pub fn parse(path: &str) -> Result<Self, BadName> {
        if path == INDEX {
            Ok(DirectoryFile::Index)
        } else {
            Name::parse(path).map(DirectoryFile::Topic)
        }
    }

    /// Returns the path relative to the directory, with `.md`.
    pub fn path(&self) -> String {
        match self {
            DirectoryFile::Index => INDEX.to_owned(),
            DirectoryFile::Topic(name) => name.file(),
        }
    }
}

impl fmt::Display for DirectoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}
