//! Records the last request of a session, and stores it in the background.

use std::collections::BTreeMap;
use std::sync::Arc;

use bethink_service::{Result, ServiceError};
use bethink_transcript::{Seq, SessionId};
use bytes::Bytes;

use crate::handle::SessionHandle;
use crate::sent::{SentFrame, SentMark, SentRequest};
use crate::service::SessionService;

impl SessionHandle {
    /// Records the client's own bytes of the messages that the last request did not contain. If there is no last
    /// request, `first` takes its place.
    pub fn note_own_messages(
        &self,
        own: BTreeMap<Seq, Bytes>,
        first: impl FnOnce() -> SentRequest,
    ) {
        let mut last = self.last_request.state();
        let known = &mut last.request.get_or_insert_with(first).own;
        for (seq, bytes) in own {
            known.entry(seq).or_insert(bytes);
        }
    }
}

impl SessionService {
    /// Records the request that is sent for a session, and stores it in the background.
    pub fn note_sent(&self, handle: &SessionHandle, request: SentRequest) {
        handle.last_request.set(request);
        let (frame, marks) = handle.last_request.unstored();
        if frame.is_none() && marks.is_none() {
            return;
        }
        let (service, id) = (self.clone(), handle.id);
        self.cx.spawn(async move {
            if let Err(error) = service.store_sent(id, frame, marks).await {
                tracing::warn!(session = %id, %error, "could not store a session's last request");
            }
        });
    }

    async fn store_sent(
        &self,
        id: SessionId,
        frame: Option<Arc<SentFrame>>,
        marks: Option<Vec<SentMark>>,
    ) -> Result<()> {
        let (store, now) = (self.cx.store(), self.cx.now());
        if let Some(frame) = frame {
            let json = frame.to_json().map_err(ServiceError::internal)?;
            store.put_sent_frame(id, json, now).await?;
        }
        if let Some(marks) = marks {
            let json = serde_json::to_string(&marks).map_err(ServiceError::internal)?;
            store.put_sent_marks(id, json, now).await?;
        }
        Ok(())
    }

    /// Reads the stored request of a session that is being loaded. Without it, prompts are correct but miss the cache,
    /// so an unreadable request is not an error.
    pub(crate) async fn load_sent(&self, handle: &SessionHandle) {
        if handle.last_request.state().request.is_some() {
            return;
        }
        let stored = match self.cx.store().sent_request(handle.id).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return,
            Err(error) => {
                return tracing::warn!(session = %handle.id, %error, "could not read the session's last request");
            }
        };
        match SentRequest::from_stored(&stored) {
            Ok(request) => {
                let mut last = handle.last_request.state();
                last.frame = Some(Arc::clone(&request.frame));
                last.marks.clone_from(&request.marks);
                last.request = Some(request);
            }
            Err(error) => {
                tracing::warn!(session = %handle.id, %error, "could not read the session's last request");
            }
        }
    }
}
