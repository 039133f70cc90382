//! A session's events as they happen.

use std::collections::VecDeque;

use bethink_sse::{Decoder, SseEvent};
use reqwest::{Method, Response};
use uuid::Uuid;

use crate::client::{Client, garbled};
use crate::error::ClientError;

/// Maximum size of an event, in bytes. The daemon's events are far smaller.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// An open event stream. To close it, drop this value.
#[derive(Debug)]
pub struct EventSubscription {
    /// Names the request in errors.
    what: &'static str,
    client: Client,
    response: Response,
    decoder: Decoder,
    ready: VecDeque<SseEvent>,
}

impl EventSubscription {
    /// Reads an answer as a stream of events of at most `most` bytes each.
    pub(crate) fn of(client: Client, response: Response, what: &'static str, most: usize) -> Self {
        Self { what, client, response, decoder: Decoder::new(most), ready: VecDeque::new() }
    }

    /// Waits for the next event. Returns `None` when the daemon ends the stream.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let arrived =
                self.response.chunk().await.map_err(|error| self.client.broken(&error))?;
            let Some(bytes) = arrived else { return Ok(None) };
            let mut events = Vec::new();
            self.decoder.push(&bytes, &mut events).map_err(|error| garbled(self.what, &error))?;
            self.ready.extend(events);
        }
    }
}

impl Client {
    /// Opens `GET /v1/sessions/{id}/events`, from now on or after the event `last_id`.
    pub async fn events(
        &self,
        id: Uuid,
        last_id: Option<&str>,
    ) -> Result<EventSubscription, ClientError> {
        let mut request = self.stream(Method::GET, self.at(&format!("v1/sessions/{id}/events")));
        if let Some(last) = last_id {
            request = request.header("Last-Event-ID", last);
        }
        let response = self.open(request).await?;
        Ok(EventSubscription::of(self.clone(), response, "GET …/events", MAX_EVENT))
    }
}
