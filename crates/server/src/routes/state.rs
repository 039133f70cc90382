//! State that a compaction keeps: todos, and what a client stores.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, State};
use bethink_api as api;
use bethink_api::StateKind;
use bethink_service::ErrorKind;
use http::request::Parts;
use serde::de::IgnoredAny;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::Sent;
use crate::change::Change;
use crate::openapi::{Key, SessionState};
use crate::path::{Id, SessionPath, segment, segments};
use crate::problem::HttpFailure;

/// The last part of `/v1/sessions/{id}/state/{kind}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindPath(StateKind);

impl<S: Send + Sync> FromRequestParts<S> for KindPath {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpFailure> {
        kind(segment(&segments(parts, state).await?, "kind")).map(Self)
    }
}

fn kind(name: &str) -> Result<StateKind, HttpFailure> {
    api::parse_word(name).ok_or_else(|| {
        let allowed = StateKind::ALL.map(|kind| kind.to_string()).join(", ");
        let detail = format!("unknown kind of state; use one of {allowed}");
        HttpFailure::new(ErrorKind::NotFound, detail).at("kind")
    })
}

/// Get the todo list.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/todos", tag = "state", operation_id = "todos_get",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Todos))
)]
pub(crate) async fn todos(State(app): State<ServerState>, Id(id): SessionPath) -> Reply {
    HttpAnswer::ok(&app.daemon.sessions.todos(id).await?)
}

/// Replace the whole todo list.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/todos", tag = "state", operation_id = "todos_put",
    params(("id" = uuid::Uuid, Path), Key),
    request_body = api::Todos,
    responses((status = 200, body = api::Todos))
)]
pub(crate) async fn put_todos(Id(id): SessionPath, change: Change) -> Reply {
    let todos = change.sent.json()?;
    change.done(|daemon| async move { daemon.sessions.put_todos(id, todos).await }).await
}

/// Get one kind of state.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/state/{kind}", tag = "state", operation_id = "state_get",
    params(("id" = uuid::Uuid, Path), ("kind" = StateKind, Path)),
    responses((status = 200, body = SessionState))
)]
pub(crate) async fn get(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    KindPath(kind): KindPath,
) -> Reply {
    Ok(HttpAnswer::text(app.daemon.sessions.state(id, kind).await?))
}

/// Replace one kind of state. The body's schema is named after the kind; for `hooks`, it is `Instructions`.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/state/{kind}", tag = "state", operation_id = "state_put",
    params(("id" = uuid::Uuid, Path), ("kind" = StateKind, Path), Key),
    request_body = SessionState,
    responses((status = 200, body = SessionState))
)]
pub(crate) async fn put(Id(id): SessionPath, KindPath(kind): KindPath, change: Change) -> Reply {
    let body = checked(kind, &change.sent)?;
    let work = |daemon: bethink_daemon::Daemon| async move {
        Ok(HttpAnswer::text(daemon.sessions.put_state(id, kind, body).await?))
    };
    change.answered(work).await
}

const PLAN_MEMBERS: [&str; 3] = ["path", "content", "active"];

/// Returns the body as it was sent, after checking it against the schema of its kind. An error names the wrong field,
/// as for every other body.
fn checked(kind: StateKind, sent: &Sent) -> Result<bytes::Bytes, HttpFailure> {
    match kind {
        StateKind::Plan => {
            drop(sent.json::<api::Plan>()?);
            // All members are optional, so a plan under another name would be dropped silently.
            let members = sent.json::<HashMap<String, IgnoredAny>>()?;
            if !members.is_empty() && PLAN_MEMBERS.iter().all(|known| !members.contains_key(*known))
            {
                let detail = "a plan must have `path`, `content` or `active`";
                return Err(HttpFailure::new(ErrorKind::Invalid, detail).at("body"));
            }
        }
        StateKind::Skills => drop(sent.json::<api::Skills>()?),
        StateKind::Agents => drop(sent.json::<api::Agents>()?),
        StateKind::Tools => drop(sent.json::<api::Tools>()?),
        StateKind::Files => drop(sent.json::<api::Files>()?),
        StateKind::Instructions | StateKind::Hooks => drop(sent.json::<api::Instructions>()?),
    }
    sent.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_name() {
        for expect in StateKind::ALL {
            assert_eq!(kind(&expect.to_string()).unwrap(), expect);
        }
        let problem = kind("notes").unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.field.as_deref()), (404, Some("kind")));
        assert!(problem.detail.contains("plan, skills"));
    }
}
