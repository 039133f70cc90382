//! What the model answered.

use bethink_lineage::{Prefix, Reader};
use bethink_transcript::message::Source;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, Usage, json};
use bytes::Bytes;

use super::desk::Near;
use super::line::Work;
use super::{Heard, Held, Outcome, Ticket};
use crate::{Daemon, Refusal, Result};

/// An answer, ready to be stored.
struct Answer {
    message: Message,
    mark: u128,
}

impl Daemon {
    /// Takes an answer in. Returns at once, with the conversation gone on; what it starts is waited for at
    /// shutdown. A client that has the answer's end finds it with its next request.
    pub fn gateway_heard(&self, ticket: Ticket, heard: Heard) {
        ticket.accepted();
        let Ticket(held) = ticket;
        let Heard { message, outcome } = heard;
        let Some(message) = message else { return };
        let answer = match self.read_answer(&held, message) {
            Ok(answer) => answer,
            Err(refusal) => {
                tracing::warn!(session = %held.session, reason = %refusal, "an answer could not be read");
                return;
            }
        };
        if let Some(usage) = answer.message.usage {
            count(usage, outcome);
        }
        // What broke off is not said: the client asks again. An answer without words leaves nothing to echo.
        if outcome != Outcome::Whole || answer.message.blocks.is_empty() {
            return;
        }
        if self
            .gateway()
            .extend(held.session, held.length, &[answer.mark], None, |_| answer.work(&held))
        {
            self.go_on(held.session);
            return;
        }
        let daemon = self.clone();
        self.spawn(async move {
            if let Err(refusal) = daemon.hear_elsewhere(&held, answer).await {
                tracing::warn!(session = %held.session, reason = %refusal, "an answer was not kept");
            }
        });
    }

    fn read_answer(&self, held: &Held, raw: Bytes) -> Result<Answer> {
        let reading = Reader::default().read(&raw).map_err(Refusal::internal)?;
        let Prefix(mark) = held.chain.clone().push(&reading);
        let id = match provider_id(held, &raw) {
            Some(id) => id,
            None => super::asked::fresh_id()?,
        };
        let meta = MessageMeta { seq: Seq::ZERO, id, created_at: self.now() };
        let message = Message::parse(meta, raw, Source::Client).map_err(Refusal::internal)?;
        Ok(Answer { message, mark })
    }

    /// The session has gone on, or is no longer at hand. Another answer to the same words is a fork.
    async fn hear_elsewhere(&self, held: &Held, answer: Answer) -> Result<()> {
        let _one = self.gateway().stripe(held.mark).lock().await;
        if self.gateway().longest(held.scope, &[answer.mark]).is_some()
            || !self.store().relatives(held.scope.0, vec![answer.mark]).await?.is_empty()
        {
            return Ok(());
        }
        let mut near = self.gateway().longest(held.scope, &[held.mark]);
        if near.is_none() {
            let stored = self.store().relatives(held.scope.0, vec![held.mark]).await?;
            let Some(stored) = stored.first() else { return Ok(()) };
            self.load(stored.session, held.scope, ["", ""]).await?;
            near = self.gateway().longest(held.scope, &[held.mark]);
        }
        let Some(near) = near else { return Ok(()) };
        let near = Near { through: held.length, ..near };
        let session = match near.is_whole {
            true => near.session,
            false => match self.branch_off(near, held.scope).await? {
                Some(place) => place.session,
                None => return Ok(()),
            },
        };
        if self.gateway().extend(session, held.length, &[answer.mark], None, |_| answer.work(held))
        {
            self.go_on(session);
        }
        Ok(())
    }
}

impl Answer {
    fn work(&self, held: &Held) -> Work {
        Work::Append {
            after: Seq(held.length as u64),
            messages: vec![self.message.clone()],
            marks: vec![self.mark],
            scope: held.scope,
            is_shown: false,
        }
    }
}

/// The provider's own id, where providers have such: local servers of the other wire number all answers alike.
fn provider_id(held: &Held, raw: &Bytes) -> Option<MessageId> {
    if held.entrance != "anthropic" {
        return None;
    }
    let members = json::members(std::str::from_utf8(raw).ok()?)?;
    let (_, id) = members.iter().find(|(name, _)| name == "id")?;
    MessageId::new(&json::decode_string(id.get())).ok()
}

fn count(usage: Usage, outcome: Outcome) {
    let outcome = match outcome {
        Outcome::Whole => "whole",
        Outcome::Broken => "broken",
        Outcome::Cancelled => "cancelled",
    };
    for (what, tokens) in [
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cache_read", usage.cache_read_input_tokens),
        ("cache_write", usage.cache_creation_input_tokens),
    ] {
        metrics::counter!("bethink_gateway_tokens_total", "what" => what, "outcome" => outcome)
            .increment(tokens);
    }
}
