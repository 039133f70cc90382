//! Decides whether a file may be read, based on its real path.

use std::io;
use std::path::{Path, PathBuf};

use super::{FileCandidate, Gather};
use crate::disk::{FileLook, FileType};
use crate::limits::MOST_DEPTH;
use crate::report::Reason;
use crate::secret;

/// The real path of a refused file, and the reason.
pub(super) type Refusal = (Option<PathBuf>, Reason);

impl Gather<'_> {
    /// Checks a file; `None` if it does not exist.
    pub(super) fn admit(&self, candidate: &FileCandidate) -> Result<Option<FileLook>, Refusal> {
        let look = match self.disk.look(&candidate.path) {
            Ok(look) => look,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err((None, Reason::Unreadable { error: error.to_string() })),
        };
        match self.refusal(candidate, &look) {
            Some(reason) => Err((Some(look.real), reason)),
            None => Ok(Some(look)),
        }
    }

    fn refusal(&self, candidate: &FileCandidate, look: &FileLook) -> Option<Reason> {
        match look.node {
            _ if secret::is_of_the_system(&look.real) => return Some(Reason::OfTheSystem),
            FileType::Other => return Some(Reason::NotAFile),
            FileType::Directory => return Some(Reason::Directory),
            FileType::File => {}
        }
        if candidate.trail.contains(&look.real) {
            return Some(Reason::Cycle);
        }
        if let Some(path) = self.by_path.get(&look.real) {
            return Some(Reason::AlreadyLoaded { path: path.clone() });
        }
        if candidate.trail.len() > MOST_DEPTH {
            return Some(Reason::TooDeep);
        }
        if self.approved.contains(&look.real) {
            return None;
        }
        self.needs_approval(candidate, &look.real)
    }

    fn needs_approval(&self, candidate: &FileCandidate, real: &Path) -> Option<Reason> {
        let below = real.strip_prefix(&self.real_root).ok();
        // Outside the project, only the file's name counts, because a project may be in any directory.
        if let Some(what) = secret::looks_secret(below.unwrap_or(real)) {
            return Some(Reason::Secret { what });
        }
        match below {
            Some(below) => secret::is_foreign(below).then_some(Reason::Foreign),
            None => (!candidate.own).then(|| Reason::Outside { real: real.to_path_buf() }),
        }
    }

    pub(super) fn is_inside(&self, real: &Path) -> bool {
        real.starts_with(&self.real_root)
    }
}

/// Returns whether the error means that there is no file. A parent that is a file, or an invalid name, counts as no
/// file too.
pub(super) fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput | InvalidFilename)
}
