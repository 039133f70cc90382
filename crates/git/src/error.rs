//! Git errors, classified by what a person or a retry can do about them.

use std::io;
use std::time::Duration;

/// Maximum number of characters that are kept from git's messages.
const MOST_SAID: usize = 300;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("could not run git, which may not be installed")]
    NoGit,
    #[error("could not {doing}: git did not finish within {after:?}")]
    TooSlow { doing: &'static str, after: Duration },
    #[error("could not {doing}: git's output is larger than {limit} bytes")]
    TooMuch { doing: &'static str, limit: usize },
    #[error("could not {doing}: {why}{}", quoted(said))]
    Failed { doing: &'static str, why: GitTrouble, said: String },
    #[error("could not {doing}")]
    Io {
        doing: &'static str,
        #[source]
        source: io::Error,
    },
}

/// The reason why git failed, derived from its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitTrouble {
    #[error(
        "the remote refused the login, and bethink cannot enter a password: set up an SSH key or a git credential helper"
    )]
    Password,
    #[error("the remote's host key is unknown or has changed")]
    HostKey,
    #[error("remote not found, or access denied")]
    NotFound,
    #[error("could not reach the remote")]
    Offline,
    #[error("the branch has changed in the meantime")]
    Rejected,
    #[error("the remote rejected the push")]
    Refused,
    #[error("this kind of address is not allowed: use https, ssh, file or a path")]
    Protocol,
    #[error("the repository belongs to another user: add it to git's safe.directory to trust it")]
    Ownership,
    #[error("another git process is running, or has left a lock file behind")]
    Locked,
    #[error("the local or the remote repository is damaged")]
    Corrupt,
    #[error("`.git` in the directory is missing or incomplete")]
    NoRepository,
    #[error("`.git` must be a directory; linked worktrees and submodules are not supported")]
    Worktree,
    #[error(
        "no branch is checked out, or the branch's name contains characters that bethink does not support"
    )]
    NoBranch,
    #[error("a rebase is not finished")]
    Rebase,
    #[error("the disk is full")]
    Full,
    #[error("git failed")]
    Other,
}

impl GitError {
    pub(crate) fn failed(doing: &'static str, said: &[u8]) -> Self {
        let said = clean(&String::from_utf8_lossy(said));
        Self::Failed { doing, why: classify(&said), said: brief(&said) }
    }

    pub(crate) fn unknown_format(doing: &'static str) -> Self {
        let said = "git's output has an unknown format".to_owned();
        Self::Failed { doing, why: GitTrouble::Other, said }
    }

    pub fn trouble(&self) -> Option<GitTrouble> {
        match self {
            Self::Failed { why, .. } => Some(*why),
            _ => None,
        }
    }
}

fn quoted(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" ({said})") }
}

/// Patterns in git's messages, which are in English because git runs with `LC_ALL=C`. The first match counts: causes
/// are listed before their consequences.
const SAID: [(GitTrouble, &str); 13] = [
    (
        GitTrouble::Password,
        "terminal prompts disabled|could not read username|could not read password|\
         unable to get password|authentication failed|permission denied (|\
         invalid username or password",
    ),
    (GitTrouble::HostKey, "host key verification failed"),
    (GitTrouble::Full, "no space left on device"),
    (GitTrouble::Ownership, "dubious ownership"),
    (GitTrouble::Protocol, "transport '|is not allowed"),
    (
        GitTrouble::Rejected,
        "non-fast-forward|fetch first|stale info|cannot lock ref|failed to update ref|\
         incorrect old value provided|reference already exists",
    ),
    (GitTrouble::Refused, "[remote rejected]|pre-receive hook declined"),
    (GitTrouble::Locked, "index.lock|.lock': file exists"),
    (
        GitTrouble::NotFound,
        "repository not found|does not appear to be a git repository|' not found|does not exist",
    ),
    (
        GitTrouble::Offline,
        "could not resolve host|connection refused|\
         connection timed out|operation too slow|network is unreachable|no route to host|\
         failed to connect|could not connect|unable to connect|connection reset",
    ),
    (
        GitTrouble::Corrupt,
        "corrupt|bad object|missing blob|unable to read tree|invalid object|index-pack failed",
    ),
    (GitTrouble::NoRepository, "not a git repository"),
    (GitTrouble::NotFound, "could not read from remote repository"),
];

fn classify(said: &str) -> GitTrouble {
    let lower = said.to_lowercase();
    let known = SAID.iter().find(|(_, all)| all.split('|').any(|words| lower.contains(words)));
    known.map_or(GitTrouble::Other, |(trouble, _)| *trouble)
}

/// Returns the relevant lines, without progress and hints; at most a few hundred characters.
fn brief(said: &str) -> String {
    let is_relevant = |line: &&str| {
        ["fatal:", "error:", "! ", "remote:"].iter().any(|start| line.starts_with(start))
    };
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let relevant: Vec<&str> = lines.iter().copied().filter(is_relevant).collect();
    let chosen = if relevant.is_empty() { lines } else { relevant };
    chosen.join("; ").chars().take(MOST_SAID).collect()
}

/// Removes terminal control characters and credentials in URLs.
fn clean(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    let mut out = String::with_capacity(plain.len());
    let mut rest = plain.as_str();
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail.find(|c: char| c == '/' || c == '\'' || c == '"' || c.is_whitespace());
        let host = &tail[..end.unwrap_or(tail.len())];
        let cut = host.rfind('@').map_or(0, |at| at + 1);
        if cut > 0 {
            out.push_str("…@");
        }
        rest = &tail[cut..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_git_have_classes() {
        let check = |said: &str, expect| assert_eq!(classify(said), expect, "{said}");
        check(
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            GitTrouble::Password,
        );
        check(
            "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            GitTrouble::Password,
        );
        check(
            "Host key verification failed.\nfatal: Could not read from remote repository.",
            GitTrouble::HostKey,
        );
        check("fatal: '/x/y.git' does not appear to be a git repository", GitTrouble::NotFound);
        check(
            "remote: Repository not found.\nfatal: repository 'https://h/x' not found",
            GitTrouble::NotFound,
        );
        check(
            "fatal: unable to access 'https://h/': Could not resolve host: h",
            GitTrouble::Offline,
        );
        check(" ! [rejected]        abc -> main (fetch first)", GitTrouble::Rejected);
        check(" ! [remote rejected] abc -> main (pre-receive hook declined)", GitTrouble::Refused);
        check("fatal: transport 'ext' not allowed", GitTrouble::Protocol);
        check("fatal: detected dubious ownership in repository at '/x'", GitTrouble::Ownership);
        check(
            "error: object file objects/ab/cd is empty\nfatal: loose object is corrupt",
            GitTrouble::Corrupt,
        );
        check("something else", GitTrouble::Other);
    }

    #[test]
    fn what_git_says_is_one_clean_line_without_credentials() {
        let said =
            b"\x1b[31mhint: x\nfatal: unable to access 'https://bot:s3cret@h/x/': \x07nope\n";
        let error = GitError::failed("fetch", said).to_string();
        assert!(!error.contains("s3cret") && !error.chars().any(char::is_control), "{error}");
        assert!(error.contains("https://…@h/x/"), "{error}");
    }
}
