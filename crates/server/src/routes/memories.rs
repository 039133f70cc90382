//! A project's memory: its topics as Markdown files, and their earlier versions.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bethink_api as api;
use bethink_daemon::Daemon;
use bethink_memories::{Expected, MAX_MEMORY_BYTES, MemoryText};
use bethink_service::{ErrorKind, ServiceError};
use http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::change::Change;
use crate::idempotency::to_the_end;
use crate::markdown;
use crate::openapi::{Key, TopicPath};
use crate::path::MemoryPath;
use crate::problem::HttpFailure;
use crate::query::Asked;

const SHORTER: &str = "split the topic; prompts include only its first 4,096 bytes";

/// List the topics of a project, in order of scope and name.
#[utoipa::path(
    get, path = "/v1/memories", tag = "memories", operation_id = "memory_list",
    params(api::MemoryQuery),
    responses((status = 200, body = api::MemoriesPage))
)]
pub(crate) async fn list(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::MemoryQuery>,
) -> Reply {
    let api::MemoryQuery { project_dir, scope, limit, cursor } = asked;
    HttpAnswer::ok(&app.daemon.memories.memories(&project_dir, scope, limit, cursor).await?)
}

/// Remember something in a new topic. The daemon chooses an unused name.
#[utoipa::path(
    post, path = "/v1/memories", tag = "memories", operation_id = "memory_remember",
    params(Key),
    request_body = api::Remember,
    responses((status = 201, body = api::MemoryWritten))
)]
pub(crate) async fn remember(change: Change) -> Reply {
    let request = change.sent.json()?;
    let work = |daemon: Daemon| async move { daemon.memories.remember(request).await };
    change.done_as(StatusCode::CREATED, work).await
}

/// Get a project's memory directory, and its index as it appears in prompts.
#[utoipa::path(
    get, path = "/v1/memories/index", tag = "memories", operation_id = "memory_index",
    params(api::ScopeQuery),
    responses((status = 200, body = api::MemoryIndex))
)]
pub(crate) async fn index(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::ScopeQuery>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.memory_index(&asked.project_dir, asked.scope).await?)
}

/// Search the whole text of all memories. Unlike recall, it does not judge relevance.
#[utoipa::path(
    get, path = "/v1/memories/search", tag = "memories", operation_id = "memory_search",
    params(api::MemorySearch),
    responses((status = 200, body = api::MemoryHits))
)]
pub(crate) async fn search(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::MemorySearch>,
) -> Reply {
    HttpAnswer::ok(&app.daemon.memories.search_memories(asked).await?)
}

/// Import an export of claude-mem or mem0, entry by entry. Entries that say the same as an existing topic, and those
/// that contain a secret, are skipped.
#[utoipa::path(
    post, path = "/v1/memories/import", tag = "memories", operation_id = "memory_import",
    params(Key),
    request_body = api::ImportMemories,
    responses((status = 200, body = api::MemoriesImported))
)]
pub(crate) async fn import(change: Change) -> Reply {
    let request = change.sent.json()?;
    change.done(|daemon| async move { daemon.memories.import_memories(request).await }).await
}

/// Get the file of a topic.
#[utoipa::path(
    get, path = "/v1/memories/{scope}/{name}", tag = "memories", operation_id = "memory_get",
    params(TopicPath, api::ProjectQuery),
    responses((status = 200, description = "The topic's file", body = String, content_type = "text/markdown"))
)]
pub(crate) async fn get(
    State(app): State<ServerState>,
    MemoryPath(scope, name): MemoryPath,
    Asked(project): Asked<api::ProjectQuery>,
) -> Result<Response, HttpFailure> {
    Ok(shown(app.daemon.memories.memory(&project.project_dir, scope, &name).await?))
}

/// Write a topic. With `If-Match`, only if it has not changed; with `If-Match: *`, only if it exists (412); with
/// `If-None-Match: *`, only if it does not exist. A conflict (409) returns both versions. Text that seems to contain a secret
/// is refused (422) unless it is allowed.
#[utoipa::path(
    put, path = "/v1/memories/{scope}/{name}", tag = "memories", operation_id = "memory_put",
    params(
        TopicPath,
        api::PutMemoryQuery,
        ("If-Match" = Option<String>, Header),
        ("If-None-Match" = Option<String>, Header),
    ),
    request_body(content = String, content_type = "text/markdown"),
    responses((status = 200, body = api::MemoryWritten))
)]
pub(crate) async fn put(
    State(app): State<ServerState>,
    MemoryPath(scope, name): MemoryPath,
    Asked(asked): Asked<api::PutMemoryQuery>,
    request: Request,
) -> Result<Response, HttpFailure> {
    let (parts, body) = request.into_parts();
    let expected = expected(&parts.headers)?;
    let text = markdown::text(body, &parts, MAX_MEMORY_BYTES, SHORTER).await?;
    let daemon = app.daemon.clone();
    let api::PutMemoryQuery { project_dir, allow_secret } = asked;
    let allowed = allow_secret.unwrap_or_default();
    let allowed = allowed.split(',').map(str::trim).filter(|one| !one.is_empty());
    let allowed: Vec<String> = allowed.map(str::to_owned).collect();
    let must_exist = parts.headers.get(IF_MATCH).is_some_and(|tag| tag == "*");
    let work = async move {
        let memories = &daemon.memories;
        if must_exist {
            let found = memories.memory(&project_dir, scope, &name).await;
            found.map_err(|error| match error.kind {
                ErrorKind::NotFound => ServiceError { kind: ErrorKind::Stale, ..error },
                _ => error,
            })?;
        }
        memories.allow_secrets_of(&project_dir, scope, &name, &text, &allowed).await?;
        memories.put_memory(&project_dir, scope, &name, text, expected).await
    };
    let done = markdown::written(&app, work).await?;
    let mut headers = headers(&done.etag);
    headers.remove(CONTENT_TYPE);
    Ok((headers, HttpAnswer::ok(&done)?).into_response())
}

/// Remove a topic. Its versions are kept, and it is not learned again. A conflict (409) returns both versions.
#[utoipa::path(
    delete, path = "/v1/memories/{scope}/{name}", tag = "memories", operation_id = "memory_delete",
    params(TopicPath, api::ProjectQuery, ("If-Match" = Option<String>, Header)),
    responses((status = 200, body = api::MemoryWritten))
)]
pub(crate) async fn delete(
    State(app): State<ServerState>,
    MemoryPath(scope, name): MemoryPath,
    Asked(api::ProjectQuery { project_dir }): Asked<api::ProjectQuery>,
    headers: HeaderMap,
) -> Reply {
    let expected = expected(&headers)?;
    let daemon = app.daemon.clone();
    to_the_end(&app, async move {
        HttpAnswer::ok(&daemon.memories.delete_memory(&project_dir, scope, &name, expected).await?)
    })
    .await
}

/// List the versions of a topic, newest first, or get the text of one.
#[utoipa::path(
    get, path = "/v1/memories/{scope}/{name}/history", tag = "memories", operation_id = "memory_history",
    params(TopicPath, api::HistoryQuery),
    responses((status = 200, description = "The versions, or the text of one version", content(
        (api::MemoryHistory = "application/json"),
        (String = "text/markdown")
    )))
)]
pub(crate) async fn history(
    State(app): State<ServerState>,
    MemoryPath(scope, name): MemoryPath,
    Asked(asked): Asked<api::HistoryQuery>,
) -> Result<Response, HttpFailure> {
    let api::HistoryQuery { project_dir, limit, before, version } = asked;
    let number = |number| i64::try_from(number).unwrap_or(i64::MAX);
    let (memories, project) = (&app.daemon.memories, &project_dir);
    if let Some(version) = version.map(number) {
        return Ok(shown(memories.memory_version(project, scope, &name, version).await?));
    }
    let before = before.map(number);
    let found = memories.memory_history(project, scope, &name, limit, before).await?;
    Ok(HttpAnswer::ok(&found)?.into_response())
}

/// Restore an earlier version of a topic.
#[utoipa::path(
    post, path = "/v1/memories/{scope}/{name}/restore", tag = "memories", operation_id = "memory_restore",
    params(TopicPath, api::ProjectQuery, Key),
    request_body = api::RestoreMemory,
    responses((status = 200, body = api::MemoryWritten))
)]
pub(crate) async fn restore(
    MemoryPath(scope, name): MemoryPath,
    Asked(api::ProjectQuery { project_dir }): Asked<api::ProjectQuery>,
    change: Change,
) -> Reply {
    let api::RestoreMemory { version } = change.sent.json_or_default()?;
    change
        .done(|daemon| async move {
            daemon.memories.restore_memory(&project_dir, scope, &name, version).await
        })
        .await
}

fn shown(file: MemoryText) -> Response {
    (headers(&file.etag), file.text).into_response()
}

fn headers(etag: &str) -> HeaderMap {
    let mut headers = markdown::headers(&format!("\"{etag}\""));
    if etag.is_empty() {
        headers.remove(http::header::ETAG);
    }
    headers
}

/// Returns what the file must contain before the write.
fn expected(headers: &HeaderMap) -> Result<Expected, HttpFailure> {
    let text =
        |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
    match (text(IF_MATCH), text(IF_NONE_MATCH)) {
        (None, None) | (Some("*"), None) => Ok(Expected::Anything),
        (None, Some("*")) => Ok(Expected::Absent),
        (None, Some(_)) => Err(HttpFailure::field("If-None-Match", "only `*` is allowed")),
        (Some(_), Some(_)) => Err(HttpFailure::field(
            "If-Match",
            "If-Match and If-None-Match cannot be used together",
        )),
        (Some(tag), None) => {
            let hash = tag.trim().trim_start_matches("W/").trim_matches('"').parse();
            let hash = hash.map_err(|error| {
                HttpFailure::field(
                    "If-Match",
                    format!("{error}; send the ETag that the last GET returned"),
                )
            })?;
            Ok(Expected::Hash(hash))
        }
    }
}
