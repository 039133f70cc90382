//! What survives a compaction: todos, and the state that a client puts.

use axum::extract::{FromRequestParts, State};
use bethink_api as api;
use bethink_daemon::StateKind;
use http::request::Parts;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;
use crate::params::{SessionPath, segment, segments};
use crate::problem::{Failure, Sort};

/// The last part of `/v1/sessions/{id}/state/{kind}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindPath(StateKind);

const KINDS: [(&str, StateKind); 7] = [
    ("plan", StateKind::Plan),
    ("skills", StateKind::Skills),
    ("agents", StateKind::Agents),
    ("tools", StateKind::Tools),
    ("files", StateKind::Files),
    ("instructions", StateKind::Instructions),
    ("hooks", StateKind::Hooks),
];

impl<S: Send + Sync> FromRequestParts<S> for KindPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        kind(segment(&segments(parts, state).await?, "kind")).map(Self)
    }
}

fn kind(name: &str) -> Result<StateKind, Failure> {
    let found = KINDS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let allowed = KINDS.map(|(known, _)| known).join(", ");
        let detail = format!("there is no such state; allowed are {allowed}");
        Failure::new(Sort::NotFound, detail).at("kind")
    })
}

/// The todos.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/todos", tag = "state",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Todos))
)]
pub(crate) async fn todos(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    Answer::ok(&app.daemon.todos(id).await?)
}

/// Replace the whole list of todos.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/todos", tag = "state",
    params(("id" = uuid::Uuid, Path)),
    request_body = api::Todos,
    responses((status = 200, body = api::Todos))
)]
pub(crate) async fn put_todos(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let todos = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.put_todos(id, todos).await?) }).await
}

/// What is kept of one kind.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/state/{kind}", tag = "state",
    params(
        ("id" = uuid::Uuid, Path),
        ("kind" = String, Path, description = "plan, skills, agents, tools, files, instructions or hooks"),
    ),
    responses((status = 200, body = Object))
)]
pub(crate) async fn get(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    KindPath(kind): KindPath,
) -> Reply {
    Ok(Answer::text(app.daemon.state(id, kind).await?))
}

/// Replace what is kept of one kind; the body is the schema of its name.
#[utoipa::path(
    put, path = "/v1/sessions/{id}/state/{kind}", tag = "state",
    params(
        ("id" = uuid::Uuid, Path),
        ("kind" = String, Path, description = "plan, skills, agents, tools, files, instructions or hooks"),
    ),
    request_body = Object,
    responses((status = 200, body = Object))
)]
pub(crate) async fn put(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    KindPath(kind): KindPath,
    sent: Sent,
) -> Reply {
    let body = checked(kind, &sent)?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Ok(Answer::text(daemon.put_state(id, kind, body).await?)) })
        .await
}

/// The body as it came, once it is known to have the shape of its kind: a wrong field is named here
/// as in every other body.
fn checked(kind: StateKind, sent: &Sent) -> Result<bytes::Bytes, Failure> {
    match kind {
        StateKind::Plan => drop(sent.json::<api::Plan>()?),
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
        for (name, expect) in KINDS {
            assert_eq!(kind(name).unwrap(), expect);
        }
        let problem = kind("notes").unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.field.as_deref()), (404, Some("kind")));
        assert!(problem.detail.contains("plan, skills"));
    }
}
