//! The connection to the daemon, which is found again after a restart.

use std::path::PathBuf;

use bethink_api::Problem;
use bethink_client::{Client, ClientError, DaemonPlaces, McpAnswer, McpOrigin};
use tokio::sync::{Mutex, Semaphore};

use super::message::RpcMessage;
use crate::app::daemon;
use crate::failure::CliFailure;

/// Maximum number of messages that are sent to the daemon at the same time; each has its own connection.
const AT_ONCE: usize = 32;

pub(super) struct DaemonConnection {
    places: DaemonPlaces,
    program: PathBuf,
    origin: McpOrigin,
    found: Mutex<FoundDaemon>,
    at_once: Semaphore,
}

/// The daemon, and how often it has been found so far.
#[derive(Default)]
struct FoundDaemon {
    client: Option<Client>,
    count: u64,
}

impl DaemonConnection {
    pub(super) fn new(places: DaemonPlaces, program: PathBuf, origin: McpOrigin) -> Self {
        let (found, at_once) = (Mutex::default(), Semaphore::new(AT_ONCE));
        Self { places, program, origin, found, at_once }
    }

    /// Sends a message to the daemon, which is started if none is running. Retries once, and only if the daemon cannot
    /// have received the message, because a change must not be made twice.
    pub(super) async fn send(
        &self,
        message: &RpcMessage,
        version: Option<&str>,
    ) -> Result<McpAnswer, Box<Problem>> {
        let _place = self.at_once.acquire().await;
        let mut is_second = false;
        loop {
            let (client, count) = self.client().await.map_err(|error| unreachable(error, false))?;
            let sent = client.mcp(message.bytes.clone(), &message.value, version, &self.origin);
            let failure = match sent.await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            self.forget(count).await;
            if failure.begun || is_second {
                return Err(unreachable(failure.error, failure.begun));
            }
            is_second = true;
        }
    }

    /// Returns the daemon. Concurrent callers share one search for it.
    async fn client(&self) -> Result<(Client, u64), ClientError> {
        let mut found = self.found.lock().await;
        if let Some(client) = &found.client {
            return Ok((client.clone(), found.count));
        }
        let client = daemon(&self.places, &self.program).await?;
        found.client = Some(client.clone());
        found.count += 1;
        Ok((client, found.count))
    }

    /// Forgets the daemon, unless it has been found again since.
    async fn forget(&self, count: u64) {
        let mut found = self.found.lock().await;
        if found.count == count {
            found.client = None;
        }
    }
}

/// Describes a failure to reach the daemon. `begun`: the daemon may have received the message.
pub(super) fn unreachable(error: ClientError, begun: bool) -> Box<Problem> {
    let is_unanswered = matches!(error, ClientError::Unreachable { .. } | ClientError::Late { .. });
    if !(begun && is_unanswered) {
        return Box::new(CliFailure::from(error).problem());
    }
    let hint = "it is unknown whether the request took effect: check before you retry; the next call reconnects to \
                the daemon";
    Box::new(Problem {
        kind: "lost".to_owned(),
        title: "Connection to the daemon lost".to_owned(),
        detail: format!("lost the connection to the daemon before it answered: {error}"),
        hint: Some(hint.to_owned()),
        ..Problem::default()
    })
}
