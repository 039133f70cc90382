//! The handle of the notes service, and the state that the notes of all sessions share.

use std::sync::{Arc, Mutex};

use bethink_models::ModelService;
use bethink_service::ServiceContext;
use bethink_sessions::SessionService;

use crate::waiting::PendingUpdates;

#[derive(Clone, Debug)]
pub struct NotesService {
    pub(crate) cx: ServiceContext,
    pub(crate) models: ModelService,
    pub(crate) sessions: SessionService,
    pub(crate) inner: Arc<NotesState>,
}

#[derive(Debug, Default)]
pub(crate) struct NotesState {
    pub(crate) updates: PendingUpdates,
    /// Held by the current writer, so that there is only one at a time: the worker, or a person who writes over HTTP.
    pub(crate) writing: tokio::sync::Mutex<()>,
    /// The errors in a person's template and instruction, as last read.
    pub(crate) faults: Mutex<Vec<String>>,
}

impl NotesService {
    pub fn new(cx: ServiceContext, models: ModelService, sessions: SessionService) -> Self {
        Self { cx, models, sessions, inner: Arc::default() }
    }
}
