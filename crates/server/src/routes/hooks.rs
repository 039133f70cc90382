//! Hook events that coding agents report.

use axum::extract::{FromRequestParts, Request, State};
use bethink_api::HookQuery;
use bethink_hook_events::{Delivery, HookClient, HookEvent, HookInput};
use bethink_intake::ReceivedBody;
use bethink_service::ErrorKind;
use bytes::Bytes;
use http::request::Parts;
use uuid::Uuid;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::{check_text, read};
use crate::path::{segment, segments};
use crate::problem::HttpFailure;
use crate::query::Asked;

const NO_LARGER_HOOKS: &str =
    "use `bethink hook`, which sends only what is needed, or raise max_body_bytes in [daemon]";

/// The last part of `/v1/hooks/{event}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventPath(HookEvent);

impl<S: Send + Sync> FromRequestParts<S> for EventPath {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpFailure> {
        let segments = segments(parts, state).await?;
        let event = HookEvent::named(segment(&segments, "event"));
        event.map(Self).ok_or_else(|| {
            let names = HookEvent::ALL.map(HookEvent::as_str).join(", ");
            HttpFailure::new(ErrorKind::NotFound, format!("unknown event; use one of {names}"))
                .at("event")
        })
    }
}

/// Report a hook event. The body is the JSON that the agent passes to its hooks, and the answer is in the format that the agent
/// expects. An answer never denies an action, and never asks the user to confirm one.
#[utoipa::path(
    post, path = "/v1/hooks/{event}", tag = "hooks", operation_id = "hook_deliver",
    params(
        ("event" = String, Path, description = "The event name, either as `bethink hook` takes it or as the agent spells it"),
        HookQuery,
    ),
    request_body(content = serde_json::Value, content_type = "application/json"),
    responses((status = 200, description = "The answer, in the format that the agent expects", body = serde_json::Value))
)]
pub(crate) async fn hook(
    State(app): State<ServerState>,
    EventPath(event): EventPath,
    Asked(asked): Asked<HookQuery>,
    request: Request,
) -> Reply {
    // This comes first, because the hook may disconnect before its body is read.
    app.daemon.hooks.expect_hook();
    let (parts, body) = request.into_parts();
    let client = client(asked.client.as_deref())?;
    let id = asked.id.unwrap_or_else(Uuid::now_v7);
    let ReceivedBody { bytes: body, room: _room } =
        read(body, &parts, app.limits.body_bytes, NO_LARGER_HOOKS).await?;
    check_text(&body, app.limits.depth)?;
    let input =
        HookInput::read(&body).map_err(|error| HttpFailure::field("body", error.to_string()))?;
    let answer = app.daemon.hooks.hook(Delivery::new(id, client, event, input)).await?;
    Ok(HttpAnswer::text(Bytes::from(answer)))
}

fn client(name: Option<&str>) -> Result<HookClient, HttpFailure> {
    let Some(name) = name else { return Ok(HookClient::default()) };
    HookClient::named(name).ok_or_else(|| {
        let names = HookClient::ALL.map(HookClient::as_str).join(", ");
        HttpFailure::field("client", format!("unknown client; use one of {names}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_names_every_client_of_hooks() {
        for client in HookClient::ALL {
            let name = serde_json::json!(client.as_str());
            let named = serde_json::from_value::<bethink_api::HookAgent>(name);
            assert!(named.is_ok(), "{client:?}");
        }
    }
}
