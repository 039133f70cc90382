//! A session's events as they happen.

use std::collections::VecDeque;

use bethink_sse::{Decoder, Event};
use reqwest::{Method, Response};
use uuid::Uuid;

use crate::client::{Client, garbled};
use crate::error::ClientError;

/// Largest event taken in, in bytes; the daemon's own are far smaller.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// An open event stream; dropping it closes it.
#[derive(Debug)]
pub struct Events {
    client: Client,
    response: Response,
    decoder: Decoder,
    ready: VecDeque<Event>,
}

impl Events {
    /// The next event; `None` when the daemon ended the stream. Waits as long as it takes.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let arrived =
                self.response.chunk().await.map_err(|error| self.client.broken(&error))?;
            let Some(bytes) = arrived else { return Ok(None) };
            let mut events = Vec::new();
            self.decoder
                .push(&bytes, &mut events)
                .map_err(|error| garbled("GET …/events", &error))?;
            self.ready.extend(events);
        }
    }
}

impl Client {
    /// `GET /v1/sessions/{id}/events`, after the event `last_id` when there is one to resume from.
    pub async fn events(&self, id: Uuid, last_id: Option<&str>) -> Result<Events, ClientError> {
        let mut request =
            self.stream(Method::GET, self.at(&["v1", "sessions", &id.to_string(), "events"]));
        if let Some(last) = last_id {
            request = request.header("Last-Event-ID", last);
        }
        let response = self.open(request).await?;
        let decoder = Decoder::new(MAX_EVENT);
        Ok(Events { client: self.clone(), response, decoder, ready: VecDeque::new() })
    }
}
