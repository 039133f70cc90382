//! Stores a conversation's queue in the background.

use std::sync::Arc;

use bethink_api::{ModelSpec, SessionLifecycle};
use bethink_context::Decision;
use bethink_service::{Result, ServiceError};
use bethink_sessions::Inject;
use bethink_store::{Lineage, SessionChange};
use bethink_transcript::{Message, Seq, SessionId};

use super::queue::{StorageQueue, StorageTask};
use super::read_request::{ReadRequest, fresh_id};
use super::service::GatewayService;

impl GatewayService {
    /// Starts storing the queue in the background.
    pub(super) fn store_in_background(&self, session: SessionId) {
        let Some(queue) = self.cache.queue(session) else { return };
        let service = self.clone();
        self.cx.spawn(async move { service.drain(session, &queue).await });
    }

    /// Waits until the conversation's queue is stored. The queue is stored even if the client disconnects.
    pub(super) async fn wait_until_stored(&self, session: SessionId) -> Result<()> {
        let Some(queue) = self.cache.queue(session) else { return Ok(()) };
        let (service, own) = (self.clone(), Arc::clone(&queue));
        let work = async move { service.drain(session, &own).await };
        self.cx.run_to_completion(work).await;
        queue.failed().map_or(Ok(()), Err)
    }

    async fn drain(&self, session: SessionId, queue: &StorageQueue) {
        let _storing = queue.storing.lock().await;
        while let Some(task) = queue.next() {
            if queue.failed().is_some() {
                continue;
            }
            if let Err(error) = self.store_task(session, task).await {
                tracing::warn!(%session, reason = %error, "could not store part of a session; the client's next request will contain it again");
                queue.fail(&error);
                self.cache.deleted(session);
            }
        }
    }

    async fn store_task(&self, session: SessionId, task: StorageTask) -> Result<()> {
        match task {
            StorageTask::Begin(new, lineage, claim) => {
                // The claim is dropped if the key was given to an agent's session in the meantime.
                let claim = claim.filter(|claim| self.cache.claim_matches(claim));
                self.cx.store().begin_session(*new, lineage, claim).await?;
                self.cx.hub().announce_session(session, SessionLifecycle::Created);
            }
            StorageTask::Model(model) => self.change_model(session, &model).await?,
            StorageTask::Frame { request, is_new } => {
                self.note_frame(session, &request, is_new).await?;
            }
            StorageTask::Append { after, messages, marks, scope, is_shown } => {
                let has_results = messages.iter().any(|m| m.tool_results().next().is_some());
                let lineage = Lineage { session, scope: scope.0, marks };
                self.append_with_marks(after, messages, lineage).await?;
                if is_shown && has_results {
                    self.freeze(session).await?;
                }
            }
        }
        Ok(())
    }

    async fn change_model(&self, session: SessionId, model: &ModelSpec) -> Result<()> {
        let model = serde_json::to_string(model).map_err(ServiceError::internal)?;
        let change =
            SessionChange { model: Some(model), updated_at: self.cx.now(), ..Default::default() };
        self.sessions.update(session, change).await?;
        if let Some(handle) = self.sessions.open_handle(session) {
            handle.unload().await;
        }
        Ok(())
    }

    /// Stores the marks before the messages, usually in the same commit. If the daemon is killed in between, the next
    /// daemon finds the session by its marks, and the number of stored messages shows how far the first daemon got.
    async fn append_with_marks(
        &self,
        after: Seq,
        messages: Vec<Message>,
        lineage: Lineage,
    ) -> Result<()> {
        let session = lineage.session;
        let _hold = self.sessions.hold_session(session).await?;
        let last = self.cx.store().session(session).await?.last_seq;
        if last != after {
            return Err(ServiceError::conflict(format!(
                "the session has {last} messages instead of {after}"
            )));
        }
        let marked = self.cx.store().put_lineage(lineage, after);
        let (marked, stored) = tokio::join!(marked, self.append_all(session, messages.clone()));
        marked?;
        let stored = stored?;
        if stored < messages.len() as u64 {
            // Some providers reuse the IDs of their answers, so these messages get new IDs.
            let fresh = messages.into_iter().skip(usize::try_from(stored).unwrap_or(usize::MAX));
            let fresh = fresh.map(|mut message| {
                message.id = fresh_id()?;
                Ok(message)
            });
            self.append_all(session, fresh.collect::<Result<_>>()?).await?;
        }
        Ok(())
    }

    async fn append_all(&self, session: SessionId, messages: Vec<Message>) -> Result<u64> {
        let (appended, _) = self.sessions.record(session, messages, false).await?;
        Ok(appended.appended)
    }

    /// Records the request without its messages, for bethink's own calls. Counts the tokens of the system prompt and
    /// the tools if they are new.
    async fn note_frame(
        &self,
        session: SessionId,
        request: &ReadRequest,
        is_new: bool,
    ) -> Result<()> {
        let handle = self.sessions.handle(session).await?;
        if is_new {
            let mut loaded = self.sessions.lock(&handle).await?;
            let around =
                self.sessions.around(&handle, &loaded, &request.parts, Inject::Off).await?;
            loaded.note_fixed(around.tokens);
        }
        self.sessions.note_sent(&handle, request.sent(None));
        Ok(())
    }

    /// Records that a prompt has shown all tool results unchanged, so that later prompts also show them unchanged.
    async fn freeze(&self, session: SessionId) -> Result<()> {
        let handle = self.sessions.handle(session).await?;
        let mut loaded = self.sessions.lock(&handle).await?;
        let through = loaded.session.last_seq;
        let record = Decision::Shown { through };
        let mut decisions = loaded.state.decisions.clone();
        decisions.apply(&record, &loaded.state.history);
        self.sessions.keep_decisions(&mut loaded, decisions, &[record], self.cx.now()).await
    }
}
