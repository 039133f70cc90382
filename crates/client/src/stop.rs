//! Stops the daemon of a home: checks that this daemon is running, signals its process, and waits until the process has
//! ended.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::time::Instant;

use crate::client::Client;
use crate::error::ClientError;
use crate::places::DaemonPlaces;

/// How long to wait for the daemon to end: longer than its own deadline for unfinished work.
const GONE_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum StopError {
    #[error("no daemon is running for {home}")]
    NotRunning { home: String },
    #[error(
        "`BETHINK_URL` names the daemon at {url}, which this command does not manage; \
         unset the variable to stop your own daemon"
    )]
    NotOurs { url: String },
    #[error(
        "could not check whether process {pid} is the daemon of this home, so the process was not stopped"
    )]
    Stranger { pid: u32, source: Box<ClientError> },
    #[error("could not stop process {pid}")]
    Signal { pid: u32, source: io::Error },
    #[error("process {pid} is still running {} s after it was asked to stop", GONE_WITHIN.as_secs())]
    Late { pid: u32 },
}

/// Stops the daemon of this home and returns its process id.
pub async fn stop(places: &DaemonPlaces) -> Result<u32, StopError> {
    if let Some(url) = &places.url {
        return Err(StopError::NotOurs { url: url.clone() });
    }
    let not_running = || StopError::NotRunning { home: places.home.path().display().to_string() };
    let file = places.daemon().ok_or_else(not_running)?;
    // The process id may have been reused, so the daemon of this home must be found first.
    if let Err(error) = Client::find(places).await {
        return Err(match error.is_unreachable() {
            true => not_running(),
            false => StopError::Stranger { pid: file.pid, source: Box::new(error) },
        });
    }
    let Some(pid) = i32::try_from(file.pid).ok().and_then(Pid::from_raw) else {
        return Err(not_running());
    };
    kill_process(pid, Signal::TERM)
        .map_err(|error| StopError::Signal { pid: file.pid, source: error.into() })?;
    let until = Instant::now() + GONE_WITHIN;
    // Its parent may be a process that never reaps it, such as a container's first. Then the lock shows its end.
    while places.is_locked() && test_kill_process(pid).is_ok() {
        if Instant::now() > until {
            return Err(StopError::Late { pid: file.pid });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(file.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_file_stops_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let places = DaemonPlaces::at(dir.path().to_owned());
        let none = stop(&places).await.unwrap_err();
        assert!(matches!(none, StopError::NotRunning { .. }), "{none}");
        // This test's own process id: if it got a signal, the test would end here.
        let file =
            format!(r#"{{"url":"http://127.0.0.1:1","pid":{},"version":"0"}}"#, std::process::id());
        std::fs::write(places.home.daemon_file(), file).unwrap();
        let stale = stop(&places).await.unwrap_err();
        assert!(matches!(stale, StopError::NotRunning { .. }), "{stale}");
    }
}
