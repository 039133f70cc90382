//! The coding agents on this machine.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;

/// List the coding agents on this machine, and whether bethink is installed for them. The daemon finds only what its own user
/// has, in the directories that its own environment names.
#[utoipa::path(
    get, path = "/v1/agents", tag = "daemon", operation_id = "agent_list",
    responses((status = 200, body = api::AgentList))
)]
pub(crate) async fn list(State(app): State<ServerState>) -> Reply {
    HttpAnswer::ok(&app.daemon.hooks.agents().await?)
}
