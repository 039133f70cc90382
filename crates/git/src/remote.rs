//! What others have: asking, fetching, pushing. Nothing here rewrites anybody's history.

use std::ffi::OsString;
use std::path::Path;

use crate::error::{GitError, Trouble};
use crate::oid::Oid;
use crate::repo::{Repo, branch_of};
use crate::run::{Call, Git, SETTINGS};

/// Where the last fetched tip lies.
const INCOMING: &str = "refs/bethink/incoming";

/// An address that git may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the remote's address {why}: use https://…, ssh://…, host:path, file://… or an absolute path"
)]
pub struct BadRemote {
    why: &'static str,
}

impl Remote {
    pub fn parse(text: &str) -> Result<Self, BadRemote> {
        let bad = |why| Err(BadRemote { why });
        if text.is_empty() {
            return bad("is empty");
        }
        if text.starts_with('-') {
            return bad("begins with a dash");
        }
        if text.chars().any(|c| c.is_control() || c == ' ') {
            return bad("holds spaces or control characters");
        }
        if text.contains("::") {
            return bad("names a program");
        }
        match text.split_once("://") {
            Some(("file" | "git" | "http" | "https" | "ssh", rest)) => {
                let user = rest.split('/').next().unwrap_or("").rsplit_once('@');
                if user.is_some_and(|(user, _)| user.contains(':')) {
                    return bad("holds a password, which a credential helper should keep");
                }
            }
            Some(_) => return bad("is of a kind that is not supported"),
            None if Path::new(text).is_absolute() => {}
            None if text
                .split_once(':')
                .is_some_and(|(host, path)| is_host(host) && !path.is_empty()) => {}
            None => return bad("is a relative path"),
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// On this machine, so that the other end of the transport runs here, too.
    fn is_local(&self) -> bool {
        self.0.starts_with('/') || self.0.starts_with("file://")
    }
}

/// `name` or `user@name`, and no option for ssh.
fn is_host(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@');
    !text.is_empty()
        && text.chars().all(plain)
        && !text.split('@').any(|part| part.starts_with('-'))
}

/// What became of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// Somebody else was faster: fetch and merge again.
    Behind,
}

impl Repo {
    /// The tip of our branch at the remote; `None` where it has none yet.
    pub async fn fetch(&self, remote: &Remote) -> Result<Option<Oid>, GitError> {
        let branch = format!("refs/heads/{}", self.branch());
        if !self.has_branch(remote, &branch).await? {
            return Ok(None);
        }
        let mut args =
            vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];
        let upload = serving("upload-pack");
        if remote.is_local() {
            args.extend(["--upload-pack", &upload]);
        }
        let refs = format!("+{branch}:{INCOMING}");
        args.extend(["--refmap=", "--end-of-options", remote.as_str(), &refs]);
        let call = self.remote_call("fetch from the remote", args).await?;
        self.git.succeed(call).await?;
        self.tip(INCOMING).await
    }

    async fn has_branch(&self, remote: &Remote, branch: &str) -> Result<bool, GitError> {
        let upload = serving("upload-pack");
        let mut args = vec!["ls-remote", "--quiet"];
        if remote.is_local() {
            args.extend(["--upload-pack", &upload]);
        }
        args.extend(["--end-of-options", remote.as_str(), branch]);
        let call = self.remote_call("ask the remote", args).await?;
        let said = self.git.succeed(call).await?;
        Ok(said.iter().any(|byte| !byte.is_ascii_whitespace()))
    }

    /// Adds a commit to our branch at the remote. Never forced.
    pub async fn push(&self, remote: &Remote, commit: &Oid) -> Result<Pushed, GitError> {
        let receive = serving("receive-pack");
        let mut args = vec!["push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags"];
        if remote.is_local() {
            args.extend(["--receive-pack", &receive]);
        }
        let refs = format!("{commit}:refs/heads/{}", self.branch());
        args.extend(["--end-of-options", remote.as_str(), &refs]);
        let mut call = self.remote_call("push to the remote", args).await?;
        call.env.push(("GIT_PUSH_OPTION_COUNT", "0".into()));
        let output = self.git.run(call).await?;
        if output.status.success() {
            return Ok(Pushed::Done);
        }
        // With `--porcelain` what became of the ref stands in the output, not in the messages.
        let said = [output.messages.as_slice(), b"\n", output.said.as_slice()].concat();
        match GitError::failed("push to the remote", &said) {
            error if error.trouble() == Some(Trouble::Rejected) => Ok(Pushed::Behind),
            error => Err(error),
        }
    }

    async fn remote_call(
        &self,
        doing: &'static str,
        args: Vec<&str>,
    ) -> Result<Call<'_>, GitError> {
        let mut call = self.call(doing, args);
        call.limit = self.git.limits.remote;
        call.env.push(("GIT_SSH_COMMAND", self.git.ssh().await?));
        Ok(call)
    }
}

/// The other end of a transport on this machine, with none of the hooks and settings that lie there.
fn serving(program: &str) -> String {
    let settings: Vec<String> =
        SETTINGS.iter().map(|(name, value)| format!("-c {name}='{value}'")).collect();
    format!("git {} {program}", settings.join(" "))
}

impl Git {
    /// Asks an address, without a repository here, which branch it shows first: `None` where it is empty.
    pub async fn default_branch(&self, remote: &Remote) -> Result<Option<String>, GitError> {
        let upload = serving("upload-pack");
        let mut args = vec!["ls-remote", "--quiet", "--symref"];
        if remote.is_local() {
            args.extend(["--upload-pack", &upload]);
        }
        args.extend(["--end-of-options", remote.as_str(), "HEAD"]);
        let mut call = Call::nowhere("ask the remote", args, self);
        call.limit = self.limits.remote;
        call.env.push(("GIT_SSH_COMMAND", self.ssh().await?));
        let said = self.succeed(call).await?;
        let said = String::from_utf8_lossy(&said);
        let head = said.lines().find_map(|line| line.strip_prefix("ref: ")?.split('\t').next());
        Ok(head.and_then(|head| branch_of(&format!("ref: {head}"))))
    }

    /// The person's own ssh, told to ask nothing and to give up in time.
    async fn ssh(&self) -> Result<OsString, GitError> {
        let call = Call::nowhere("read a setting", ["config", "--get", "core.sshCommand"], self);
        let output = self.run(call).await?;
        let own = String::from_utf8_lossy(&output.said).trim().to_owned();
        let ssh = if own.is_empty() { "ssh".to_owned() } else { own };
        Ok(format!("{ssh} -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=10").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_run_programs_are_refused() {
        for fine in [
            "https://h/x.git",
            "ssh://git@h/x",
            "git@h:x/y.git",
            "/srv/x.git",
            "file:///srv/x.git",
            "http://h:3000/x",
        ] {
            assert!(Remote::parse(fine).is_ok(), "{fine}");
        }
        for bad in [
            "",
            "-oProxyCommand=x",
            "--upload-pack=x",
            "ext::sh -c x",
            "ext::x",
            "fd::7",
            "../x",
            "x y",
            "https://a:b@h/x",
            "-x:y",
            "a@-oProxyCommand=x:y",
            "foo://h/x",
            "h\n:x",
        ] {
            assert!(Remote::parse(bad).is_err(), "{bad}");
        }
    }
}
