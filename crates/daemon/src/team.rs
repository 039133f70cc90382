//! Memory that several people share: a git repository, or a folder that is synced by other means.
//!
//! Git is asked for commits and handed contents; the files themselves are read and written as every other
//! memory is, by compare-and-swap with their versions kept. What comes is looked at before it enters the
//! directory, what goes before it leaves, and no history is ever rewritten.
//!
//! The road not taken: `git pull` in the directory, which lets a repository's hooks, filters and links have
//! a say, puts markers of conflicts into prompts, and checks a secret out before anybody looked at it.
//!
//! Reading order: `place` → `plan` → `look` → `sync` → `apply` → `share` → `status` → `proposals`.

mod apply;
mod look;
mod place;
mod plan;
pub(crate) mod proposals;
mod share;
mod status;
mod sync;

pub(crate) use proposals::NewProposal;

use bethink_git::{GitError, Trouble};

use crate::{Kind, Refusal};

/// What git could not do, as a refusal.
fn refused(error: &GitError) -> Refusal {
    let detail = error.to_string();
    let (kind, hint) = match error {
        GitError::NoGit => (Kind::Conflict, "`bethink team init --dir` shares a plain folder"),
        GitError::TooSlow { .. } => (Kind::Unreachable, "nothing was lost; sync again later"),
        GitError::Failed { why, .. } => (kind_of(*why), hint_of(*why)),
        GitError::TooMuch { .. } => (Kind::TooLarge, "is this a repository of memory alone?"),
        GitError::Io { .. } => (Kind::Internal, "the daemon's log tells more"),
    };
    Refusal::new(kind, detail).hint(hint)
}

fn kind_of(why: Trouble) -> Kind {
    match why {
        Trouble::Password | Trouble::HostKey | Trouble::NotFound | Trouble::Offline => {
            Kind::Unreachable
        }
        Trouble::Full => Kind::StorageFull,
        _ => Kind::Conflict,
    }
}

fn hint_of(why: Trouble) -> &'static str {
    match why {
        Trouble::Password => "`git ls-remote` with the same address shows what works by hand",
        Trouble::HostKey => "`ssh` to the host once, and check its key",
        Trouble::NotFound => "is the address right, and may this person read it?",
        Trouble::Offline => "nothing was lost; sync again when the network is back",
        Trouble::Refused => "the remote's own rules say why; nothing was lost here",
        Trouble::Ownership => "`git config --global --add safe.directory PATH`, if it is yours",
        Trouble::Locked => "if no git runs, remove the lock file that it names",
        Trouble::Corrupt => "clone the remote anew beside it, and copy your files there",
        Trouble::NoRepository => "`bethink team init` makes one",
        Trouble::Full => "free some space; nothing was changed",
        Trouble::Protocol | Trouble::Rejected | Trouble::Other => {
            "`git` by hand in the team directory shows more"
        }
    }
}
