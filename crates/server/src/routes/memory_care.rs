//! What is wrong with a project's memory, and its index made anew.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;
use crate::params::Params;

/// How a project's memory is: where it lies, how large it is, and what is wrong with it. Changes nothing.
#[utoipa::path(
    get, path = "/v1/memories/lint", tag = "memories",
    params(
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("scope" = Option<String>, Query, description = "`private` or `team`; both by default"),
    ),
    responses((status = 200, body = api::MemoryLint))
)]
pub(crate) async fn lint(State(app): State<App>, params: Params) -> Reply {
    let (project, scope) = (params.required("project_dir")?, params.text("scope"));
    Answer::ok(&app.daemon.memory_lint(&project, scope).await?)
}

/// Bring MEMORY.md up to date with the topics: lines of topics that are gone go, missing ones come, and
/// everything else stays.
#[utoipa::path(
    post, path = "/v1/memories/rebuild", tag = "memories",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::RebuildMemory,
    responses((status = 200, body = api::MemoryRebuilt))
)]
pub(crate) async fn rebuild(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.rebuild_memory(request).await?) }).await
}
