//! Import and export of session files.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bethink_api as api;
use bethink_intake::ReceivedBody;
use bethink_service::ServiceError;
use bethink_transfer::Export;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::{check_text, is_json, object, read};
use crate::idempotency::{key, once, with_fingerprint};
use crate::path::{Id, SessionPath};
use crate::problem::HttpFailure;

const SMALLER_FILES: &str = "raise max_import_bytes in [daemon], or import a smaller file";
const JSONL: &str = "application/x-ndjson";

/// Import a session file: send JSONL as the body, or `{"path": …}` as `application/json`.
#[utoipa::path(
    post, path = "/v1/import", tag = "files", operation_id = "session_import",
    request_body(content(
        (api::ImportRequest = "application/json"),
        (String = "application/x-ndjson"),
    )),
    responses((status = 202, description = "The import job; its result is a list of `ImportFile`, or an `AgentTranscripts` if `agent` was set", body = api::Job))
)]
pub(crate) async fn import(State(app): State<ServerState>, request: Request) -> Reply {
    let (parts, body) = request.into_parts();
    let key = key(&parts.headers)?;
    let by_path = is_json(&parts.headers);
    let limit = if by_path { app.limits.body_bytes } else { app.limits.import_bytes };
    let smaller = if by_path { "raise max_body_bytes in [daemon]" } else { SMALLER_FILES };
    let ReceivedBody { bytes: body, room } = read(body, &parts, limit, smaller).await?;
    let key = key.map(|key| with_fingerprint(key, &parts, &body));
    let daemon = app.daemon.clone();
    if by_path {
        check_text(&body, app.limits.depth)?;
        let request: api::ImportRequest = object(&body)?;
        return once(&app, key, async move { job(&daemon.transfer.import_path(request).await?) })
            .await;
    }
    if body.is_empty() {
        return Err(HttpFailure::field(
            "body",
            "the body is empty: send the lines of a session file",
        ));
    }
    once(&app, key, async move {
        let job = job(&daemon.transfer.import_body(body).await?);
        drop(room);
        job
    })
    .await
}

fn job(job: &api::Job) -> Reply {
    HttpAnswer::with(StatusCode::ACCEPTED, job)
}

/// Export a session as a session file. An imported file is returned line by line, unchanged.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/export", tag = "files", operation_id = "session_export",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, description = "JSON lines", body = String, content_type = "application/x-ndjson"))
)]
pub(crate) async fn export(
    State(app): State<ServerState>,
    Id(id): SessionPath,
) -> Result<Response, HttpFailure> {
    let mut export = app.daemon.transfer.export(id).await?;
    // An error in the first lines can still be answered with a problem.
    let first = export.next().await.transpose()?;
    let lines = stream::iter(first.map(Ok)).chain(lines(export));
    Ok(([(CONTENT_TYPE, JSONL)], Body::from_stream(lines)).into_response())
}

/// Aborts the connection at the first error, so that no client mistakes a partial file for a complete one.
fn lines(export: Export) -> impl Stream<Item = Result<Bytes, ServiceError>> {
    stream::unfold(Some(export), |export| async move {
        let mut export = export?;
        match export.next().await? {
            Ok(lines) => Some((Ok(lines), Some(export))),
            Err(refusal) => {
                tracing::error!(%refusal, "could not complete an export");
                Some((Err(refusal), None))
            }
        }
    })
}
