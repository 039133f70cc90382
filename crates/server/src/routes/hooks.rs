//! Hooks of coding agents: what happened in a session of theirs.

use axum::extract::{FromRequestParts, Request, State};
use bethink_hooks::{Client, Delivery, Event, Input};
use bytes::Bytes;
use http::request::Parts;
use uuid::Uuid;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::{check_text, read};
use crate::params::{Params, segment, segments};
use crate::problem::{Failure, Sort};

const NO_LARGER_HOOKS: &str =
    "`bethink hook` sends only what is read; or raise max_body_bytes in [daemon]";

/// The last part of `/v1/hooks/{event}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventPath(Event);

impl<S: Send + Sync> FromRequestParts<S> for EventPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let segments = segments(parts, state).await?;
        let event = Event::named(segment(&segments, "event"));
        event.map(Self).ok_or_else(|| {
            let names = Event::ALL.map(Event::as_str).join(", ");
            Failure::new(Sort::NotFound, format!("there is no such event; these are: {names}"))
                .at("event")
        })
    }
}

/// Tell what happened in a client's session. The body is the client's own hook JSON, the answer what the client
/// reads; no answer ever blocks anything.
#[utoipa::path(
    post, path = "/v1/hooks/{event}", tag = "hooks",
    params(
        ("event" = String, Path, description = "As `bethink hook` takes it, or in the client's spelling"),
        ("client" = Option<String>, Query, description = "`claude-code` if absent, `codex`, `gemini`, `cursor`"),
        ("id" = Option<Uuid>, Query, description = "An event that is sent again counts once"),
    ),
    request_body(content = serde_json::Value, content_type = "application/json"),
    responses((status = 200, description = "The client's own shape", body = serde_json::Value))
)]
pub(crate) async fn hook(
    State(app): State<App>,
    EventPath(event): EventPath,
    params: Params,
    request: Request,
) -> Reply {
    // First of all: a hook that waits no longer leaves before its body is read.
    app.daemon.expect_hook();
    let (parts, body) = request.into_parts();
    let client = client(&params)?;
    let id = params.id("id")?.unwrap_or_else(Uuid::now_v7);
    let body = read(body, &parts.headers, app.limits.body_bytes, NO_LARGER_HOOKS).await?;
    check_text(&body, app.limits.depth)?;
    let input = Input::read(&body).map_err(|error| Failure::field("body", error.to_string()))?;
    let answer = app.daemon.hook(Delivery::new(id, client, event, input)).await?;
    Ok(Answer::text(Bytes::from(answer)))
}

fn client(params: &Params) -> Result<Client, Failure> {
    let Some(name) = params.text("client") else { return Ok(Client::default()) };
    Client::named(&name).ok_or_else(|| {
        let names = Client::ALL.map(Client::as_str).join(", ");
        Failure::field("client", format!("no such client; these are: {names}"))
    })
}
