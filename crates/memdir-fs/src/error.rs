//! What can go wrong, each with the place and what helps.

use std::io;
use std::path::PathBuf;

use bethink_memdir::BadName;
use rustix::io::Errno;

use crate::limits::{MOST_BYTES, MOST_ENTRIES};

/// Why a directory can't hold memory.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error(
        "{path:?} is a symbolic link, which only a configured directory may be: name its target"
    )]
    Linked { path: PathBuf },
    #[error("{path:?} is not a directory")]
    NotADirectory { path: PathBuf },
    #[error("could not open the memory directory {path:?}")]
    Io { path: PathBuf, source: io::Error },
}

/// Why a file was not read or written. What stood there before still stands there.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// What was written is in the old directory, wherever that is now.
    #[error("the memory directory {path:?} was moved, removed or replaced: open it again")]
    Moved { path: PathBuf },
    #[error("{file} {why}")]
    Strange { file: String, why: UnusableReason },
    #[error("{file} and {twin} are one name to some systems: choose another")]
    Twin { file: String, twin: String },
    #[error("{file} is read-only: allow writing to it first")]
    ReadOnly { file: String },
    #[error(
        "{path:?} has more than {MOST_ENTRIES} entries, which is the most of a memory directory"
    )]
    TooMany { path: PathBuf },
    #[error("no permission to {doing} {file}")]
    Denied { doing: &'static str, file: String, source: io::Error },
    #[error("no room on the disk to {doing} {file}")]
    NoRoom { doing: &'static str, file: String, source: io::Error },
    #[error("could not {doing} {file}")]
    Io { doing: &'static str, file: String, source: io::Error },
}

/// What keeps an entry from being a memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableReason {
    #[error("is a symbolic link that leads out of the directory")]
    Outside,
    #[error("is a symbolic link to a hidden file")]
    Hidden,
    #[error("is a symbolic link into the team's directory")]
    Team,
    #[error("lies in the team's directory, which has files of its own")]
    OfTheTeam,
    #[error("is a symbolic link to nothing")]
    Dangling,
    #[error("is a symbolic link: remove or rename it by hand")]
    Linked,
    #[error("lies behind a folder that is a symbolic link")]
    LinkedFolder,
    #[error("lies behind something that is no folder")]
    NotAFolder,
    #[error("is no regular file")]
    NotAFile,
    #[error("lies too deep to be read")]
    TooDeep,
    #[error("has {bytes} bytes, and the most is {MOST_BYTES}")]
    TooLarge { bytes: u64 },
    #[error("has a name that is not UTF-8")]
    NotText,
    #[error("has a name that {}", .0.why)]
    Name(BadName),
    #[error("can't be read: {0}")]
    Unreadable(String),
    #[error("was changed again and again while it was written; what was found lies in {0}")]
    Contended(String),
}

impl FileError {
    pub(crate) fn strange(file: impl Into<String>, why: UnusableReason) -> Self {
        FileError::Strange { file: file.into(), why }
    }

    /// Sorted by what a person can do about it.
    pub(crate) fn io(doing: &'static str, file: impl Into<String>, source: io::Error) -> Self {
        let file = file.into();
        match Errno::from_io_error(&source) {
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                FileError::Denied { doing, file, source }
            }
            Some(Errno::NOSPC | Errno::DQUOT) => FileError::NoRoom { doing, file, source },
            _ => FileError::Io { doing, file, source },
        }
    }
}
