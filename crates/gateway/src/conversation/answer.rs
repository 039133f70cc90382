//! Stores the model's answers.

use std::sync::Arc;

use bethink_prefix_match::LikenessReader;
use bethink_service::{Result, ServiceError};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, SessionId, TokenUsage, json};
use bytes::Bytes;

use super::answer_links::AnswerLink;
use super::cache::SharedPrefix;
use super::queue::StorageTask;
use super::read_request::fresh_id;
use super::request::{AnswerOutcome, ProviderResponse};
use super::service::GatewayService;
use super::ticket::{AnswerTicket, TicketState};

/// An answer, ready to be stored.
struct ReceivedAnswer {
    message: Message,
    mark: u128,
    /// The provider's ID for the answer. Later requests may continue the answer by this ID.
    id: Option<String>,
}

impl GatewayService {
    /// Adds an answer to the conversation, and stores it in the background. A shutdown waits until the answer is
    /// stored. A client that has received the whole answer can continue the conversation at once.
    pub(crate) fn take_answer(&self, ticket: AnswerTicket, response: ProviderResponse) {
        ticket.accepted();
        let AnswerTicket(sent) = ticket;
        let ProviderResponse { message, outcome } = response;
        let Some(message) = message else { return };
        let answer = match self.read_answer(&sent, message) {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!(session = %sent.session, reason = %error, "could not read the provider's answer");
                return;
            }
        };
        if let Some(usage) = answer.message.usage {
            count(usage, outcome);
        }
        // The client repeats a request whose answer was cut off, and its next request does not contain an empty answer.
        if outcome != AnswerOutcome::Whole || answer.message.blocks.is_empty() {
            return;
        }
        if self
            .cache
            .extend(sent.session, sent.length, &[answer.mark], None, |_| answer.work(&sent))
        {
            self.link(&sent, &answer, sent.session);
            self.store_in_background(sent.session);
            return;
        }
        let service = self.clone();
        self.cx.spawn(async move {
            if let Err(error) = service.keep_in_fork(&sent, answer).await {
                tracing::warn!(session = %sent.session, reason = %error, "could not store the provider's answer");
            }
        });
    }

    fn read_answer(&self, sent: &TicketState, raw: Bytes) -> Result<ReceivedAnswer> {
        let reading = LikenessReader::default().read(&raw).map_err(ServiceError::internal)?;
        let mark = sent.chain.clone().push(&reading);
        let given = provider_id(&raw);
        // Some servers that use OpenAI's formats reuse their IDs.
        let own = given.as_ref().filter(|_| sent.entrance == "anthropic");
        let own = own.and_then(|id| MessageId::new(id).ok());
        let id = own.map_or_else(fresh_id, Ok)?;
        let meta = MessageMeta { seq: Seq::ZERO, id, created_at: self.cx.now() };
        let message =
            Message::parse(meta, raw, MessageSource::Client).map_err(ServiceError::internal)?;
        Ok(ReceivedAnswer { message, mark, id: given })
    }

    /// Stores an answer whose session has continued or is no longer cached. A second answer to the same messages is stored in a
    /// fork.
    async fn keep_in_fork(&self, sent: &TicketState, answer: ReceivedAnswer) -> Result<()> {
        let _one = self.cache.stripe(sent.mark).lock().await;
        if self.cache.longest(sent.scope, &[answer.mark]).is_some()
            || !self.cx.store().relatives(sent.scope.0, vec![answer.mark]).await?.is_empty()
        {
            return Ok(());
        }
        let mut shared = self.cache.longest(sent.scope, &[sent.mark]);
        if shared.is_none() {
            let stored = self.cx.store().relatives(sent.scope.0, vec![sent.mark]).await?;
            let Some(stored) = stored.first() else { return Ok(()) };
            self.load(stored.session, sent.scope, ["", ""]).await?;
            shared = self.cache.longest(sent.scope, &[sent.mark]);
        }
        let Some(shared) = shared else { return Ok(()) };
        let shared = SharedPrefix { through: sent.length, ..shared };
        let session = match shared.is_whole {
            true => shared.session,
            false => match self.fork_at(shared, sent.scope).await? {
                Some(place) => place.session,
                None => return Ok(()),
            },
        };
        if self.cache.extend(session, sent.length, &[answer.mark], None, |_| answer.work(sent)) {
            self.link(sent, &answer, session);
            self.store_in_background(session);
        }
        Ok(())
    }

    fn link(&self, sent: &TicketState, answer: &ReceivedAnswer, session: SessionId) {
        if let (Some(heads), Some(id)) = (&sent.chain_heads, &answer.id) {
            let link = AnswerLink { session, through: sent.length + 1, heads: Arc::clone(heads) };
            self.cache.add_answer_link(id.clone(), link);
        }
    }
}

impl ReceivedAnswer {
    fn work(&self, sent: &TicketState) -> StorageTask {
        StorageTask::Append {
            after: Seq(sent.length as u64),
            messages: vec![self.message.clone()],
            marks: vec![self.mark],
            scope: sent.scope,
            is_shown: false,
        }
    }
}

/// Returns the provider's ID for the answer.
fn provider_id(raw: &Bytes) -> Option<String> {
    let members = json::members(std::str::from_utf8(raw).ok()?)?;
    let (_, id) = members.iter().find(|(name, _)| name == "id")?;
    Some(json::decode_string(id.get()).into_owned())
}

fn count(usage: TokenUsage, outcome: AnswerOutcome) {
    let outcome = match outcome {
        AnswerOutcome::Whole => "whole",
        AnswerOutcome::Broken => "broken",
        AnswerOutcome::Cancelled => "cancelled",
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
