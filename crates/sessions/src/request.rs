//! The parts of a request for a prompt.

use std::sync::Arc;

use bethink_api as api;
pub use bethink_api::Inject;
use bethink_context::{SystemAndTools, system_json};
use bethink_service::{Result, ServiceError};
use bethink_transcript::json;
use bytes::Bytes;
use serde_json::value::RawValue;

use crate::handle::SessionHandle;
use crate::loaded::LoadedSession;
use crate::sent::{SentFrame, SentRequest};

/// Name of the parameter with beta features, as in the providers' libraries.
const BETAS: &str = "betas";
/// Maximum size of the parameters of a request, in bytes. Parameters usually have a few hundred bytes.
const MAX_PARAMETERS: usize = 64 * 1024;

/// The client's parts of a call other than messages.
#[derive(Debug)]
pub struct ClientParts {
    pub parts: Vec<api::SystemPart>,
    /// JSON array.
    pub tools: String,
    /// Files that the session is working on although its messages do not mention them.
    pub touched: Vec<String>,
    /// JSON object of the other members of the client's request; empty for none.
    parameters: Bytes,
    /// The header `anthropic-beta`; empty for none.
    betas: String,
}

impl ClientParts {
    pub fn new(
        parts: Option<Vec<api::SystemPart>>,
        tools: Option<&str>,
        touched: Option<Vec<String>>,
    ) -> Result<Self> {
        let tools = match tools {
            None | Some("null") => "[]".to_owned(),
            Some(raw) if raw.starts_with('[') => raw.to_owned(),
            Some(_) => {
                return Err(ServiceError::invalid("tools", "must be an array of tool definitions"));
            }
        };
        let touched = touched.unwrap_or_default();
        let (parameters, betas) = (Bytes::new(), String::new());
        Ok(Self { parts: parts.unwrap_or_default(), tools, touched, parameters, betas })
    }

    /// Adds the other members of the request that the client would send to its model. In the provider's API, `betas` is
    /// a header.
    pub(crate) fn with_parameters(self, parameters: Option<&RawValue>) -> Result<Self> {
        let Some(json) = parameters.map(RawValue::get).filter(|json| *json != "null") else {
            return Ok(self);
        };
        let invalid = |field: &str, detail: &str| ServiceError::invalid(field, detail);
        let members = json::members(json).ok_or_else(|| {
            invalid("parameters", "must be an object with the other members of the model request")
        })?;
        if json.len() > MAX_PARAMETERS {
            return Err(invalid("parameters", "too large")
                .bounded(MAX_PARAMETERS as u64, json.len() as u64));
        }
        let betas = match members.iter().find(|(name, _)| name == BETAS) {
            None => String::new(),
            Some((_, betas)) => serde_json::from_str::<Vec<String>>(betas.get())
                .ok()
                .map(|betas| betas.join(","))
                .filter(|betas| betas.bytes().all(|byte| byte.is_ascii_graphic()))
                .ok_or_else(|| invalid("parameters.betas", "must be an array of beta names"))?,
        };
        let parameters = json::without_key(json, BETAS).unwrap_or_default();
        Ok(Self { parameters, betas, ..self })
    }

    /// Returns the request that consists of these parts and of what bethink adds to them.
    pub(crate) fn sent_request(&self, around: &SystemAndTools) -> SentRequest {
        SentRequest::new(SentFrame {
            system: Bytes::from(system_json(&around.system, &around.tools)),
            tools: Bytes::from(around.tools.clone()),
            parameters: self.parameters.clone(),
            betas: self.betas.clone(),
            own_messages: false,
        })
    }
}

/// The user's current work, if the request describes it. Otherwise, the work is taken from the session.
#[derive(Clone, Debug, Default)]
pub struct RecallQuery {
    pub query: Option<String>,
    pub recent_tools: Option<Vec<String>>,
}

impl RecallQuery {
    pub fn new(query: Option<String>, recent_tools: Option<Vec<String>>) -> Self {
        Self { query: query.filter(|query| !query.trim().is_empty()), recent_tools }
    }
}

/// The point of a turn at which contributions are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A prompt begins. If `reminds`, the model is reminded of todos and notes.
    Begin { reminds: bool },
    /// The prompt is only inspected: system parts are collected, but no reminders.
    Look,
    /// The session was compacted within the turn: content that the summary removed is restored.
    Compacted,
}

/// A request for a prompt, as contributors see it.
#[derive(Clone, Copy, Debug)]
pub struct PromptRequest<'a> {
    pub handle: &'a Arc<SessionHandle>,
    pub loaded: &'a LoadedSession,
    pub client: &'a ClientParts,
    pub inject: Inject,
    pub recall: &'a RecallQuery,
    pub moment: Moment,
}
