//! Instruction files of a working directory, and what a person lets a project load.

use axum::extract::State;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;
use crate::params::Params;
use bethink_api as api;

/// The chain: files in order, why each is loaded, and what is skipped.
#[utoipa::path(
    get, path = "/v1/instructions", tag = "instructions",
    params(
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("cwd" = Option<String>, Query, description = "The working directory; the project's by default"),
        ("touched" = Option<Vec<String>>, Query, description = "A file as a session would touch it; may be repeated"),
    ),
    responses((status = 200, body = api::InstructionChain))
)]
pub(crate) async fn get(State(app): State<App>, params: Params) -> Reply {
    let project_dir = params.required("project_dir")?;
    let touched = params.all("touched");
    Answer::ok(&app.daemon.instructions(&project_dir, params.text("cwd"), touched).await?)
}

/// Let a project load a file that lies outside of it, or that looks like a secret. For people: nothing in a
/// project can do this.
#[utoipa::path(
    post, path = "/v1/instructions/approve", tag = "instructions",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::ApproveImport,
    responses((status = 200, body = api::ImportApproval))
)]
pub(crate) async fn approve(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.approve_import(request).await?) }).await
}

/// Take an approval back.
#[utoipa::path(
    post, path = "/v1/instructions/revoke", tag = "instructions",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::ApproveImport,
    responses((status = 200, body = api::ImportApproval))
)]
pub(crate) async fn revoke(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.revoke_import(request).await?) }).await
}
