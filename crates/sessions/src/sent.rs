//! The last request of a session, as its client sent it. bethink's own calls repeat it, so that they find its prefix in the
//! provider's cache. It is stored, so that this is also so after a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bethink_service::{Result, ServiceError, locked};
use bethink_store::StoredRequest;
use bethink_transcript::{CacheMark, Origin, Seq, ValidPrompt};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::handle::SessionHandle;
use crate::service::SessionService;

/// A request without its messages. They are in the history.
#[derive(Clone, Debug, Default)]
pub struct SentRequest {
    pub frame: Arc<SentFrame>,
    /// The breakpoints of its messages. They do not move: a fork reads the cache that the session wrote, and does not
    /// write its own.
    pub marks: Vec<SentMark>,
    /// Messages in the client's own bytes, where the history has other ones. They are not stored.
    pub own: BTreeMap<Seq, Bytes>,
}

/// The parts of a request that hardly ever change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// JSON with breakpoints.
    pub system: Bytes,
    pub tools: Bytes,
    /// JSON object of the other members, such as `thinking`; empty for none.
    pub parameters: Bytes,
    /// The header `anthropic-beta`; empty for none.
    pub betas: String,
    /// The client writes the messages of its requests itself.
    pub own_messages: bool,
}

/// A cache breakpoint, by the block that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentMark {
    pub origin: Origin,
    /// The value of `cache_control`.
    pub control: String,
}

/// The `cache_control` of the breakpoints that bethink places.
pub(crate) const EPHEMERAL: &str = r#"{"type":"ephemeral"}"#;

impl Default for SentFrame {
    fn default() -> Self {
        let none = Bytes::from_static(b"[]");
        Self {
            system: none.clone(),
            tools: none,
            parameters: Bytes::new(),
            betas: String::new(),
            own_messages: false,
        }
    }
}

/// A frame as it is stored. Raw JSON keeps the client's bytes.
#[derive(Serialize, Deserialize)]
struct FrameJson<'a> {
    #[serde(borrow)]
    system: &'a RawValue,
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    betas: String,
    #[serde(default)]
    own_messages: bool,
}

impl SentFrame {
    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&FrameJson {
            system: serde_json::from_slice(&self.system)?,
            tools: serde_json::from_slice(&self.tools)?,
            parameters: match self.parameters.is_empty() {
                true => None,
                false => Some(serde_json::from_slice(&self.parameters)?),
            },
            betas: self.betas.clone(),
            own_messages: self.own_messages,
        })
    }

    fn from_json(json: &str) -> serde_json::Result<Self> {
        let read: FrameJson<'_> = serde_json::from_str(json)?;
        let bytes = |raw: &RawValue| Bytes::from(raw.get().to_owned());
        Ok(Self {
            system: bytes(read.system),
            tools: bytes(read.tools),
            parameters: read.parameters.map_or_else(Bytes::new, bytes),
            betas: read.betas,
            own_messages: read.own_messages,
        })
    }

    fn weight(&self) -> usize {
        self.system.len() + self.tools.len() + self.parameters.len()
    }
}

impl SentRequest {
    pub fn new(frame: SentFrame) -> Self {
        Self { frame: Arc::new(frame), ..Self::default() }
    }

    /// Returns the request with breakpoints at these blocks of its prompt.
    pub(crate) fn marked(self, prompt: &ValidPrompt, marks: &[CacheMark]) -> Self {
        let origin = |mark: &CacheMark| {
            Some(prompt.messages().get(mark.message)?.blocks.get(mark.block)?.origin)
        };
        let control = || EPHEMERAL.to_owned();
        let marks = marks.iter().filter_map(origin);
        let marks = marks.map(|origin| SentMark { origin, control: control() }).collect();
        Self { marks, ..self }
    }

    fn from_stored(stored: &StoredRequest) -> serde_json::Result<Self> {
        let marks = stored.marks.as_deref().map(serde_json::from_str).transpose()?;
        let frame = Arc::new(SentFrame::from_json(&stored.frame)?);
        Ok(Self { frame, marks: marks.unwrap_or_default(), own: BTreeMap::new() })
    }

    fn weight(&self) -> usize {
        self.frame.weight() + self.own.values().map(Bytes::len).sum::<usize>()
    }
}

/// The place of a session's last request, shared by its handle and its loaded state. It survives a reload of the state.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRequest(Arc<Mutex<LastState>>);

#[derive(Debug, Default)]
struct LastState {
    request: Option<SentRequest>,
    /// What the store has.
    frame: Option<Arc<SentFrame>>,
    marks: Vec<SentMark>,
}

impl LastRequest {
    fn state(&self) -> MutexGuard<'_, LastState> {
        locked(&self.0)
    }

    pub(crate) fn get(&self) -> Option<SentRequest> {
        self.state().request.clone()
    }

    /// Sets the request if none is known: the first one is not sent before it is known to fit.
    pub(crate) fn begin(&self, request: impl FnOnce() -> SentRequest) {
        self.state().request.get_or_insert_with(request);
    }

    pub(crate) fn weight(&self) -> usize {
        self.state().request.as_ref().map_or(0, SentRequest::weight)
    }

    fn set(&self, request: SentRequest) {
        self.state().request = Some(request);
    }

    /// Returns what of the request the store does not have, and counts it as stored.
    fn unstored(&self) -> (Option<Arc<SentFrame>>, Option<Vec<SentMark>>) {
        let mut state = self.state();
        let Some(SentRequest { frame, marks, .. }) = state.request.clone() else {
            return (None, None);
        };
        let frame = Some(frame).filter(|frame| state.frame.as_ref() != Some(frame));
        let marks = Some(marks).filter(|marks| *marks != state.marks);
        state.frame = frame.clone().or_else(|| state.frame.take());
        state.marks = marks.clone().unwrap_or_else(|| std::mem::take(&mut state.marks));
        (frame, marks)
    }
}

impl SessionHandle {
    /// Records the client's own bytes of messages that the last request did not have. Without a last request, `first` takes
    /// its place.
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
        id: bethink_transcript::SessionId,
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

    /// Reads the stored request of a session that is loaded. Without it, prompts are right but not in the cache, so an
    /// unreadable one is no error.
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
