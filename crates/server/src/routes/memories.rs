//! Memory of a project: topics as the Markdown files that they are, and what was in them before.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bethink_api as api;
use bethink_daemon::{MAX_MEMORY_BYTES, MemoryFile, MemoryWish};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::{Sent, read};
use crate::idempotency::{once, to_the_end};
use crate::params::{MemoryPath, Params};
use crate::problem::{Failure, Sort};

const MARKDOWN: &str = "text/markdown; charset=utf-8";
const SHORTER: &str = "split the topic: a prompt gets 4,096 bytes of it";

/// The topics of a project, in order of scope and name.
#[utoipa::path(
    get, path = "/v1/memories", tag = "memories",
    params(
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("scope" = Option<String>, Query, description = "`private` or `team`; both by default"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, body = api::MemoriesPage))
)]
pub(crate) async fn list(State(app): State<App>, params: Params) -> Reply {
    let (project, scope) = (params.required("project_dir")?, params.text("scope"));
    let page = app.daemon.memories(&project, scope, params.limit()?, params.text("cursor")).await?;
    Answer::ok(&page)
}

/// Remember something in a topic of its own; the daemon finds a name that is free.
#[utoipa::path(
    post, path = "/v1/memories", tag = "memories",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::Remember,
    responses((status = 201, body = api::MemoryWritten))
)]
pub(crate) async fn remember(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move {
        Answer::with(StatusCode::CREATED, &daemon.remember(request).await?)
    })
    .await
}

/// Where a project's memory lies, and its index as prompts get it.
#[utoipa::path(
    get, path = "/v1/memories/index", tag = "memories",
    params(
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("scope" = Option<String>, Query, description = "`private` (default) or `team`"),
    ),
    responses((status = 200, body = api::MemoryIndex))
)]
pub(crate) async fn index(State(app): State<App>, params: Params) -> Reply {
    let (project, scope) = (params.required("project_dir")?, params.text("scope"));
    Answer::ok(&app.daemon.memory_index(&project, scope).await?)
}

/// One topic, as it stands in its file.
#[utoipa::path(
    get, path = "/v1/memories/{scope}/{name}", tag = "memories",
    params(
        ("scope" = String, Path, description = "`private` or `team`"),
        ("name" = String, Path, description = "The file without `.md`; a slash in it is sent as %2F"),
        ("project_dir" = String, Query, description = "Any directory of the project"),
    ),
    responses((status = 200, body = String, content_type = "text/markdown"))
)]
pub(crate) async fn get(
    State(app): State<App>,
    MemoryPath(scope, name): MemoryPath,
    params: Params,
) -> Result<Response, Failure> {
    let project = params.required("project_dir")?;
    let MemoryFile { text, etag } = app.daemon.memory(&project, &scope, &name).await?;
    Ok((headers(&etag), Body::from(text)).into_response())
}

/// Write a topic. With `If-Match` only over what was read, with `If-None-Match: *` only where there is
/// none; a lost race is answered with both versions.
#[utoipa::path(
    put, path = "/v1/memories/{scope}/{name}", tag = "memories",
    params(
        ("scope" = String, Path, description = "`private` or `team`"),
        ("name" = String, Path, description = "The file without `.md`; a slash in it is sent as %2F"),
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("If-Match" = Option<String>, Header),
        ("If-None-Match" = Option<String>, Header),
    ),
    request_body(content = String, content_type = "text/markdown"),
    responses((status = 200, body = api::MemoryWritten), (status = 409))
)]
pub(crate) async fn put(
    State(app): State<App>,
    MemoryPath(scope, name): MemoryPath,
    params: Params,
    request: Request,
) -> Result<Response, Failure> {
    let (parts, body) = request.into_parts();
    check_media_type(&parts.headers)?;
    let project = params.required("project_dir")?;
    let wish = wish(&parts.headers)?;
    let body = read(body, &parts.headers, MAX_MEMORY_BYTES, SHORTER).await?;
    let text = text(body)?;
    let daemon = app.daemon.clone();
    // To its end even when the client hangs up: half an edit is none.
    let work = async move { daemon.put_memory(&project, &scope, &name, text, wish).await };
    let done = app.tasks.spawn(work).await.map_err(|error| Failure::internal(&error))??;
    let tag = tag(&done.etag);
    let mut answer = Answer::ok(&done)?.into_response();
    answer.headers_mut().extend(tag.map(|tag| (ETAG, tag)));
    Ok(answer)
}

/// Remove a topic. Its versions stay, and it is not learnt again.
#[utoipa::path(
    delete, path = "/v1/memories/{scope}/{name}", tag = "memories",
    params(
        ("scope" = String, Path, description = "`private` or `team`"),
        ("name" = String, Path, description = "The file without `.md`; a slash in it is sent as %2F"),
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("If-Match" = Option<String>, Header),
    ),
    responses((status = 200, body = api::MemoryWritten), (status = 409))
)]
pub(crate) async fn delete(
    State(app): State<App>,
    MemoryPath(scope, name): MemoryPath,
    params: Params,
    headers: HeaderMap,
) -> Reply {
    let (project, wish) = (params.required("project_dir")?, wish(&headers)?);
    let daemon = app.daemon.clone();
    to_the_end(&app, async move {
        Answer::ok(&daemon.delete_memory(&project, &scope, &name, wish).await?)
    })
    .await
}

/// What a topic held before, newest first.
#[utoipa::path(
    get, path = "/v1/memories/{scope}/{name}/history", tag = "memories",
    params(
        ("scope" = String, Path, description = "`private` or `team`"),
        ("name" = String, Path, description = "The file without `.md`; a slash in it is sent as %2F"),
        ("project_dir" = String, Query, description = "Any directory of the project"),
        ("limit" = Option<u64>, Query, description = "At most so many"),
        ("before" = Option<u64>, Query, description = "Only versions with smaller numbers, for the next page"),
        ("version" = Option<u64>, Query, description = "The text of this one instead of the list"),
    ),
    responses((status = 200, content(
        (api::MemoryHistory = "application/json"),
        (String = "text/markdown")
    )))
)]
pub(crate) async fn history(
    State(app): State<App>,
    MemoryPath(scope, name): MemoryPath,
    params: Params,
) -> Result<Response, Failure> {
    let project = params.required("project_dir")?;
    if let Some(version) = params.seq("version")? {
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        let file = app.daemon.memory_version(&project, &scope, &name, version).await?;
        return Ok((headers(&file.etag), Body::from(file.text)).into_response());
    }
    let before = params.seq("before")?.map(|before| i64::try_from(before).unwrap_or(i64::MAX));
    let found = app.daemon.memory_history(&project, &scope, &name, params.limit()?, before).await?;
    Ok(Answer::ok(&found)?.into_response())
}

/// Put back what a topic held before.
#[utoipa::path(
    post, path = "/v1/memories/{scope}/{name}/restore", tag = "memories",
    params(
        ("scope" = String, Path, description = "`private` or `team`"),
        ("name" = String, Path, description = "The file without `.md`; a slash in it is sent as %2F"),
        ("project_dir" = String, Query, description = "Any directory of the project"),
    ),
    request_body = api::RestoreMemory,
    responses((status = 200, body = api::MemoryWritten))
)]
pub(crate) async fn restore(
    State(app): State<App>,
    MemoryPath(scope, name): MemoryPath,
    params: Params,
    sent: Sent,
) -> Reply {
    let project = params.required("project_dir")?;
    let request: api::RestoreMemory = sent.json_or_default()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move {
        Answer::ok(&daemon.restore_memory(&project, &scope, &name, request.version).await?)
    })
    .await
}

fn text(body: Bytes) -> Result<String, Failure> {
    String::from_utf8(body.into()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(Sort::InvalidUtf8, format!("the byte at offset {at} of the body is not UTF-8"))
    })
}

fn tag(etag: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("\"{etag}\"")).ok().filter(|_| !etag.is_empty())
}

fn headers(etag: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MARKDOWN));
    headers.extend(tag(etag).map(|tag| (ETAG, tag)));
    headers
}

/// What has to stand there.
fn wish(headers: &HeaderMap) -> Result<MemoryWish, Failure> {
    let text =
        |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
    match (text(IF_MATCH), text(IF_NONE_MATCH)) {
        (None, None) | (Some("*"), None) => Ok(MemoryWish::Anything),
        (None, Some("*")) => Ok(MemoryWish::Absent),
        (None, Some(_)) => Err(Failure::field("If-None-Match", "allowed is * alone")),
        (Some(_), Some(_)) => {
            Err(Failure::field("If-Match", "If-Match and If-None-Match exclude each other"))
        }
        (Some(tag), None) => {
            let hash = tag.trim().trim_start_matches("W/").trim_matches('"').parse();
            let hash = hash.map_err(|error| {
                Failure::field("If-Match", format!("{error}; it is the ETag of what was read"))
            })?;
            Ok(MemoryWish::Hash(hash))
        }
    }
}

/// Any text; JSON or a form is a mistake.
fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind = value.to_str().unwrap_or("unreadable").trim().to_ascii_lowercase();
    if kind.starts_with("text/") {
        return Ok(());
    }
    let detail = format!("the body is {kind:?}; this route takes text/markdown");
    Err(Failure::new(Sort::UnsupportedMediaType, detail))
}
