//! Instruction files of a working directory, and approvals of files outside the project.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::change::Change;
use crate::openapi::Key;
use crate::query::Asked;

/// List the instruction files in order, each with the reason why it is loaded or skipped.
#[utoipa::path(
    get, path = "/v1/instructions", tag = "instructions", operation_id = "instruction_list",
    params(api::InstructionQuery),
    responses((status = 200, body = api::InstructionChain))
)]
pub(crate) async fn get(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::InstructionQuery>,
) -> Reply {
    let api::InstructionQuery { project_dir, cwd, touched } = asked;
    HttpAnswer::ok(&app.daemon.memories.instructions(&project_dir, cwd, touched).await?)
}

/// Allow a project to load an instruction file that is outside the project or looks like a secret. Only people should
/// do this; a project's own files cannot.
#[utoipa::path(
    post, path = "/v1/instructions/approve", tag = "instructions", operation_id = "instruction_approve",
    params(Key),
    request_body = api::ApproveImport,
    responses((status = 200, body = api::ImportApproval))
)]
pub(crate) async fn approve(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.memories.approve_import(request).await }).await
}

/// Revoke an approval.
#[utoipa::path(
    post, path = "/v1/instructions/revoke", tag = "instructions", operation_id = "instruction_revoke",
    params(Key),
    request_body = api::ApproveImport,
    responses((status = 200, body = api::ImportApproval))
)]
pub(crate) async fn revoke(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.memories.revoke_import(request).await }).await
}
