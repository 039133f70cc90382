//! What waits in a conversation's queue is stored, in the background of its requests.

use std::sync::Arc;

use bethink_api::{ModelSpec, SessionLifecycle};
use bethink_context::Decision;
use bethink_service::{Result, ServiceError};
use bethink_sessions::{Inject, sent_request};
use bethink_store::{Lineage, SessionChange};
use bethink_transcript::{Message, Seq, SessionId};

use super::queue::{StorageQueue, StorageTask};
use super::read_request::{ReadRequest, fresh_id};
use super::service::GatewayService;

impl GatewayService {
    /// Stores what waits, in the background.
    pub(super) fn store_soon(&self, session: SessionId) {
        let Some(queue) = self.cache.queue(session) else { return };
        let service = self.clone();
        self.cx.spawn(async move { service.drain(session, &queue).await });
    }

    /// Everything of the conversation is stored when this is answered. A client that hangs up stops nothing.
    pub(super) async fn stored_all(&self, session: SessionId) -> Result<()> {
        let Some(queue) = self.cache.queue(session) else { return Ok(()) };
        let (service, own) = (self.clone(), Arc::clone(&queue));
        let work = async move { service.drain(session, &own).await };
        self.cx.spawn(work).await.map_err(ServiceError::internal)?;
        queue.failed().map_or(Ok(()), Err)
    }

    async fn drain(&self, session: SessionId, queue: &StorageQueue) {
        let _storing = queue.storing.lock().await;
        while let Some(task) = queue.next() {
            if queue.failed().is_some() {
                continue;
            }
            if let Err(error) = self.store_task(session, task).await {
                tracing::warn!(%session, reason = %error, "a conversation was not stored; its next request brings it again");
                queue.fail(&error);
                self.cache.deleted(session);
            }
        }
    }

    async fn store_task(&self, session: SessionId, task: StorageTask) -> Result<()> {
        match task {
            StorageTask::Begin(new, lineage, claim) => {
                // The key now refers to an agent that came meanwhile.
                let claim = claim.filter(|claim| self.cache.stands_for(claim));
                self.cx.store().begin_session(*new, lineage, claim).await?;
                self.cx.hub().announce_session(session, SessionLifecycle::Created);
            }
            StorageTask::Model(model) => self.change_model(session, &model).await?,
            StorageTask::Frame(request) => self.note_frame(session, &request).await?,
            StorageTask::Append { after, messages, marks, scope, is_shown } => {
                let has_results = messages.iter().any(|m| m.tool_results().next().is_some());
                let lineage = Lineage { session, scope: scope.0, marks };
                self.append_behind(after, messages, lineage).await?;
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
        self.cx.store().update_session(session, change).await?;
        if let Some(handle) = self.sessions.open_handle(session) {
            handle.unload().await;
        }
        Ok(())
    }

    /// Marks first, in the same commit where it goes well: a daemon that is killed in between finds the session by
    /// them, and knows by its messages how far it came.
    async fn append_behind(
        &self,
        after: Seq,
        messages: Vec<Message>,
        lineage: Lineage,
    ) -> Result<()> {
        let session = lineage.session;
        let last = self.cx.store().session(session).await?.last_seq;
        if last != after {
            return Err(ServiceError::conflict(format!(
                "the session has {last} messages, and {after} were expected"
            )));
        }
        let marked = self.cx.store().put_lineage(lineage, after);
        let (marked, stored) = tokio::join!(marked, self.append_all(session, messages.clone()));
        marked?;
        let stored = stored?;
        if stored < messages.len() as u64 {
            // A provider that numbers its answers anew: the id is taken in this session.
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

    /// What a request held beside its messages counts, and is what a fork of the session asks with.
    async fn note_frame(&self, session: SessionId, request: &ReadRequest) -> Result<()> {
        let handle = self.sessions.handle(session).await?;
        let mut loaded = self.sessions.lock(&handle).await?;
        let around = self.sessions.around(&handle, &loaded, &request.parts, Inject::Off).await?;
        loaded.note_request(around.tokens, sent_request(&around));
        Ok(())
    }

    /// Results that a prompt has shown as they are stay so.
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
