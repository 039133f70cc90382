//! Converts git errors to service errors.

use bethink_git::{GitError, GitTrouble};
use bethink_service::{ErrorKind, ServiceError};

/// Converts a git error, and adds a hint for a person.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
pub(crate) fn git_error(error: GitError) -> ServiceError {
    let detail = error.to_string();
    let (kind, hint) = match error {
        GitError::NoGit => {
            (ErrorKind::Conflict, "without git, `bethink team init --dir` can share a plain folder")
        }
        GitError::TooSlow { .. } => {
            (ErrorKind::Unreachable, "nothing was lost; run `bethink team sync` again later")
        }
        GitError::Failed { why, .. } => trouble(why),
        GitError::TooMuch { .. } => {
            (ErrorKind::TooLarge, "check that the repository contains only memory files")
        }
        GitError::Io { ref source, .. } => return ServiceError::of_file(&error, source),
    };
    ServiceError::new(kind, detail).hint(hint)
}

fn trouble(why: GitTrouble) -> (ErrorKind, &'static str) {
    use ErrorKind::{Conflict, StorageFull, Unreachable};
    match why {
        GitTrouble::Password => {
            (Unreachable, "to test the access, run `git ls-remote` with the same address")
        }
        GitTrouble::HostKey => {
            (Unreachable, "connect to the host once with `ssh`, and check its key")
        }
        GitTrouble::NotFound => (Unreachable, "check the address and your access rights"),
        GitTrouble::Offline => (
            Unreachable,
            "nothing was lost; run `bethink team sync` again when the network is back",
        ),
        GitTrouble::Refused => (Conflict, "check the remote's rules for pushes; nothing was lost"),
        GitTrouble::Ownership => (
            Conflict,
            "if you trust the repository, run `git config --global --add safe.directory PATH`",
        ),
        GitTrouble::Locked => {
            (Conflict, "if git is not running, remove the lock file that is named above")
        }
        GitTrouble::Corrupt => {
            (Conflict, "clone the remote again into another directory, and copy your files there")
        }
        GitTrouble::NoRepository => (Conflict, "run `bethink team init` to create one"),
        GitTrouble::Full => (StorageFull, "free some space, then try again; nothing was lost"),
        GitTrouble::Protocol | GitTrouble::Rejected | GitTrouble::Other => {
            (Conflict, "run `git status` in the team directory for details")
        }
    }
}
