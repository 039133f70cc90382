//! Makes the prompt for a request.

use std::sync::Arc;

use bethink_prefix_match::{Chain, ChainScope};
use bethink_service::{Result, ServiceError};
use bethink_sessions::{ClientParts, Inject};

use super::cache::ConversationPlace;
use super::queue::StorageTask;
use super::read_request::{ReadRequest, RequestingAgent, read_all};
use super::request::{ClientKey, GatewayRequest, UpstreamPrompt};
use super::service::GatewayService;
use super::ticket::PreparedPrompt;
use super::working_dir::stated_dir;

/// Maximum size of a conversation's queued messages, in bytes. If more are queued, a request waits until they are
/// stored.
const MAX_QUEUED_BYTES: usize = 16 * 1024 * 1024;
/// Upper estimate of the number of tokens in an image or a document. A request may contain only its URL.
const MEDIA_TOKENS: u64 = 3_000;
/// Name of the system part that contains the client's own system prompt.
const SYSTEM: &str = "system";

impl GatewayService {
    /// Finds the session, stores the new messages, and makes the prompt to send.
    pub(crate) async fn prepare_prompt(&self, request: GatewayRequest) -> Result<PreparedPrompt> {
        let request = Arc::new(self.read_request(request)?);
        let place = self.recognize(&request).await?;
        if place.is_unedited && request.surely_fits {
            metrics::counter!("bethink_gateway_requests_total", "way" => "unchanged").increment(1);
            self.note_in_background(&request, &place).await?;
            return Ok(PreparedPrompt::new(&request, &place, UpstreamPrompt::Unchanged));
        }
        metrics::counter!("bethink_gateway_requests_total", "way" => "turn").increment(1);
        self.turn_for(&request, place).await
    }

    /// Returns the prompt that this request would get, without a compaction, and stores nothing.
    pub(crate) async fn count_prompt(&self, request: GatewayRequest) -> Result<UpstreamPrompt> {
        self.preview_of(&self.read_request(request)?).await
    }

    async fn preview_of(&self, request: &ReadRequest) -> Result<UpstreamPrompt> {
        match self.existing_place(request).await? {
            Some(place) if !place.is_unedited => self.preview_for(request, &place).await,
            _ => Ok(UpstreamPrompt::Unchanged),
        }
    }

    /// Returns the prompt of a request that must not be recorded; `None` if it may be recorded. Earlier compactions of
    /// the conversation apply to the prompt, and no new compaction is made.
    pub(crate) async fn unrecorded_prompt(
        &self,
        request: GatewayRequest,
    ) -> Result<Option<UpstreamPrompt>> {
        let request = self.read_request(request)?;
        if !self.is_unrecorded(&request).await? {
            return Ok(None);
        }
        metrics::counter!("bethink_gateway_requests_total", "way" => "unrecorded").increment(1);
        self.preview_of(&request).await.map(Some)
    }

    async fn is_unrecorded(&self, request: &ReadRequest) -> Result<bool> {
        let rules = self.cx.recording();
        // A client's other requests, such as for a title, do not name the project.
        let client = request.client.as_ref().map(|_| u128::from(request.scope.0));
        if rules.has_unrecorded(&request.marks) || rules.has_unrecorded(client.as_slice()) {
            return Ok(true);
        }
        let dir = request.project_dir.as_deref();
        let mark = if dir.is_some_and(|dir| rules.excluded(dir).is_some()) {
            client.or(request.marks.last().copied())
        } else if rules.pause_at(self.cx.now()).is_some() {
            request.marks.last().copied()
        } else {
            return Ok(false);
        };
        if let Some(mark) = mark {
            self.cx.leave_unrecorded(mark).await?;
        }
        Ok(true)
    }

    /// Records, in the background, a request that is sent unchanged. Waits only if the queue is full.
    async fn note_in_background(
        &self,
        request: &Arc<ReadRequest>,
        place: &ConversationPlace,
    ) -> Result<()> {
        let session = place.session;
        let Some(queue) = self.cache.queue(session) else { return Ok(()) };
        let is_new = self.cache.set_frame(session, request.frame);
        queue.push(StorageTask::Frame { request: Arc::clone(request), is_new });
        self.store_in_background(session);
        if queue.bytes() > MAX_QUEUED_BYTES {
            self.wait_until_stored(session).await
        } else {
            Ok(())
        }
    }

    fn read_request(&self, given: GatewayRequest) -> Result<ReadRequest> {
        let GatewayRequest { entrance, session, client, messages, .. } = given;
        let default = || bethink_api::parse_word(&self.cx.settings().gateway.inject);
        let inject = given.inject.or_else(default).unwrap_or(Inject::Off);
        if messages.is_empty() {
            return Err(ServiceError::invalid("messages", "must contain at least one message"));
        }
        let model = self.client_model(given.model, given.max_output)?;
        let tools = given.tools.as_ref().map_or("[]", |tools| tools.get());
        let readings = read_all(&messages)?;
        let mut chain = Chain::new(&[&model.name, tools]);
        let marks = readings.iter().map(|reading| chain.push(reading)).collect();
        let system = given.system.unwrap_or_default();
        let stated = || stated_dir(&system, &messages);
        let project_dir = given.project_dir.or_else(stated).or(given.default_project);
        let scope = match &client {
            Some(ClientKey { entrance, key }) => ChainScope::of(&["client", entrance, key]),
            None => ChainScope::of(&["wire", entrance, project_dir.as_deref().unwrap_or_default()]),
        };
        let media: u64 = readings.iter().map(|reading| u64::from(reading.media)).sum();
        let most = given.body_bytes as u64 + media * MEDIA_TOKENS;
        let surely_fits = inject == Inject::Off && most < self.sessions.thresholds(&model)?.auto;
        let ChainScope(frame) = ChainScope::of(&[&system, tools]);
        let agent = RequestingAgent::of(&system, tools);
        let parts = vec![bethink_api::SystemPart { part: SYSTEM.to_owned(), text: system }];
        let parts = ClientParts::new(Some(parts), Some(tools), None)?;
        Ok(ReadRequest {
            entrance,
            model,
            session,
            client,
            project_dir,
            parts,
            own: given.frame,
            client_model: given.client_model,
            messages,
            body_bytes: given.body_bytes,
            inject,
            readings,
            marks,
            chain,
            scope,
            chain_heads: given.chain_heads,
            frame,
            agent,
            surely_fits,
        })
    }
}
