//! Converts git errors to service errors.

use bethink_git::{GitError, GitTrouble};
use bethink_service::{ErrorKind, ServiceError};

/// Converts a git error, and adds a hint for a person.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
pub(crate) fn git_error(error: GitError) -> ServiceError {
    let detail = error.to_string();
    let (kind, hint) = match error {
        GitError::NoGit => (
            ErrorKind::Conflict,
            "install git, or run `bethink team init --dir DIR` to share a plain folder",
        ),
        GitError::TooSlow { .. } => (ErrorKind::Unreachable, "nothing was lost; try again later"),
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
            (Unreachable, "to test your access, run `git ls-remote` with the same address")
        }
        GitTrouble::HostKey => {
            (Unreachable, "connect to the host once with `ssh`, and check its key")
        }
        GitTrouble::NotFound => (Unreachable, "check the address and your access rights"),
        GitTrouble::Offline => (Unreachable, "check the address and the network; nothing was lost"),
        GitTrouble::Refused => (Conflict, "check the remote's rules for pushes; nothing was lost"),
        GitTrouble::Ownership => (
            Conflict,
            "if you trust the repository, run `git config --global --add safe.directory PATH`",
        ),
        GitTrouble::Locked => {
            (Conflict, "if git is not running, remove the lock file that is named above")
        }
        GitTrouble::Corrupt => (
            Conflict,
            "if `git fsck` in the team directory reports errors, clone the remote again, and copy your files into the clone; otherwise, the remote must be repaired",
        ),
        GitTrouble::NoRepository => {
            (Conflict, "restore `.git` in the team directory, or run `bethink team init` again")
        }
        GitTrouble::Worktree => (
            Conflict,
            "use a clone of the repository, or choose another directory with `bethink team init --dir DIR`",
        ),
        GitTrouble::NoBranch => {
            (Conflict, "check out a branch: run `git switch BRANCH` in the team directory")
        }
        GitTrouble::Rebase => {
            (Conflict, "finish the rebase in the team directory, or run `git rebase --abort` there")
        }
        GitTrouble::Full => (StorageFull, "free some space, then try again; nothing was lost"),
        GitTrouble::Protocol => (Conflict, "change the address of the remote"),
        GitTrouble::Rejected => (Conflict, "nothing was lost; run `bethink team sync` again"),
        GitTrouble::Other => {
            (Conflict, "if git's message does not help, run `git status` in the team directory")
        }
    }
}
