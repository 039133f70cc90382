//! Runs the command of a setting that prints a secret, such as a key or a password.

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Time limit for the command, which asks a keyring or a vault. If the command takes longer, it is waiting for a person.
pub const SECRET_COMMAND_TIME: Duration = Duration::from_secs(10);

/// Maximum length of a secret, in bytes. The longest known ones are tokens of a few kilobytes.
pub const MAX_SECRET: usize = 8 * 1024;

/// Why a command printed no secret. Contains nothing that the command printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretCommandError {
    #[error("could not start it: {0}")]
    NotStarted(ErrorKind),
    #[error("it failed: {0}")]
    Failed(String),
    #[error("it did not finish within {0} seconds")]
    TooSlow(u64),
    #[error("it printed more than {MAX_SECRET} bytes")]
    TooLong,
    #[error("it printed bytes that are not UTF-8")]
    NotText,
}

/// Returns the output of `line`, run with `sh -c` because such commands contain pipes and quotes. The command gets no
/// input, and its error output is discarded, because it may contain secrets. On a timeout, or if the caller stops
/// waiting, the command and everything it started are killed.
pub async fn output(line: &str) -> Result<SecretString, SecretCommandError> {
    let started = Command::new("sh")
        .arg("-c")
        .arg(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = started.map_err(|e| SecretCommandError::NotStarted(e.kind()))?;
    let _group = CommandGroup(child.id());
    timeout(SECRET_COMMAND_TIME, read(&mut child))
        .await
        .unwrap_or(Err(SecretCommandError::TooSlow(SECRET_COMMAND_TIME.as_secs())))
}

async fn read(child: &mut Child) -> Result<SecretString, SecretCommandError> {
    // Allocated once, because a growing buffer leaves copies of the key in memory.
    let mut buffer = SecretBox::new(Box::new(Vec::with_capacity(MAX_SECRET + 2)));
    if let Some(stdout) = &mut child.stdout {
        let most = u64::try_from(MAX_SECRET + 1).unwrap_or(u64::MAX);
        let bytes: &mut Vec<u8> = secrecy::ExposeSecretMut::expose_secret_mut(&mut buffer);
        let read = stdout.take(most).read_to_end(bytes).await;
        read.map_err(|e| SecretCommandError::Failed(e.kind().to_string()))?;
    }
    if buffer.expose_secret().len() > MAX_SECRET {
        return Err(SecretCommandError::TooLong);
    }
    let status =
        child.wait().await.map_err(|e| SecretCommandError::Failed(e.kind().to_string()))?;
    if !status.success() {
        return Err(SecretCommandError::Failed(status.to_string()));
    }
    let text =
        std::str::from_utf8(buffer.expose_secret()).map_err(|_| SecretCommandError::NotText)?;
    Ok(SecretString::from(text))
}

/// The command's process group, killed on drop. The group's leader is `sh`, whose process ID is not reused while any
/// process of the group is alive.
struct CommandGroup(Option<u32>);

impl Drop for CommandGroup {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            // Usually fails, because the group has ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(line: &str) -> Result<String, SecretCommandError> {
        output(line).await.map(|text| text.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn what_it_prints_is_the_key() {
        assert_eq!(check("printf 'a' | tr a b; echo no >&2").await.as_deref(), Ok("b"));
        assert_eq!(check("cat").await.as_deref(), Ok(""), "the command gets no input");
        assert_eq!(
            check("echo k; exit 2").await,
            Err(SecretCommandError::Failed("exit status: 2".into()))
        );
        assert_eq!(check("printf '\\377'").await, Err(SecretCommandError::NotText));
        assert_eq!(check("yes").await, Err(SecretCommandError::TooLong));
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_for_ever() {
        let most = SECRET_COMMAND_TIME.as_secs();
        assert_eq!(check("sleep 600").await, Err(SecretCommandError::TooSlow(most)));
        assert_eq!(check("sleep 600 & sleep 600").await, Err(SecretCommandError::TooSlow(most)));
    }

    #[tokio::test]
    async fn it_ends_with_all_that_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("alive");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        // The reader waits as long as any process holds the pipe open for writing.
        let line = format!("(echo; exec sleep 600) > '{}' & wait", pipe.display());
        let mut reader = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&pipe).unwrap();
        let asked = tokio::spawn(async move { check(&line).await });
        let began = async {
            // Before a process opens the pipe for writing, a read may return end of file.
            while reader.read(&mut [0]).await.unwrap() == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(SECRET_COMMAND_TIME, began).await.unwrap();
        asked.abort();
        let closed = timeout(SECRET_COMMAND_TIME, reader.read(&mut [0])).await;
        assert_eq!(closed.unwrap().unwrap(), 0);
    }
}
