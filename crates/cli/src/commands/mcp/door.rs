//! The way to the daemon, found anew whenever there is another one.

use std::path::PathBuf;

use bethink_api::Problem;
use bethink_client::{Client, ClientError, DaemonPlaces, McpAnswer, McpOrigin};
use tokio::sync::{Mutex, Semaphore};

use super::message::RpcMessage;
use crate::app::daemon;
use crate::failure::CliFailure;

/// Messages that the daemon has at the same time; each takes a connection of its own.
const AT_ONCE: usize = 32;

pub(super) struct DaemonDoor {
    places: DaemonPlaces,
    program: PathBuf,
    origin: McpOrigin,
    found: Mutex<FoundDaemon>,
    at_once: Semaphore,
}

/// The daemon that was found, and how often one was.
#[derive(Default)]
struct FoundDaemon {
    client: Option<Client>,
    count: u64,
}

impl DaemonDoor {
    pub(super) fn new(places: DaemonPlaces, program: PathBuf, origin: McpOrigin) -> Self {
        let (found, at_once) = (Mutex::default(), Semaphore::new(AT_ONCE));
        Self { places, program, origin, found, at_once }
    }

    /// Sent to the daemon that runs, or to one that this starts. It goes out a second time only where the first
    /// reached nobody: done twice, a change is another change.
    pub(super) async fn send(
        &self,
        message: &RpcMessage,
        version: Option<&str>,
    ) -> Result<McpAnswer, Box<Problem>> {
        let _place = self.at_once.acquire().await;
        let mut is_second = false;
        loop {
            let (client, count) = self.client().await.map_err(|error| gone(error, false))?;
            let sent = client.mcp(message.bytes.clone(), &message.value, version, &self.origin);
            let failure = match sent.await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            self.forget(count).await;
            if failure.begun || is_second {
                return Err(gone(failure.error, failure.begun));
            }
            is_second = true;
        }
    }

    /// One of those who wait looks for it.
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

    /// Unless another was found since.
    async fn forget(&self, count: u64) {
        let mut found = self.found.lock().await;
        if found.count == count {
            found.client = None;
        }
    }
}

/// A failure as the client is told it: what of it is known, and what to do.
pub(super) fn gone(error: ClientError, begun: bool) -> Box<Problem> {
    let unanswered = matches!(error, ClientError::Unreachable { .. } | ClientError::Late { .. });
    if !(begun && unanswered) {
        return Box::new(CliFailure::from(error).problem());
    }
    let hint = "whether it did what was asked is not known: look before you ask again; the next call finds the \
                daemon anew";
    Box::new(Problem {
        kind: "lost".to_owned(),
        title: "The daemon went away".to_owned(),
        detail: format!("the daemon went away before it answered: {error}"),
        hint: Some(hint.to_owned()),
        ..Problem::default()
    })
}
