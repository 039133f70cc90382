//! Answers that later requests continue by their ID, instead of sending what was said before.

use std::collections::HashMap;
use std::sync::Arc;

use bethink_service::{ErrorKind, Result, next_batch};
use bethink_transcript::{Seq, SessionId, json};
use bytes::Bytes;

use super::request::ChainedHistory;
use super::service::GatewayService;

/// Maximum number of answers that are known by their ID. Each takes a few hundred bytes, and the instructions of a
/// conversation are shared by its answers.
const MAX_ANSWERS: usize = 10_000;

/// The place of an answer in a session.
#[derive(Clone, Debug)]
pub(super) struct AnswerLink {
    pub(super) session: SessionId,
    /// Number of messages through the answer.
    pub(super) through: usize,
    pub(super) heads: Arc<[String]>,
}

/// The known answers by their IDs.
#[derive(Debug, Default)]
pub(super) struct AnswerLinks {
    links: HashMap<String, AnswerLink>,
    /// The instructions of the newest answer.
    newest: Option<Arc<[String]>>,
}

impl AnswerLinks {
    pub(super) fn add(&mut self, id: String, mut link: AnswerLink) {
        if self.links.len() >= MAX_ANSWERS {
            self.links.clear();
        }
        match &self.newest {
            Some(newest) if *newest == link.heads => link.heads = Arc::clone(newest),
            _ => self.newest = Some(Arc::clone(&link.heads)),
        }
        self.links.insert(id, link);
    }

    pub(super) fn get(&self, id: &str) -> Option<AnswerLink> {
        self.links.get(id).cloned()
    }

    pub(super) fn remove(&mut self, session: SessionId) {
        self.links.retain(|_, link| link.session != session);
    }
}

impl GatewayService {
    /// Returns what was said through an answer; `None` if the answer is unknown.
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

/// Returns a stored message with the role in which it was sent.
fn as_said(raw: &Bytes) -> Bytes {
    let said_as = || {
        let text = std::str::from_utf8(raw).ok().filter(|text| text.contains("\"said_as\""))?;
        let members = json::members(text)?;
        let (_, role) = members.iter().find(|(name, _)| name == "said_as")?;
        json::with_member(text, "role", role.get())
    };
    said_as().unwrap_or_else(|| raw.clone())
}
