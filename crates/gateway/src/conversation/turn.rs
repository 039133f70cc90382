//! Makes prompts from decisions, and smaller prompts after the provider has refused a prompt.

use std::sync::Arc;

use bethink_api::{RecoverRequest, RecoveryStep};
use bethink_context::Turn;
use bethink_service::{Result, ServiceError};
use bethink_sessions::{
    Inject, ReadyPrompt, RecallQuery, SessionGuard, SessionHandle, TurnRequest,
};
use bethink_transcript::Seq;
use serde_json::Value;

use super::cache::ConversationPlace;
use super::parts::{PromptSources, parts};
use super::read_request::ReadRequest;
use super::request::{PromptPart, UpstreamPrompt};
use super::service::GatewayService;
use super::ticket::{AnswerTicket, PreparedPrompt};

/// Recovery steps that make the prompt smaller.
const SHRINKING: [RecoveryStep; 4] = [
    RecoveryStep::Collapse,
    RecoveryStep::Compact,
    RecoveryStep::StripMedia,
    RecoveryStep::StripThinking,
];
/// Maximum number of attempts to fork a conversation while other requests are continuing it.
const TRIES: usize = 4;

impl GatewayService {
    /// Makes a prompt from the stored session.
    pub(super) async fn turn_for(
        &self,
        request: &Arc<ReadRequest>,
        place: ConversationPlace,
    ) -> Result<PreparedPrompt> {
        let (place, handle, loaded) = self.own_history(request, place).await?;
        let wanted = TurnRequest {
            client: &request.parts,
            inject: request.inject,
            recall: RecallQuery::default(),
            may_compact: self.cx.settings().context.auto_compact,
            reminds: request.inject == Inject::Full,
            client_model: request.client_model.clone(),
            reduce_only_when_full: true,
        };
        handle.note_own_messages(request.unmarked_bytes(), || request.sent(None));
        let ReadyPrompt { mut loaded, turn, around } =
            self.sessions.ready(&handle, loaded, wanted).await?;
        let sources = PromptSources { request, history: &loaded.state.history };
        let added = around.added();
        let sent = request.sent(added.as_deref());
        let prompt = prompt_of(&sources, &turn, added);
        self.sessions.handed_out(&handle, &mut loaded, turn, sent);
        if !loaded.state.decisions.is_plain() {
            self.cache.edited(place.session);
        }
        drop(loaded);
        self.sessions.finish_use(handle);
        Ok(PreparedPrompt::new(request, &place, prompt))
    }

    /// Returns a strictly smaller prompt; `None` if no smaller prompt is possible. The client then gets the provider's
    /// error.
    pub(crate) async fn smaller_prompt(
        &self,
        ticket: &AnswerTicket,
        status: u16,
        body: &str,
    ) -> Result<Option<PreparedPrompt>> {
        let Some((bytes, request)) = ticket.open_request() else { return Ok(None) };
        let (session, scope) = (ticket.0.session, ticket.0.scope);
        self.wait_until_stored(session).await?;
        let recover = RecoverRequest {
            status: Some(status),
            error: Value::String(body.to_owned()),
            max_tokens: request.model.max_output_tokens,
            ..RecoverRequest::default()
        };
        let client_model = request.client_model.clone();
        let recovered = self.sessions.recover_with(session, recover, client_model).await?;
        if !SHRINKING.contains(&recovered.step) {
            return Ok(None);
        }
        self.cache.edited(session);
        let place = self.place(session, scope);
        let again = self.turn_for(&request, place).await?;
        let is_smaller = again.ticket.open_request().is_some_and(|(now, _)| now < bytes);
        Ok(is_smaller.then_some(again))
    }

    /// Returns a session whose history is exactly that of the request, forking if necessary.
    async fn own_history(
        &self,
        request: &ReadRequest,
        mut place: ConversationPlace,
    ) -> Result<(ConversationPlace, Arc<SessionHandle>, SessionGuard)> {
        let through = request.marks.len();
        for _ in 0..TRIES {
            self.wait_until_stored(place.session).await?;
            let own = self.cache.shared_with(place.session, &request.marks);
            let Some(shared) = own.filter(|own| own.through == through) else {
                // Another writer appended to the session.
                place = self.recognize(request).await?;
                continue;
            };
            if shared.is_whole {
                let handle = self.sessions.handle(place.session).await?;
                let loaded = self.sessions.lock(&handle).await?;
                if loaded.session.last_seq == Seq(through as u64) {
                    return Ok((place, handle, loaded));
                }
            }
            // Continues an existing fork if one fits. Otherwise each request would make another one.
            let last = self.cache.longest_whole(place.scope, &request.marks);
            if let Some(last) = last.filter(|last| request.only_user_messages_after(last.through))
                && self.extend(request, last)?
            {
                place = self.place(last.session, place.scope);
                continue;
            }
            if let Some(own) = self.fork_at(shared, place.scope).await? {
                place = own;
            }
        }
        Err(ServiceError::conflict("other requests keep changing this conversation; try again"))
    }

    /// Returns the prompt that the request would get from a stored session, without a compaction.
    pub(super) async fn preview_for(
        &self,
        request: &ReadRequest,
        place: &ConversationPlace,
    ) -> Result<UpstreamPrompt> {
        self.wait_until_stored(place.session).await?;
        let handle = self.sessions.handle(place.session).await?;
        let loaded = self.sessions.lock(&handle).await?;
        let Ok(known) = usize::try_from(loaded.session.last_seq.0) else {
            return Ok(UpstreamPrompt::Unchanged);
        };
        if known > request.marks.len() {
            // The client went back, so the request would get a fork, which has none of the later decisions.
            return Ok(UpstreamPrompt::Unchanged);
        }
        let around = self.sessions.around(&handle, &loaded, &request.parts, request.inject).await?;
        let new = request.new_messages(known, self.cx.now())?;
        let (state, turn) = self.sessions.foresee_with(&loaded, new, &around)?;
        let sources = PromptSources { request, history: &state.history };
        Ok(prompt_of(&sources, &turn, around.added()))
    }
}

fn prompt_of(
    sources: &PromptSources<'_>,
    turn: &Turn,
    system_added: Option<String>,
) -> UpstreamPrompt {
    let changed = parts(sources, &turn.prompt);
    if changed.is_none() && system_added.is_none() {
        return UpstreamPrompt::Unchanged;
    }
    let all = || (0..sources.request.messages.len()).map(PromptPart::Client).collect();
    UpstreamPrompt::Changed { system_added, messages: changed.unwrap_or_else(all) }
}
