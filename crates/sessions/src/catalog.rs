//! Sessions: create, list, change, delete.

use bethink_api::{self as api, SessionLifecycle};
use bethink_context::thresholds::{MAX_WINDOW, MIN_WINDOW};
use bethink_context::{Thresholds, window_thresholds};
use bethink_models::UNNAMED_MODEL;
use bethink_search::MAX_QUERY;
use bethink_service::{Receipt, Result, ServiceError, key_reused, page_limit, rfc3339};
use bethink_store::{
    NewSession, PageRequest, SessionChange, SessionFilter, SessionRecord, StoreError,
};
use bethink_transcript::SessionId;
use uuid::Uuid;

use crate::service::{SessionEvent, SessionService};

/// Maximum size of a title or tag, in bytes; both are shown in lists.
const MAX_TITLE: usize = 1_000;
const MAX_TAGS: usize = 100;
const MAX_PATH: usize = 4_096;

impl SessionService {
    pub async fn create_session(
        &self,
        request: api::CreateSession,
        key: Option<Receipt>,
    ) -> Result<api::Session> {
        check_path(&request.project_dir)?;
        check_labels(request.title.as_deref(), &request.tags)?;
        let model = self.model_or_default(request.model)?;
        let parent = request.parent.map(SessionId);
        if let Some(parent) = parent {
            self.cx.store().session(parent).await.map_err(|error| match error {
                StoreError::NotFound { .. } => ServiceError::invalid("parent", error.to_string()),
                other => other.into(),
            })?;
        }
        let id = SessionId(Uuid::now_v7());
        let new = self.new_session_with(id, request.project_dir, &model).await?;
        let new = NewSession { title: request.title, tags: request.tags, parent, ..new };
        let created = self.cx.store().create_session(new, key).await.map_err(key_reused)?;
        if !created.repeated {
            self.cx.hub().announce_session(created.session.id, SessionLifecycle::Created);
        }
        Ok(session_out(&created.session))
    }

    /// Makes the row of a new session with the model from the settings.
    pub async fn new_session(&self, id: SessionId, project_dir: String) -> Result<NewSession> {
        self.new_session_with(id, project_dir, &self.model_or_default(None)?).await
    }

    /// Makes the row of a new session.
    pub async fn new_session_with(
        &self,
        id: SessionId,
        project_dir: String,
        model: &api::ModelSpec,
    ) -> Result<NewSession> {
        let model = serde_json::to_string(model).map_err(ServiceError::internal)?;
        let project = self.project_of_new(&project_dir).await;
        Ok(NewSession { project, ..NewSession::new(id, project_dir, model, self.cx.now()) })
    }

    pub async fn session(&self, id: SessionId) -> Result<api::Session> {
        let session = session_out(&self.cx.store().session(id).await?);
        let known = self.cx.store().client_of(id).await?;
        let agent = known.map(|known| api::AgentSession { name: known.client, id: known.key });
        let children = self.children(id).await?.into_iter().map(|child| child.0).collect();
        Ok(api::Session { agent, children, ..session })
    }

    pub async fn sessions(&self, query: api::SessionQuery) -> Result<api::SessionsPage> {
        let api::SessionQuery { project_dir, exact_dir, q, tag, parent, limit, cursor } = query;
        let location = match project_dir {
            Some(dir) if exact_dir => Some(self.directory(dir).await),
            Some(dir) => Some(self.location_of(dir).await?),
            None => None,
        };
        if q.as_ref().is_some_and(|q| q.len() > MAX_QUERY) {
            return Err(ServiceError::invalid("q", format!("must have at most {MAX_QUERY} bytes")));
        }
        let filter = SessionFilter { location, q, tag, parent: parent.map(SessionId) };
        let page = PageRequest { limit: page_limit(limit)?, cursor };
        let (sessions, next_cursor) =
            self.cx.store().sessions(filter, page).await.map_err(|error| match error {
                StoreError::Conflict(detail) => ServiceError::invalid("cursor", detail),
                other => other.into(),
            })?;
        Ok(api::SessionsPage { sessions: sessions.iter().map(session_out).collect(), next_cursor })
    }

    pub async fn patch_session(
        &self,
        id: SessionId,
        request: api::PatchSession,
    ) -> Result<api::Session> {
        check_labels(request.title.as_deref(), request.tags.as_deref().unwrap_or_default())?;
        let model = request.model.map(|m| self.model_or_default(Some(m))).transpose()?;
        let model = model.map(|model| serde_json::to_string(&model));
        let change = SessionChange {
            titled: request.title.as_ref().map(|_| true),
            title: request.title,
            tags: request.tags,
            model: model.transpose().map_err(ServiceError::internal)?,
            state: None,
            updated_at: self.cx.now(),
        };
        let session = self.update(id, change).await?;
        if let Some(handle) = self.inner.registry.get(id) {
            handle.unload().await;
        }
        self.cx.hub().announce_session(id, SessionLifecycle::Changed);
        Ok(session_out(&session))
    }

    /// Sets the title of a session that has none. A person can replace it later.
    pub async fn suggest_title(&self, id: SessionId, mut title: String) -> Result<()> {
        if self.cx.store().session(id).await?.title.is_some() {
            return Ok(());
        }
        title.truncate(title.floor_char_boundary(MAX_TITLE));
        let updated_at = self.cx.now();
        let change = SessionChange { title: Some(title), updated_at, ..SessionChange::default() };
        self.update(id, change).await?;
        self.cx.hub().announce_session(id, SessionLifecycle::Changed);
        Ok(())
    }

    pub async fn delete_session(&self, id: SessionId) -> Result<()> {
        self.cx.store().session(id).await?;
        let _hold = self.hold_session(id).await?;
        self.remove_companions(id).await?;
        self.cx.store().delete_session(id).await?;
        self.inner.registry.remove(id);
        self.tell(&SessionEvent::Deleted { session: id });
        self.cx.hub().forget(id);
        self.cx.hub().announce_session(id, SessionLifecycle::Deleted);
        Ok(())
    }

    /// Removes the data that services keep for a session. Called before the session is removed.
    pub(crate) async fn remove_companions(&self, id: SessionId) -> Result<()> {
        for contributor in self.contributors() {
            contributor.removed(id).await?;
        }
        Ok(())
    }

    pub async fn projects(&self) -> Result<api::Projects> {
        let known = self.cx.store().projects().await?.into_iter();
        let projects =
            known.map(|(project_dir, sessions)| api::Project { project_dir, sessions }).collect();
        Ok(api::Projects { projects })
    }

    /// Returns the given model or the default one, after checking it.
    pub fn model_or_default(&self, model: Option<api::ModelSpec>) -> Result<api::ModelSpec> {
        let settings = &self.cx.settings().context;
        let model = model.unwrap_or_else(|| unnamed_model(settings.window));
        if model.name.is_empty() || model.name.len() > MAX_TITLE {
            return Err(ServiceError::invalid(
                "model.name",
                format!("must be 1 to {MAX_TITLE} bytes long"),
            ));
        }
        if model.max_output_tokens == Some(0) {
            let detail = "must be at least 1";
            return Err(ServiceError::invalid("model.max_output_tokens", detail));
        }
        self.thresholds(&model)?;
        Ok(model)
    }

    pub fn thresholds(&self, model: &api::ModelSpec) -> Result<Thresholds> {
        let settings = &self.cx.settings().context;
        let output = model.max_output_tokens.unwrap_or(settings.max_output);
        window_thresholds(model.context_window, output, settings.auto_percent).map_err(|too_small| {
            let limit = model.context_window.clamp(MIN_WINDOW, MAX_WINDOW);
            let error = ServiceError::invalid("model.context_window", too_small.to_string())
                .bounded(limit, model.context_window);
            match model.context_window < MIN_WINDOW {
                true => error.hint("up to half of the context window is reserved for output; the rest must have room for a summary and one turn"),
                false => error,
            }
        })
    }
}

/// Returns the id of what a request creates. The same request with the same key always gets the same id, so that a
/// repetition finds what the first one stored, even if its answer was not stored.
pub fn id_for(key: Option<&Receipt>) -> Uuid {
    let Some(Receipt { key, fingerprint }) = key else { return Uuid::now_v7() };
    hashed_id(&[fingerprint.as_bytes(), key.as_bytes()])
}

/// Returns the id of a sidechain's session. The same session and key always give the same id.
pub fn sidechain_session(session: SessionId, key: &str) -> SessionId {
    SessionId(hashed_id(&[session.0.as_bytes(), key.as_bytes()]))
}

fn hashed_id(parts: &[&[u8]]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

pub fn model_of(session: &SessionRecord) -> api::ModelSpec {
    serde_json::from_str(&session.model).unwrap_or_else(|_| unnamed_model(200_000))
}

fn unnamed_model(context_window: u64) -> api::ModelSpec {
    let name = UNNAMED_MODEL.to_owned();
    api::ModelSpec { name, context_window, max_output_tokens: None, preserved_thinking: None }
}

pub(crate) fn session_out(session: &SessionRecord) -> api::Session {
    api::Session {
        id: session.id.0,
        project_dir: session.project_dir.clone(),
        title: session.title.clone(),
        tags: session.tags.clone(),
        parent: session.parent.map(|p| p.0),
        forked_at_seq: session.forked_at.map(|s| s.0),
        model: model_of(session),
        messages: session.last_seq.0,
        last_seq: session.last_seq.0,
        created_at: rfc3339(session.created_at),
        updated_at: rfc3339(session.updated_at),
        shared: None,
        children: Vec::new(),
        agent: None,
    }
}

fn check_path(path: &str) -> Result<()> {
    if !path.starts_with('/') || path.len() > MAX_PATH || path.contains('\0') {
        let detail = format!("must be an absolute path of at most {MAX_PATH} bytes");
        return Err(ServiceError::invalid("project_dir", detail));
    }
    Ok(())
}

pub(crate) fn check_labels(title: Option<&str>, tags: &[String]) -> Result<()> {
    if title.is_some_and(|t| t.len() > MAX_TITLE) {
        let actual = title.map_or(0, str::len) as u64;
        return Err(ServiceError::invalid("title", format!("must have at most {MAX_TITLE} bytes"))
            .bounded(MAX_TITLE as u64, actual));
    }
    if tags.len() > MAX_TAGS {
        return Err(ServiceError::invalid("tags", format!("must have at most {MAX_TAGS} entries"))
            .bounded(MAX_TAGS as u64, tags.len() as u64));
    }
    for (i, tag) in tags.iter().enumerate() {
        if tag.trim().is_empty() || tag.len() > MAX_TITLE {
            let detail = format!("must not be blank, and must have at most {MAX_TITLE} bytes");
            return Err(ServiceError::invalid(format!("tags[{i}]"), detail));
        }
    }
    Ok(())
}
