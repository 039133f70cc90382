//! Sessions: create, list, change, delete.

use bethink_api as api;
use bethink_context::thinking::preserves_thinking;
use bethink_context::thresholds::{MAX_WINDOW, MIN_WINDOW};
use bethink_context::{Thresholds, ViewOptions};
use bethink_store::{NewSession, Page, Session, SessionChange, SessionFilter, StoreError};
use bethink_transcript::SessionId;
use uuid::Uuid;

use crate::clock::rfc3339;
use crate::limits::{MAX_PAGE, MAX_QUERY, MAX_TAGS, MAX_TITLE, PAGE};
use crate::refusal::keyed;
use crate::{Daemon, IdempotencyKey, Refusal, Result};

/// Name of a model that the client did not give.
pub(crate) const UNNAMED_MODEL: &str = "unknown";
const MAX_PATH: usize = 4_096;

impl Daemon {
    pub async fn create_session(
        &self,
        request: api::CreateSession,
        key: Option<IdempotencyKey>,
    ) -> Result<api::Session> {
        check_path(&request.project_dir)?;
        check_labels(request.title.as_deref(), &request.tags)?;
        let model = self.model_or_default(request.model)?;
        let parent = request.parent.map(SessionId);
        if let Some(parent) = parent {
            self.store().session(parent).await.map_err(|e| in_field(e, "parent"))?;
        }
        let new = NewSession {
            id: SessionId(Uuid::now_v7()),
            project_dir: request.project_dir,
            title: request.title,
            tags: request.tags,
            parent,
            forked_at: None,
            model: serde_json::to_string(&model).map_err(Refusal::internal)?,
            created_at: self.now(),
            content_hash: None,
        };
        let receipt = key.map(IdempotencyKey::receipt);
        let created = self.store().create_session(new, receipt).await.map_err(keyed)?;
        if !created.repeated {
            self.tell_session(created.session.id, "created");
        }
        Ok(out(&created.session))
    }

    pub async fn session(&self, id: SessionId) -> Result<api::Session> {
        Ok(out(&self.store().session(id).await?))
    }

    pub async fn sessions(
        &self,
        project_dir: Option<String>,
        q: Option<String>,
        tag: Option<String>,
        limit: Option<usize>,
        cursor: Option<String>,
    ) -> Result<api::SessionsPage> {
        if q.as_ref().is_some_and(|q| q.len() > MAX_QUERY) {
            return Err(Refusal::invalid("q", format!("at most {MAX_QUERY} bytes")));
        }
        let filter = SessionFilter { project_dir, q, tag, parent: None };
        let page = Page { limit: page_limit(limit)?, cursor };
        let (sessions, next_cursor) =
            self.store().sessions(filter, page).await.map_err(|error| match error {
                StoreError::Conflict(detail) => Refusal::invalid("cursor", detail),
                other => other.into(),
            })?;
        Ok(api::SessionsPage { sessions: sessions.iter().map(out).collect(), next_cursor })
    }

    pub async fn patch_session(
        &self,
        id: SessionId,
        request: api::PatchSession,
    ) -> Result<api::Session> {
        check_labels(request.title.as_deref(), request.tags.as_deref().unwrap_or_default())?;
        let model = request.model.map(|m| self.model_or_default(Some(m))).transpose()?;
        let change = SessionChange {
            titled: request.title.as_ref().map(|_| true),
            title: request.title,
            tags: request.tags,
            model: model
                .map(|m| serde_json::to_string(&m))
                .transpose()
                .map_err(Refusal::internal)?,
            state: None,
            updated_at: self.now(),
        };
        let session = self.store().update_session(id, change).await?;
        if let Some(slot) = self.registry().get(id) {
            slot.cool().await;
        }
        self.tell_session(id, "changed");
        Ok(out(&session))
    }

    pub async fn delete_session(&self, id: SessionId) -> Result<()> {
        self.store().session(id).await?;
        self.remove_notes_file(id).await?;
        self.store().delete_session(id).await?;
        self.registry().remove(id);
        self.gateway().deleted(id);
        self.hub().forget(id);
        self.tell_session(id, "deleted");
        Ok(())
    }

    pub async fn projects(&self) -> Result<api::Projects> {
        let known = self.store().projects().await?.into_iter();
        let projects =
            known.map(|(project_dir, sessions)| api::Project { project_dir, sessions }).collect();
        Ok(api::Projects { projects })
    }

    /// The model given, with the settings' figures where it has none; its window is checked.
    pub(crate) fn model_or_default(&self, model: Option<api::ModelSpec>) -> Result<api::ModelSpec> {
        let settings = &self.settings().context;
        let model = model.unwrap_or_else(|| api::ModelSpec {
            name: UNNAMED_MODEL.to_owned(),
            context_window: settings.window,
            max_output_tokens: None,
            preserved_thinking: None,
        });
        if model.name.is_empty() || model.name.len() > MAX_TITLE {
            return Err(Refusal::invalid("model.name", format!("1 to {MAX_TITLE} bytes")));
        }
        if model.max_output_tokens == Some(0) {
            return Err(Refusal::invalid("model.max_output_tokens", "at least 1 token of output"));
        }
        self.thresholds(&model)?;
        Ok(model)
    }

    pub(crate) fn thresholds(&self, model: &api::ModelSpec) -> Result<Thresholds> {
        let settings = &self.settings().context;
        let output = model.max_output_tokens.unwrap_or(settings.max_output);
        Thresholds::new(model.context_window, output, settings.auto_percent).map_err(|too_small| {
            let limit = model.context_window.clamp(MIN_WINDOW, MAX_WINDOW);
            Refusal::invalid("model.context_window", too_small.to_string())
                .bounded(limit, model.context_window)
                .hint("half of a window is reserved for output; less leaves no room for a summary and one round")
        })
    }
}

pub(crate) fn model_of(session: &Session) -> api::ModelSpec {
    serde_json::from_str(&session.model).unwrap_or_else(|_| api::ModelSpec {
        name: UNNAMED_MODEL.to_owned(),
        context_window: 200_000,
        max_output_tokens: None,
        preserved_thinking: None,
    })
}

/// How prompts for this model are shown.
pub(crate) fn view_options(model: &api::ModelSpec) -> ViewOptions {
    ViewOptions { preserved_thinking: preserves_thinking(model.preserved_thinking, &model.name) }
}

pub(crate) fn out(session: &Session) -> api::Session {
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
    }
}

pub(crate) fn page_limit(limit: Option<usize>) -> Result<usize> {
    match limit.unwrap_or(PAGE) {
        n @ 1..=MAX_PAGE => Ok(n),
        n => Err(Refusal::invalid("limit", format!("1 to {MAX_PAGE}"))
            .bounded(MAX_PAGE as u64, n as u64)),
    }
}

fn check_path(path: &str) -> Result<()> {
    if !path.starts_with('/') || path.len() > MAX_PATH || path.contains('\0') {
        return Err(Refusal::invalid(
            "project_dir",
            format!("an absolute path of at most {MAX_PATH} bytes"),
        ));
    }
    Ok(())
}

pub(crate) fn check_labels(title: Option<&str>, tags: &[String]) -> Result<()> {
    if title.is_some_and(|t| t.len() > MAX_TITLE) {
        let actual = title.map_or(0, str::len) as u64;
        return Err(Refusal::invalid("title", format!("at most {MAX_TITLE} bytes"))
            .bounded(MAX_TITLE as u64, actual));
    }
    if tags.len() > MAX_TAGS {
        return Err(Refusal::invalid("tags", format!("at most {MAX_TAGS} tags"))
            .bounded(MAX_TAGS as u64, tags.len() as u64));
    }
    for (i, tag) in tags.iter().enumerate() {
        if tag.trim().is_empty() || tag.len() > MAX_TITLE {
            return Err(Refusal::invalid(format!("tags[{i}]"), format!("1 to {MAX_TITLE} bytes")));
        }
    }
    Ok(())
}

fn in_field(error: bethink_store::StoreError, field: &str) -> Refusal {
    match error {
        bethink_store::StoreError::NotFound { .. } => Refusal::invalid(field, error.to_string()),
        other => other.into(),
    }
}
