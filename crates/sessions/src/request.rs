//! The parts of a request for a prompt.

use std::sync::Arc;

use bethink_api as api;
pub use bethink_api::Inject;
use bethink_service::{Result, ServiceError};

use crate::handle::SessionHandle;
use crate::loaded::LoadedSession;

/// The client's parts of a call other than messages.
#[derive(Debug)]
pub struct ClientParts {
    pub parts: Vec<api::SystemPart>,
    /// JSON array.
    pub tools: String,
    /// Files that the session works on although its messages do not mention them.
    pub touched: Vec<String>,
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
        Ok(Self { parts: parts.unwrap_or_default(), tools, touched })
    }
}

/// The user's current work, if the request describes it. Otherwise it is taken from the session.
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
