//! Works with remotes: finds their default branches, fetches and pushes. History is never rewritten.

use std::path::Path;

use crate::error::{GitError, GitTrouble};
use crate::oid::Oid;
use crate::repo::{Repo, branch_of};
use crate::run::{Git, GitCall, settings};

/// The ref that points to the tip that was fetched last.
const INCOMING: &str = "refs/bethink/incoming";

/// A remote URL that is safe to pass to git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the remote URL {why}; use https://…, ssh://…, host:path, file://… or an absolute path, and leave out any password"
)]
pub struct BadRemote {
    why: &'static str,
}

impl Remote {
    pub fn parse(text: &str) -> Result<Self, BadRemote> {
        let why = match text.split_once("://") {
            _ if text.is_empty() => "is empty",
            _ if text.starts_with('-') => "begins with a dash",
            _ if text.contains(|c: char| c.is_control() || c == ' ') => {
                "contains spaces or control characters"
            }
            _ if text.contains("::") => "names a program",
            Some(("file" | "git" | "http" | "https" | "ssh", rest)) => {
                let user = rest.split('/').next().unwrap_or("").rsplit_once('@');
                if !user.is_some_and(|(user, _)| user.contains(':')) {
                    return Ok(Self(text.to_owned()));
                }
                "contains a password, which belongs in a git credential helper"
            }
            Some(_) => "has an unsupported scheme",
            None if Path::new(text).is_absolute() || is_host_and_path(text) => {
                return Ok(Self(text.to_owned()));
            }
            None => "is a relative path",
        };
        Err(BadRemote { why })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the remote is on this machine. If it is, the other end of the transport runs here too.
    fn is_local(&self) -> bool {
        self.0.starts_with('/') || self.0.starts_with("file://")
    }
}

/// Returns whether a text is `name:path` or `user@name:path`, and ssh cannot mistake it for an option.
fn is_host_and_path(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@');
    !path.is_empty()
        && !host.is_empty()
        && host.chars().all(plain)
        && !host.split('@').any(|part| part.starts_with('-'))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushOutcome {
    Done,
    /// Someone else has pushed to the branch in the meantime. The caller must fetch and merge again.
    Behind,
}

impl Repo {
    /// Fetches our branch from the remote and returns its tip; `None` if the remote does not have the branch.
    pub async fn fetch(&self, remote: &Remote) -> Result<Option<Oid>, GitError> {
        let branch = format!("refs/heads/{}", self.branch());
        let asked = arguments(&["ls-remote", "--quiet"], remote, UPLOAD, &branch);
        let call = self.git.over_network(self.call("query the remote", asked)).await?;
        if self.git.text(call).await?.trim().is_empty() {
            return Ok(None);
        }
        let options = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--refmap=",
        ];
        let args = arguments(&options, remote, UPLOAD, &format!("+{branch}:{INCOMING}"));
        let call = self.git.over_network(self.call("fetch from the remote", args)).await?;
        self.git.succeed(call).await?;
        self.tip(INCOMING).await
    }

    /// Pushes a commit to our branch at the remote. Never force-pushes.
    pub async fn push(&self, remote: &Remote, commit: &Oid) -> Result<PushOutcome, GitError> {
        let doing = "push to the remote";
        let options = ["push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags"];
        let refs = format!("{commit}:refs/heads/{}", self.branch());
        let args = arguments(&options, remote, "receive-pack", &refs);
        let mut call = self.git.over_network(self.call(doing, args)).await?;
        call.env.push(("GIT_PUSH_OPTION_COUNT", "0".into()));
        let output = self.git.run(call).await?;
        if output.status.success() {
            return Ok(PushOutcome::Done);
        }
        // With `--porcelain`, the ref's result is on stdout, not on stderr.
        let said = [output.messages.as_slice(), b"\n", output.said.as_slice()].concat();
        match GitError::failed(doing, &said) {
            error if error.trouble() == Some(GitTrouble::Rejected) => Ok(PushOutcome::Behind),
            error => Err(error),
        }
    }
}

/// The program that git runs at the other end of a fetch.
const UPLOAD: &str = "upload-pack";

/// Returns the arguments of a call to a remote. If the remote is on this machine, the hooks and settings of its
/// repository must not be used.
fn arguments(options: &[&str], remote: &Remote, program: &str, refs: &str) -> Vec<String> {
    let mut args: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    if remote.is_local() {
        let settings: Vec<String> =
            settings().map(|(name, value)| format!("-c {name}='{value}'")).collect();
        args.push(format!("--{program}=git {} {program}", settings.join(" ")));
    }
    args.extend(["--end-of-options", remote.as_str(), refs].map(str::to_owned));
    args
}

impl Git {
    /// Returns a remote's default branch; `None` if the remote is empty. Needs no local repository.
    pub async fn default_branch(&self, remote: &Remote) -> Result<Option<String>, GitError> {
        let args = arguments(&["ls-remote", "--quiet", "--symref"], remote, UPLOAD, "HEAD");
        let call = self.over_network(GitCall::nowhere("query the remote", args, self)).await?;
        let said = self.text(call).await?;
        Ok(said.lines().find_map(|line| branch_of(line.split('\t').next()?)))
    }

    /// Sets the time limit for remotes, and runs the person's ssh in batch mode with a timeout.
    async fn over_network<'a>(&self, mut call: GitCall<'a>) -> Result<GitCall<'a>, GitError> {
        let asked =
            GitCall::nowhere("read a setting", ["config", "--get", "core.sshCommand"], self);
        let ssh = self.run(asked).await?.value().unwrap_or_else(|| "ssh".to_owned());
        let ssh = format!("{ssh} -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=10");
        call.env.push(("GIT_SSH_COMMAND", ssh.into()));
        call.limit = self.limits.remote;
        Ok(call)
    }
}
