//! Pauses of recording.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::change::Change;
use crate::openapi::Key;

/// Check whether recording is paused, and which paths are excluded.
#[utoipa::path(
    get, path = "/v1/recording", tag = "daemon", operation_id = "recording_get",
    responses((status = 200, body = api::RecordingStatus))
)]
pub(crate) async fn get(State(app): State<ServerState>) -> Reply {
    HttpAnswer::ok(&app.daemon.cx.recording_status())
}

/// Pause recording and learning. Requests through the gateway are still forwarded.
#[utoipa::path(
    post, path = "/v1/recording/pause", tag = "daemon", operation_id = "recording_pause",
    params(Key),
    request_body = api::PauseRequest,
    responses((status = 200, body = api::RecordingStatus))
)]
pub(crate) async fn pause(change: Change) -> Reply {
    let request: api::PauseRequest = change.sent.json_or_default()?;
    change.done(move |daemon| async move { daemon.cx.pause_recording(request).await }).await
}

/// Resume recording and learning, if they are paused.
#[utoipa::path(
    post, path = "/v1/recording/resume", tag = "daemon", operation_id = "recording_resume",
    params(Key),
    responses((status = 200, body = api::RecordingStatus))
)]
pub(crate) async fn resume(change: Change) -> Reply {
    change.done(|daemon| async move { daemon.cx.resume_recording().await }).await
}
