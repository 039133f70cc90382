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
        GitError::Failed { why, .. } => (kind_of(why), hint_of(why)),
        GitError::TooMuch { .. } => (ErrorKind::TooLarge, "is this a repository of memory alone?"),
        GitError::Io { .. } => (ErrorKind::Internal, "the daemon's log tells more"),
    };
    ServiceError::new(kind, detail).hint(hint)
}

fn kind_of(why: GitTrouble) -> ErrorKind {
    match why {
        GitTrouble::Password | GitTrouble::HostKey | GitTrouble::NotFound | GitTrouble::Offline => {
            ErrorKind::Unreachable
        }
        GitTrouble::Full => ErrorKind::StorageFull,
        _ => ErrorKind::Conflict,
    }
}

fn hint_of(why: GitTrouble) -> &'static str {
    match why {
        GitTrouble::Password => "`git ls-remote` with the same address shows what works by hand",
        GitTrouble::HostKey => "`ssh` to the host once, and check its key",
        GitTrouble::NotFound => "is the address right, and may this person read it?",
        GitTrouble::Offline => "nothing was lost; sync again when the network is back",
        GitTrouble::Refused => "the remote's own rules say why; nothing was lost here",
        GitTrouble::Ownership => "`git config --global --add safe.directory PATH`, if it is yours",
        GitTrouble::Locked => "if no git runs, remove the lock file that it names",
        GitTrouble::Corrupt => "clone the remote anew beside it, and copy your files there",
        GitTrouble::NoRepository => "`bethink team init` makes one",
        GitTrouble::Full => "free some space; nothing was changed",
        GitTrouble::Protocol | GitTrouble::Rejected | GitTrouble::Other => {
            "`git` by hand in the team directory shows more"
        }
    }
}
