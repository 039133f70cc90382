//! Session files out.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bethink_daemon::{Export, Refusal};
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::header::CONTENT_TYPE;

use crate::app::App;
use crate::params::SessionPath;
use crate::problem::Failure;

const JSONL: &str = "application/x-ndjson";

/// The session as a session file; what was imported comes back line for line.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/export", tag = "files",
    params(("id" = uuid::Uuid, Path)),
    responses((status = 200, body = String, content_type = "application/x-ndjson"))
)]
pub(crate) async fn export(
    State(app): State<App>,
    SessionPath(id): SessionPath,
) -> Result<Response, Failure> {
    let lines = lines(app.daemon.export(id).await?);
    Ok(([(CONTENT_TYPE, JSONL)], Body::from_stream(lines)).into_response())
}

/// Ends at the first refusal: the connection breaks off, so that no client takes half a file for a
/// whole one.
fn lines(export: Export) -> impl Stream<Item = Result<Bytes, Refusal>> {
    stream::unfold(Some(export), |export| async move {
        let mut export = export?;
        match export.next().await? {
            Ok(lines) => Some((Ok(lines), Some(export))),
            Err(refusal) => {
                tracing::error!(%refusal, "an export broke off");
                Some((Err(refusal), None))
            }
        }
    })
}
