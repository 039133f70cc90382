//! The upstream refused a prompt before its first byte.

use std::sync::PoisonError;

use bethink_api::RecoverRequest;
use serde_json::Value;

use super::{Prepared, Ticket};
use crate::{Daemon, Result};

/// Steps of a recovery that leave a smaller prompt.
const SHRINKING: [&str; 4] = ["collapse", "compact", "strip_media", "strip_thinking"];

impl Daemon {
    /// A strictly smaller prompt to try, or none: the refusal is the client's to see.
    pub async fn gateway_refused(
        &self,
        ticket: &Ticket,
        status: u16,
        body: &str,
    ) -> Result<Option<Prepared>> {
        let held = ticket.0.request.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((bytes, asked)) = held else { return Ok(None) };
        let (session, scope) = (ticket.0.session, ticket.0.scope);
        self.stored_all(session).await?;
        let request = RecoverRequest {
            status: Some(status),
            error: Value::String(body.to_owned()),
            max_tokens: asked.model.max_output_tokens,
            ..RecoverRequest::default()
        };
        let told = self.recover(session, request).await?;
        if !SHRINKING.contains(&told.step.as_str()) {
            return Ok(None);
        }
        self.gateway().edited(session);
        let place = self.place(session, scope);
        let again = self.turn_for(&asked, place).await?;
        let held = again.ticket.0.request.lock().unwrap_or_else(PoisonError::into_inner);
        let is_smaller = held.as_ref().is_some_and(|(now, _)| *now < bytes);
        drop(held);
        Ok(is_smaller.then_some(again))
    }
}
