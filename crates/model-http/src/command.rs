//! Runs the command that prints a key.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretBox, SecretString};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::key::KeyError;
use crate::limits::{KEY_COMMAND_TIME, MAX_KEY};

/// Returns the output of `line`, run with `sh -c` because such commands contain pipes and quotes. The command gets no
/// input, and its error output is discarded, because it may contain secrets. On a timeout, or if the caller stops
/// waiting, the command and everything it started are killed.
pub(crate) async fn output(line: &str) -> Result<SecretString, KeyError> {
    let started = Command::new("sh")
        .arg("-c")
        .arg(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = started.map_err(|e| KeyError::NotStarted(e.kind()))?;
    let _group = CommandGroup(child.id());
    timeout(KEY_COMMAND_TIME, read(&mut child))
        .await
        .unwrap_or(Err(KeyError::TooSlow(KEY_COMMAND_TIME.as_secs())))
}

async fn read(child: &mut Child) -> Result<SecretString, KeyError> {
    // Allocated once, because a growing buffer leaves copies of the key in memory.
    let mut buffer = SecretBox::new(Box::new(Vec::with_capacity(MAX_KEY + 2)));
    if let Some(stdout) = &mut child.stdout {
        let most = u64::try_from(MAX_KEY + 1).unwrap_or(u64::MAX);
        let bytes: &mut Vec<u8> = secrecy::ExposeSecretMut::expose_secret_mut(&mut buffer);
        let read = stdout.take(most).read_to_end(bytes).await;
        read.map_err(|e| KeyError::Failed(e.kind().to_string()))?;
    }
    if buffer.expose_secret().len() > MAX_KEY {
        return Err(KeyError::TooLong);
    }
    let status = child.wait().await.map_err(|e| KeyError::Failed(e.kind().to_string()))?;
    if !status.success() {
        return Err(KeyError::Failed(status.to_string()));
    }
    let text = std::str::from_utf8(buffer.expose_secret()).map_err(|_| KeyError::Characters)?;
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

    async fn check(line: &str) -> Result<String, KeyError> {
        output(line).await.map(|text| text.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn what_it_prints_is_the_key() {
        assert_eq!(check("printf 'a' | tr a b; echo no >&2").await.as_deref(), Ok("b"));
        assert_eq!(check("cat").await.as_deref(), Ok(""), "the command gets no input");
        assert_eq!(check("echo k; exit 2").await, Err(KeyError::Failed("exit status: 2".into())));
        assert_eq!(check("printf '\\377'").await, Err(KeyError::Characters));
        assert_eq!(check("yes").await, Err(KeyError::TooLong));
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_for_ever() {
        let most = KEY_COMMAND_TIME.as_secs();
        assert_eq!(check("sleep 600").await, Err(KeyError::TooSlow(most)));
        assert_eq!(check("sleep 600 & sleep 600").await, Err(KeyError::TooSlow(most)));
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
        timeout(KEY_COMMAND_TIME, began).await.unwrap();
        asked.abort();
        let closed = timeout(KEY_COMMAND_TIME, reader.read(&mut [0])).await;
        assert_eq!(closed.unwrap().unwrap(), 0);
    }
}
