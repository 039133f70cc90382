//! The last request of a session, as its client sent it. bethink's own calls repeat the request, so that they find its
//! prefix in the provider's cache. The request is stored, so that this also works after a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bethink_service::locked;
use bethink_store::StoredRequest;
use bethink_transcript::{CacheMark, Origin, Seq, ValidPrompt};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A request without its messages, which are in the history.
#[derive(Clone, Debug, Default)]
pub struct SentRequest {
    pub frame: Arc<SentFrame>,
    /// The breakpoints of the request's messages. They do not move: a fork reads the cache that the session wrote, and
    /// does not write its own.
    pub marks: Vec<SentMark>,
    /// The client's own bytes of the messages whose bytes in the history are different. They are not stored.
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
    /// Whether the client writes the messages of its requests itself.
    pub own_messages: bool,
}

/// A cache breakpoint, identified by the block that carries it.
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
    pub(crate) fn to_json(&self) -> serde_json::Result<String> {
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

    pub(crate) fn from_stored(stored: &StoredRequest) -> serde_json::Result<Self> {
        let marks = stored.marks.as_deref().map(serde_json::from_str).transpose()?;
        let frame = Arc::new(SentFrame::from_json(&stored.frame)?);
        Ok(Self { frame, marks: marks.unwrap_or_default(), own: BTreeMap::new() })
    }

    fn weight(&self) -> usize {
        self.frame.weight() + self.own.values().map(Bytes::len).sum::<usize>()
    }
}

/// The place of a session's last request, shared by its handle and its loaded state. The request survives a reload of
/// the state.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastRequest(Arc<Mutex<LastState>>);

#[derive(Debug, Default)]
pub(crate) struct LastState {
    pub(crate) request: Option<SentRequest>,
    /// The frame that is in the store.
    pub(crate) frame: Option<Arc<SentFrame>>,
    pub(crate) marks: Vec<SentMark>,
}

impl LastRequest {
    pub(crate) fn state(&self) -> MutexGuard<'_, LastState> {
        locked(&self.0)
    }

    pub(crate) fn get(&self) -> Option<SentRequest> {
        self.state().request.clone()
    }

    /// Sets the request if none is known: the first prompt of a session may have to be compacted before any request is
    /// sent.
    pub(crate) fn begin(&self, request: impl FnOnce() -> SentRequest) {
        self.state().request.get_or_insert_with(request);
    }

    pub(crate) fn weight(&self) -> usize {
        self.state().request.as_ref().map_or(0, SentRequest::weight)
    }

    pub(crate) fn set(&self, request: SentRequest) {
        self.state().request = Some(request);
    }

    /// Returns the parts of the request that are not stored yet, and marks them as stored.
    pub(crate) fn unstored(&self) -> (Option<Arc<SentFrame>>, Option<Vec<SentMark>>) {
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
