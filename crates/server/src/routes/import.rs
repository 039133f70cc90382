//! Session files in.

use axum::extract::{Request, State};
use bethink_api as api;
use http::StatusCode;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::{check_text, is_json, object, read};
use crate::idempotency::{key, once, with_fingerprint};
use crate::problem::Failure;

const SMALLER_FILES: &str =
    "import the file from its path on disk, or raise the limit in the [daemon] section";

/// Import a session file: JSONL as the body, or `{"path": …}` as `application/json`.
#[utoipa::path(
    post, path = "/v1/import", tag = "files",
    request_body(content(
        (api::ImportRequest = "application/json"),
        (String = "application/x-ndjson"),
    )),
    responses((status = 202, description = "The job that imports", body = api::Job))
)]
pub(crate) async fn import(State(app): State<App>, request: Request) -> Reply {
    let (parts, body) = request.into_parts();
    let key = key(&parts.headers)?;
    let by_path = is_json(&parts.headers);
    let limit = if by_path { app.limits.body_bytes } else { app.limits.import_bytes };
    let body = read(body, &parts.headers, limit, SMALLER_FILES).await?;
    let key = key.map(|key| with_fingerprint(key, &parts, &body));
    let daemon = app.daemon.clone();
    if by_path {
        check_text(&body, app.limits.depth)?;
        let request: api::ImportRequest = object(&body)?;
        return once(&app, key, async move { job(&daemon.import_path(request).await?) }).await;
    }
    if body.is_empty() {
        return Err(Failure::field("body", "the body is empty; send the lines of a session file"));
    }
    once(&app, key, async move { job(&daemon.import_body(body).await?) }).await
}

fn job(job: &api::Job) -> Reply {
    Answer::with(StatusCode::ACCEPTED, job)
}
