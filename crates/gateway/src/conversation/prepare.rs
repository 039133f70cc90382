//! What goes up for a request.

use std::sync::Arc;

use bethink_prefix_match::{Chain, ChainScope};
use bethink_service::{Result, ServiceError};
use bethink_sessions::{ClientParts, Inject};

use super::cache::ConversationPlace;
use super::queue::StorageTask;
use super::read_request::{ReadRequest, read_all};
use super::request::{ClientKey, GatewayRequest, UpstreamPrompt};
use super::service::GatewayService;
use super::ticket::PreparedPrompt;
use super::working_dir::spoken_dir;

/// Bytes of one conversation that may wait to be stored; a request that brings more waits itself.
const MAX_WAITING: usize = 16 * 1024 * 1024;
/// Tokens that an image or a document may cost beyond its bytes, since a request may contain only its URL.
const MEDIA_TOKENS: u64 = 3_000;
/// The part of the system prompt that a client's own is.
const SYSTEM: &str = "system";

impl GatewayService {
    /// Recognises the session, keeps what is new, and says what goes up.
    pub(crate) async fn prepare_prompt(&self, request: GatewayRequest) -> Result<PreparedPrompt> {
        let request = Arc::new(self.read_request(request)?);
        let place = self.recognise(&request).await?;
        if place.is_simple && request.surely_fits {
            metrics::counter!("bethink_gateway_requests_total", "way" => "unchanged").increment(1);
            self.note_behind(&request, &place).await?;
            return Ok(PreparedPrompt::new(&request, &place, UpstreamPrompt::Unchanged));
        }
        metrics::counter!("bethink_gateway_requests_total", "way" => "turn").increment(1);
        self.turn_for(&request, place).await
    }

    /// The prompt that such a request would get, but for a compaction. Keeps nothing.
    pub(crate) async fn count_prompt(&self, request: GatewayRequest) -> Result<UpstreamPrompt> {
        let request = self.read_request(request)?;
        match self.known_place(&request).await? {
            Some(place) if !place.is_simple => self.foreseen_for(&request, &place).await,
            _ => Ok(UpstreamPrompt::Unchanged),
        }
    }

    /// What of an unchanged request is noted in the background; waits only where too much waits already.
    async fn note_behind(
        &self,
        request: &Arc<ReadRequest>,
        place: &ConversationPlace,
    ) -> Result<()> {
        let session = place.session;
        let Some(queue) = self.cache.queue(session) else { return Ok(()) };
        if self.cache.framed(session, request.frame) {
            queue.push(StorageTask::Frame(Arc::clone(request)));
            self.store_soon(session);
        }
        if queue.bytes() > MAX_WAITING { self.stored_all(session).await } else { Ok(()) }
    }

    fn read_request(&self, given: GatewayRequest) -> Result<ReadRequest> {
        let GatewayRequest { entrance, session, client, messages, .. } = given;
        let default = || bethink_api::parse_word(&self.cx.settings().gateway.inject);
        let inject = given.inject.or_else(default).unwrap_or(Inject::Off);
        if messages.is_empty() {
            return Err(ServiceError::invalid("messages", "at least one message"));
        }
        let model = self.client_model(given.model, given.max_output)?;
        let tools = given.tools.as_ref().map_or("[]", |tools| tools.get());
        let readings = read_all(&messages)?;
        let mut chain = Chain::new(&[&model.name, tools]);
        let marks = readings.iter().map(|reading| chain.push(reading)).collect();
        let system = given.system.unwrap_or_default();
        let project_dir = given.project_dir.or_else(|| spoken_dir(&system, messages.first()));
        let scope = match &client {
            Some(ClientKey { entrance, key }) => ChainScope::of(&["client", entrance, key]),
            None => ChainScope::of(&["wire", entrance, project_dir.as_deref().unwrap_or_default()]),
        };
        let media: u64 = readings.iter().map(|reading| u64::from(reading.media)).sum();
        let most = given.body_bytes as u64 + media * MEDIA_TOKENS;
        let surely_fits = inject == Inject::Off && most < self.sessions.thresholds(&model)?.auto;
        let ChainScope(frame) = ChainScope::of(&[&system, tools]);
        let parts = vec![bethink_api::SystemPart { part: SYSTEM.to_owned(), text: system }];
        let parts = ClientParts::new(Some(parts), Some(tools), None)?;
        Ok(ReadRequest {
            entrance,
            model,
            session,
            client,
            project_dir,
            parts,
            messages,
            inject,
            readings,
            marks,
            chain,
            scope,
            frame,
            surely_fits,
        })
    }
}
