//! Server-sent events of one session, or of all sessions.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bethink_service::{Event, StreamEvent};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderName};

use crate::app::ServerState;
use crate::path::{Id, SessionPath};
use crate::problem::HttpFailure;

/// A comment is sent after this much silence, because proxies and clients close silent streams after thirty seconds or
/// more.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Sent first. Tells clients to wait 1,000 milliseconds before they reconnect.
const GREETING: Bytes = Bytes::from_static(b"retry: 1000\n\n");

/// Stream the events of a session as server-sent events. `Last-Event-ID` resumes after that event.
#[utoipa::path(
    get, path = "/v1/sessions/{id}/events", tag = "events", operation_id = "session_event_stream",
    params(
        ("id" = uuid::Uuid, Path),
        ("Last-Event-ID" = Option<String>, Header, description = "ID of the last event received"),
    ),
    responses((
        status = 200,
        description = "Server-sent events. The schema describes the fields `event` and `data`; `data` is JSON",
        body = Event, content_type = "text/event-stream"
    ))
)]
pub(crate) async fn events(
    State(app): State<ServerState>,
    Id(id): SessionPath,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let events = app.daemon.sessions.events(id, last_event_id(&headers)?).await?;
    let events = stream::unfold(events, |mut events| async move {
        events.next().await.map(|event| (event, events))
    });
    Ok(streamed(&app, events))
}

/// Stream the events of all sessions as server-sent events. The data of each event has a `session_id`. `Last-Event-ID`
/// resumes after that event. If too many events were missed, the stream sends a `reset` event: then fetch all lists again.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", operation_id = "event_stream",
    params(("Last-Event-ID" = Option<String>, Header, description = "ID of the last event received")),
    responses((
        status = 200,
        description = "Server-sent events. The schema describes the fields `event` and `data`; `data` is JSON",
        body = Event, content_type = "text/event-stream"
    ))
)]
pub(crate) async fn all(
    State(app): State<ServerState>,
    headers: HeaderMap,
) -> Result<Response, HttpFailure> {
    let events = app.daemon.cx.hub().all_events(last_event_id(&headers)?.as_deref())?;
    let events = stream::unfold(events, |mut events| async move {
        events.next().await.map(|event| (event, events))
    });
    Ok(streamed(&app, events))
}

/// The stream ends when the daemon stops or its token is replaced.
fn streamed(
    app: &ServerState,
    events: impl Stream<Item = StreamEvent> + Send + 'static,
) -> Response {
    let texts = events.map(|event| text(&event));
    let ended = app.token.ended().cancelled_owned();
    let lines = keep_alive(texts).take_until(ended).map(Ok::<_, std::io::Error>);
    let kind = [
        (CONTENT_TYPE, "text/event-stream"),
        // Without it, reverse proxies hold events back until a buffer is full.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (kind, Body::from_stream(lines)).into_response()
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, HttpFailure> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    match value.to_str() {
        Ok("") => Ok(None),
        Ok(id) => Ok(Some(id.to_owned())),
        Err(_) => Err(HttpFailure::field(
            "Last-Event-ID",
            "an event ID may only contain visible ASCII characters",
        )),
    }
}

/// Adds a comment whenever `texts` is silent. The pinned stream continues to wait for the same event after a comment,
/// so none is lost.
fn keep_alive(texts: impl Stream<Item = Bytes>) -> impl Stream<Item = Bytes> {
    let texts = stream::once(async { GREETING }).chain(texts);
    stream::unfold(Box::pin(texts), |mut texts| async move {
        match tokio::time::timeout(KEEP_ALIVE, texts.next()).await {
            Ok(text) => text.map(|text| (text, texts)),
            Err(_) => Some((Bytes::from_static(b":\n\n"), texts)),
        }
    })
}

fn text(event: &StreamEvent) -> Bytes {
    let (id, kind, data) = (event.id(), event.kind(), event.data());
    Bytes::from(format!("id: {id}\nevent: {kind}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_transcript::Seq;

    #[test]
    fn an_event_is_three_lines() {
        let event = StreamEvent::of_history(Seq(7), Event::Todos { items: 3 });
        assert_eq!(text(&event), "id: 0-0-7\nevent: todos\ndata: {\"items\":3}\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_filled_and_nothing_is_lost() {
        let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(4);
        let texts = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|text| (text, receiver))
        });
        let mut stream = Box::pin(keep_alive(texts));
        assert_eq!(stream.next().await.unwrap(), GREETING);
        assert_eq!(stream.next().await.unwrap(), ":\n\n");
        sender.send(Bytes::from_static(b"a")).await.unwrap();
        assert_eq!(stream.next().await.unwrap(), "a");
        drop(sender);
        assert_eq!(stream.next().await, None);
    }

    #[test]
    fn the_last_event_id_is_text() {
        let mut headers = HeaderMap::new();
        assert_eq!(last_event_id(&headers).unwrap(), None);
        headers.insert(LAST_EVENT_ID, "9".parse().unwrap());
        assert_eq!(last_event_id(&headers).unwrap().as_deref(), Some("9"));
        let odd = http::HeaderValue::from_bytes(b"\xff").unwrap();
        headers.insert(LAST_EVENT_ID, odd);
        assert_eq!(last_event_id(&headers).unwrap_err().problem().status, 422);
    }
}
