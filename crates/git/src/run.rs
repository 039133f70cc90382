//! Starts git with settings, a time limit and an output limit.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::error::GitError;
use crate::oid::Oid;

/// Limits for a git process.
#[derive(Clone, Copy, Debug)]
pub struct GitLimits {
    /// Maximum time of a local operation.
    pub local: Duration,
    /// Maximum time of a remote operation.
    pub remote: Duration,
    /// Maximum size of the output, in bytes.
    pub output: usize,
}

impl Default for GitLimits {
    /// Returns limits for a team's memory of a few megabytes. A remote that takes longer than a minute is not going to
    /// respond.
    fn default() -> Self {
        let (local, remote) = (Duration::from_secs(30), Duration::from_secs(60));
        Self { local, remote, output: 64 << 20 }
    }
}

/// Maximum number of bytes that are kept from git's messages. The rest is read and dropped, so that git never blocks.
const MOST_MESSAGES: usize = 64 << 10;

/// Environment variables that are passed on, because the person's keys, helpers, proxies and settings depend on them.
/// All other variables are dropped, in particular `GIT_*`, which can make git use another repository or program.
const KEPT: &str = "PATH HOME USER LOGNAME TMPDIR XDG_CONFIG_HOME XDG_RUNTIME_DIR XDG_CACHE_HOME \
    DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK SSL_CERT_FILE SSL_CERT_DIR GIT_SSL_CAINFO \
    GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM http_proxy https_proxy HTTPS_PROXY \
    all_proxy ALL_PROXY no_proxy NO_PROXY";

/// Returns git settings that override the person's own settings.
pub(crate) fn settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("run/settings.txt").lines().filter_map(|line| line.split_once('='))
}

/// The git program, with its environment and limits.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    pub(crate) limits: GitLimits,
}

pub(crate) struct GitCall<'a> {
    /// What the call does, in words that complete "could not …".
    pub(crate) doing: &'static str,
    pub(crate) dir: Option<&'a Path>,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(&'static str, OsString)>,
    pub(crate) input: Vec<u8>,
    pub(crate) limit: Duration,
}

pub(crate) struct GitOutput {
    pub(crate) status: ExitStatus,
    pub(crate) said: Vec<u8>,
    pub(crate) messages: Vec<u8>,
}

impl GitOutput {
    /// Returns the output, which is the value of a setting or ref; `None` if git failed or the output is empty.
    pub(crate) fn value(&self) -> Option<String> {
        let said = String::from_utf8_lossy(&self.said).trim().to_owned();
        (self.status.success() && !said.is_empty()).then_some(said)
    }

    pub(crate) fn oid(&self, doing: &'static str) -> Result<Option<Oid>, GitError> {
        self.value()
            .map(|said| said.parse().map_err(|_| GitError::unknown_format(doing)))
            .transpose()
    }
}

impl Git {
    /// Creates a handle for running git. `environment` is the environment of this process; the variables that git needs are
    /// passed on.
    pub fn new(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        limits: GitLimits,
    ) -> Self {
        let kept = |name: &OsStr| KEPT.split(' ').any(|kept| kept == name);
        let environment = environment.into_iter().filter(|(name, _)| kept(name)).collect();
        Self { program: "git".into(), environment, limits }
    }

    /// Uses another program instead of `git`.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Returns git's version, such as `2.47.3`. Fails if git is not installed.
    pub async fn version(&self) -> Result<String, GitError> {
        let call = GitCall::local("ask git for its version", ["version"], self);
        Ok(self.text(call).await?.trim().trim_start_matches("git version ").to_owned())
    }

    pub(crate) async fn text(&self, call: GitCall<'_>) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.succeed(call).await?).into_owned())
    }

    /// Runs a call and returns its output, or fails if git fails.
    pub(crate) async fn succeed(&self, call: GitCall<'_>) -> Result<Vec<u8>, GitError> {
        let doing = call.doing;
        let output = self.run(call).await?;
        match output.status.success() {
            true => Ok(output.said),
            false => Err(GitError::failed(doing, &output.messages)),
        }
    }

    pub(crate) async fn run(&self, call: GitCall<'_>) -> Result<GitOutput, GitError> {
        let (doing, after) = (call.doing, call.limit);
        tracing::debug!(doing, args = ?call.args, "git");
        let group = GitGroup::start(self.command(&call), doing)?;
        let ended =
            tokio::time::timeout(after, group.finish(call.input, self.limits.output, doing));
        ended.await.unwrap_or(Err(GitError::TooSlow { doing, after }))
    }

    fn command(&self, call: &GitCall<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.args([
            "--no-pager",
            "--no-optional-locks",
            "--no-replace-objects",
            "--literal-pathspecs",
        ]);
        for (name, value) in settings() {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        command.args(&call.args);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            // This is set to an empty value. If it were absent, git would ask another program.
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS", ""),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GCM_INTERACTIVE", "never"),
            ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_EDITOR", "false"),
        ]);
        command.envs(call.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(call.dir.unwrap_or(Path::new("/")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }
}

impl<'a> GitCall<'a> {
    pub(crate) fn local<S: Into<OsString>>(
        doing: &'static str,
        args: impl IntoIterator<Item = S>,
        git: &Git,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { doing, dir: None, args, env: Vec::new(), input: Vec::new(), limit: git.limits.local }
    }

    /// Creates a call that runs outside any repository, whatever the current working directory is.
    pub(crate) fn nowhere<S: Into<OsString>>(
        doing: &'static str,
        args: impl IntoIterator<Item = S>,
        git: &Git,
    ) -> Self {
        let mut call = Self::local(doing, args, git);
        call.env.push(("GIT_DIR", "/dev/null".into()));
        call
    }
}

/// A git process with its helper processes. All these processes are killed when the call is dropped.
struct GitGroup {
    child: Child,
    leader: Option<Pid>,
}

impl GitGroup {
    fn start(mut command: Command, doing: &'static str) -> Result<Self, GitError> {
        let child = command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => GitError::NoGit,
            _ => GitError::Io { doing, source },
        })?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, leader })
    }

    async fn finish(
        mut self,
        input: Vec<u8>,
        limit: usize,
        doing: &'static str,
    ) -> Result<GitOutput, GitError> {
        let failed = |source| GitError::Io { doing, source };
        let (stdin, stdout, stderr) =
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let feed = async {
            if let Some(mut stdin) = stdin {
                // Git may exit before it has read all its input. Its own message is more useful than this write error.
                let _ = stdin.write_all(&input).await;
            }
        };
        let ((), said, messages) =
            tokio::join!(feed, read(stdout, limit), read(stderr, MOST_MESSAGES));
        let (said, messages) = (said.map_err(failed)?, messages.map_err(failed)?);
        let status = self.child.wait().await.map_err(failed)?;
        // The group's leader has exited and been reaped, so its process id may be reused.
        self.leader = None;
        if said.1 {
            return Err(GitError::TooMuch { doing, limit });
        }
        Ok(GitOutput { status, said: said.0, messages: messages.0 })
    }
}

impl Drop for GitGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Reads a pipe up to a limit. Also returns whether there was more; the rest is read and dropped.
async fn read(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> io::Result<(Vec<u8>, bool)> {
    let Some(mut pipe) = pipe else { return Ok((Vec::new(), false)) };
    let mut out = Vec::new();
    (&mut pipe).take(limit as u64).read_to_end(&mut out).await?;
    let more = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await? > 0;
    Ok((out, more))
}
