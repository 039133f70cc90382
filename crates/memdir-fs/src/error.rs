//! Errors. Each error names the path and says what to do.

use std::io;
use std::path::PathBuf;

use bethink_memdir::BadName;
use rustix::io::Errno;

use crate::limits::{MOST_BYTES, MOST_ENTRIES};

/// The reason why a directory cannot be a memory directory.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error(
        "{path:?} is a symbolic link, which is allowed only for a memory directory that is named in the settings: name the link's target in the settings, or replace the link with a directory"
    )]
    Linked { path: PathBuf },
    #[error("{path:?} is not a directory")]
    NotADirectory { path: PathBuf },
    #[error("could not open the memory directory {path:?}")]
    Io { path: PathBuf, source: io::Error },
}

/// The reason why a file was not read or written. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The directory was moved during the write. The written text is in the moved directory.
    #[error("the memory directory {path:?} was moved, removed or replaced; try again")]
    Moved { path: PathBuf },
    #[error("{file} {why}")]
    Strange { file: String, why: UnusableReason },
    #[error("{file} and {twin} are the same name on some systems: choose another name")]
    Twin { file: String, twin: String },
    #[error("{file} is read-only: make it writable first")]
    ReadOnly { file: String },
    #[error(
        "{path:?} has more than {MOST_ENTRIES} entries, which is the limit for a memory directory"
    )]
    TooMany { path: PathBuf },
    #[error("no permission to {doing} {file}")]
    Denied { doing: &'static str, file: String, source: io::Error },
    #[error("not enough disk space to {doing} {file}")]
    NoRoom { doing: &'static str, file: String, source: io::Error },
    #[error("could not {doing} {file}")]
    Io { doing: &'static str, file: String, source: io::Error },
}

/// The reason why an entry is not a memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableReason {
    #[error("is a symbolic link that points outside the directory")]
    Outside,
    #[error("is a symbolic link to a hidden file")]
    Hidden,
    #[error("is a symbolic link into the team's directory")]
    Team,
    #[error("is in the team's directory, which is managed separately")]
    OfTheTeam,
    #[error("is a broken symbolic link")]
    Dangling,
    #[error("is a symbolic link, which bethink does not change: remove or rename it yourself")]
    Linked,
    #[error("has a parent directory that is a symbolic link")]
    LinkedFolder,
    #[error("has a parent that is not a directory")]
    NotAFolder,
    #[error("is not a regular file")]
    NotAFile,
    #[error("is nested too deeply")]
    TooDeep,
    #[error("is {bytes} bytes; the limit is {MOST_BYTES}")]
    TooLarge { bytes: u64 },
    #[error("has a name that is not UTF-8")]
    NotText,
    #[error("has a name that {}", .0.why)]
    Name(BadName),
    #[error("could not be read: {0}")]
    Unreadable(String),
    #[error(
        "kept changing while bethink was writing it; the text that another program wrote is in {0}"
    )]
    Contended(String),
}

impl FileError {
    pub(crate) fn strange(file: impl Into<String>, why: UnusableReason) -> Self {
        FileError::Strange { file: file.into(), why }
    }

    /// Classifies an error by what a person can do about it.
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
