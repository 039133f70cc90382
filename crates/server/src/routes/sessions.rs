//! Sessions: create, list, look at, rename, tag, fork, delete.

use axum::extract::State;
use bethink_api as api;
use http::StatusCode;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::{once, to_the_end};
use crate::params::{Params, SessionPath};

/// Begin a session.
#[utoipa::path(
    post, path = "/v1/sessions", tag = "sessions",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::CreateSession,
    responses((status = 201, body = api::Session))
)]
pub(crate) async fn create(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    to_the_end(&app, async move {
        Answer::with(StatusCode::CREATED, &daemon.create_session(request, sent.key).await?)
    })
    .await
}

/// Sessions, newest first.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "sessions",
    params(
        ("project_dir" = Option<String>, Query, description = "Of this project only"),
        ("q" = Option<String>, Query, description = "Words in the title or the history"),
        ("tag" = Option<String>, Query, description = "With this tag only"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, body = api::SessionsPage))
)]
pub(crate) async fn list(State(app): State<App>, params: Params) -> Reply {
    let (project, q, tag) = (params.text("project_dir"), params.text("q"), params.text("tag"));
    let page = app.daemon.sessions(project, q, tag, params.limit()?, params.text("cursor")).await?;
    Answer::ok(&page)
}

/// One session.
#[utoipa::path(
    get, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = api::Session))
)]
pub(crate) async fn get(State(app): State<App>, SessionPath(id): SessionPath) -> Reply {
    Answer::ok(&app.daemon.session(id).await?)
}

/// Rename, tag or move to another model; only what is given changes.
#[utoipa::path(
    patch, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = uuid::Uuid, Path)),
    request_body = api::PatchSession,
    responses((status = 200, body = api::Session))
)]
pub(crate) async fn patch(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let request = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.patch_session(id, request).await?) }).await
}

/// Delete a session with its history.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}", tag = "sessions",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 204))
)]
pub(crate) async fn delete(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move {
        daemon.delete_session(id).await?;
        Ok(Answer::nothing())
    })
    .await
}

/// A new session that shares the history up to a message.
#[utoipa::path(
    post, path = "/v1/sessions/{id}/fork", tag = "sessions",
    params(("id" = uuid::Uuid, Path)),
    request_body = Option<api::ForkRequest>,
    responses((status = 201, body = api::Session))
)]
pub(crate) async fn fork(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    sent: Sent,
) -> Reply {
    let request = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move {
        Answer::with(StatusCode::CREATED, &daemon.fork(id, request).await?)
    })
    .await
}
