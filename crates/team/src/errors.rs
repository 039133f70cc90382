//! What git could not do, as errors of the service.

use bethink_git::{GitError, GitTrouble};
use bethink_service::{ErrorKind, ServiceError};

/// What git could not do, with what a person can do about it.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
pub(crate) fn git_error(error: GitError) -> ServiceError {
    let detail = error.to_string();
    let (kind, hint) = match error {
        GitError::NoGit => (ErrorKind::Conflict, "`bethink team init --dir` shares a plain folder"),
        GitError::TooSlow { .. } => (ErrorKind::Unreachable, "nothing was lost; sync again later"),
        GitError::Failed { why, .. } => trouble(why),
        GitError::TooMuch { .. } => (ErrorKind::TooLarge, "is this a repository of memory alone?"),
        GitError::Io { .. } => (ErrorKind::Internal, "the daemon's log tells more"),
    };
    ServiceError::new(kind, detail).hint(hint)
}

fn trouble(why: GitTrouble) -> (ErrorKind, &'static str) {
    use ErrorKind::{Conflict, StorageFull, Unreachable};
    match why {
        GitTrouble::Password => {
            (Unreachable, "`git ls-remote` with the same address shows what works by hand")
        }
        GitTrouble::HostKey => (Unreachable, "`ssh` to the host once, and check its key"),
        GitTrouble::NotFound => (Unreachable, "is the address right, and may this person read it?"),
        GitTrouble::Offline => {
            (Unreachable, "nothing was lost; sync again when the network is back")
        }
        GitTrouble::Refused => (Conflict, "the remote's own rules say why; nothing was lost here"),
        GitTrouble::Ownership => {
            (Conflict, "`git config --global --add safe.directory PATH`, if it is yours")
        }
        GitTrouble::Locked => (Conflict, "if no git runs, remove the lock file that it names"),
        GitTrouble::Corrupt => {
            (Conflict, "clone the remote anew beside it, and copy your files there")
        }
        GitTrouble::NoRepository => (Conflict, "`bethink team init` makes one"),
        GitTrouble::Full => (StorageFull, "free some space; nothing was changed"),
        GitTrouble::Protocol | GitTrouble::Rejected | GitTrouble::Other => {
            (Conflict, "`git` by hand in the team directory shows more")
        }
    }
}
