//! Requests that contain only the ID of the answer they continue: the earlier messages are read from the session.

use bethink_service::{ErrorKind, Result, next_batch};
use bethink_transcript::{Seq, json};
use bytes::Bytes;

use super::answer_links::AnswerLink;
use super::request::ChainedHistory;
use super::service::GatewayService;

impl GatewayService {
    /// Returns the conversation up to and including an answer; `None` if the answer is unknown.
    pub(crate) async fn history_through(&self, answer: &str) -> Result<Option<ChainedHistory>> {
        let Some(link) = self.cache.answer_link(answer) else { return Ok(None) };
        let AnswerLink { session, through, heads } = link;
        self.wait_until_stored(session).await?;
        let mut messages: Vec<Bytes> = Vec::with_capacity(through);
        while messages.len() < through {
            let after = Seq(messages.len() as u64);
            let batch = match self.cx.store().messages(session, next_batch(after)).await {
                Ok(batch) => batch,
                Err(error) => {
                    let error = bethink_service::ServiceError::from(error);
                    return if error.kind == ErrorKind::NotFound { Ok(None) } else { Err(error) };
                }
            };
            if batch.is_empty() {
                return Ok(None);
            }
            let missing = through - messages.len();
            messages.extend(batch.iter().take(missing).map(|message| as_said(&message.raw)));
        }
        Ok(Some(ChainedHistory { session, heads, messages }))
    }
}

/// Returns a stored message with the role that it had when the client sent it.
fn as_said(raw: &Bytes) -> Bytes {
    let said_as = || {
        let text = std::str::from_utf8(raw).ok().filter(|text| text.contains("\"said_as\""))?;
        let members = json::members(text)?;
        let (_, role) = members.iter().find(|(name, _)| name == "said_as")?;
        json::with_member(text, "role", role.get())
    };
    said_as().unwrap_or_else(|| raw.clone())
}
