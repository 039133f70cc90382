//! The service's handle.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bethink_models::ModelService;
use bethink_service::{ErrorKind, Result, ServiceContext, ServiceError, blocking_on_disk};
use bethink_sessions::{Inject, LoadedSession, SessionEvent, SessionService};
use bethink_store::SessionRecord;
use bethink_transcript::UnixMicros;
use tokio::sync::Mutex as AsyncMutex;

use crate::place::ProjectPlace;
use crate::project::{MemoryProject, ProjectRegistry};

/// Handles the memory of projects: files, instructions, recall, extraction, dreams, proposals. Clones share the same
/// state.
#[derive(Clone, Debug)]
pub struct MemoryService {
    pub(crate) cx: ServiceContext,
    pub(crate) models: ModelService,
    pub(crate) sessions: SessionService,
    pub(crate) inner: Arc<MemoryState>,
}

#[derive(Debug, Default)]
pub(crate) struct MemoryState {
    pub(crate) projects: ProjectRegistry,
    /// For each directory, when to check again whether a dream is due.
    pub(crate) dream_looks: Mutex<HashMap<String, UnixMicros>>,
    /// Held during a dream of the person's memory.
    pub(crate) dreaming_of_person: AsyncMutex<()>,
    /// Names of the clients that have connected to our MCP server, with the times of their last connections.
    pub(crate) mcp_clients: Mutex<HashMap<String, UnixMicros>>,
}

impl MemoryService {
    pub fn new(cx: ServiceContext, models: ModelService, sessions: SessionService) -> Self {
        Self { cx, models, sessions, inner: Arc::default() }
    }

    /// Reacts to an event of a session. Never waits or fails.
    pub fn observe(&self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Appended { handle, new, .. } => {
                self.ask_extraction_gate(handle, new.last().map(AsRef::as_ref));
            }
            SessionEvent::Settled { handle, loaded } => {
                self.recall_ahead(handle, loaded);
                self.ask_dream_gate(handle, loaded);
            }
            SessionEvent::Prompted { handle, loaded } => self.ask_dream_gate(handle, loaded),
            SessionEvent::Compacting { loaded } => self.extract_before_compaction(loaded),
            SessionEvent::Imported { session } => self.ask_for_extraction_of_import(*session),
            // What its messages teach was extracted from the parent.
            SessionEvent::Forked { .. }
            | SessionEvent::TakenIn { .. }
            | SessionEvent::Decided { .. }
            | SessionEvent::Deleted { .. }
            | SessionEvent::Released { .. }
            | SessionEvent::Missed => {}
        }
    }

    /// Returns the project of a directory, which need not exist, because sessions may come from other machines.
    ///
    /// # Errors
    /// `Invalid` if `dir` is not an absolute path.
    pub async fn project(&self, dir: &str) -> Result<Arc<MemoryProject>> {
        let known = self.inner.projects.known(dir);
        if let Some((project, true)) = known {
            self.sync_once(&project).await;
            return Ok(project);
        }
        ServiceError::check_project_dir(dir)?;
        let (path, settings) = (PathBuf::from(dir), self.cx.settings().clone());
        let place =
            blocking_on_disk(Path::new(dir), move || ProjectPlace::of(&path, &settings)).await;
        let Some(mut place) = place else {
            let unknown = || {
                ServiceError::new(
                    ErrorKind::StorageFailed,
                    format!(
                        "could not find the project of {dir}: its disk did not respond; try again"
                    ),
                )
            };
            return known.map(|(project, _)| project).ok_or_else(unknown);
        };
        if let Some(project) = self.inner.projects.reuse(dir, &place.root) {
            self.sync_once(&project).await;
            return Ok(project);
        }
        if let Some(team) = self.cx.store().team_place(place.key.clone()).await? {
            place.team = team.into();
        }
        let project = self.inner.projects.take_in(dir, &place, self.cx.clock());
        self.sync_once(&project).await;
        Ok(project)
    }

    /// Returns the project in which a session began. Its directory may be gone, or belong to another project by now.
    pub(crate) async fn project_of_session(
        &self,
        session: &SessionRecord,
    ) -> Result<Arc<MemoryProject>> {
        let root = match &session.project {
            Some(key) => self.root_of_project(key).await,
            None => None,
        };
        self.project(root.as_deref().unwrap_or(&session.project_dir)).await
    }

    /// Closes a project whose directories have changed; the next request opens it again.
    pub fn forget_project(&self, root: &Path) {
        self.inner.projects.forget(root);
    }

    /// Returns the session's project, if its prompts use memory.
    pub(crate) async fn project_of(
        &self,
        loaded: &LoadedSession,
        inject: Inject,
    ) -> Result<Option<Arc<MemoryProject>>> {
        if inject == Inject::Off {
            return Ok(None);
        }
        match self.project_of_session(&loaded.session).await {
            Ok(project) => {
                project.followed_by(loaded.session.id);
                Ok(Some(project))
            }
            // An old session with a relative directory has no memory. That is not an error.
            Err(error) if error.kind == ErrorKind::Invalid => Ok(None),
            Err(error) => Err(error),
        }
    }
}
