//! Makes the bytes of a response.

use serde_json::{Value, json};

use crate::answer::{Answer, Content};
use crate::ask::{Ask, Wire};
use crate::fault::Fault;
use crate::refusal::{self, Body, PAGE, Refusal};
use crate::script::Recording;
use crate::{anthropic, gemini, openai, responses};

/// Number of characters in a delta.
const DELTA: usize = 48;

/// A stream in three parts. Without the last one it is incomplete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    pub(crate) start: Vec<String>,
    pub(crate) body: Vec<String>,
    pub(crate) end: Vec<String>,
    /// Number of pieces up to the first text.
    pub(crate) silent: usize,
}

/// A response, as the pieces to write.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) pieces: Vec<Vec<u8>>,
    /// Number of pieces up to the first text.
    pub(crate) opening: usize,
    pub(crate) stream: bool,
}

pub(crate) const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

impl Payload {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::plain(status, JSON, body.to_string())
    }

    pub(crate) fn plain(status: u16, kind: &'static str, body: String) -> Self {
        let pieces = vec![body.into_bytes()];
        Self { status, kind, headers: Vec::new(), pieces, opening: 0, stream: false }
    }

    pub(crate) fn recorded(recording: &Recording) -> Self {
        let stream = recording.kind.starts_with(EVENTS);
        let kind = if stream { EVENTS } else { JSON };
        let pieces = recording.body.split_inclusive("\n\n").map(|piece| piece.as_bytes().to_vec());
        let pieces = pieces.collect();
        Self { stream, pieces, ..Self::plain(200, kind, String::new()) }
    }

    pub(crate) fn page() -> Self {
        Self::plain(200, "text/html; charset=utf-8", PAGE.to_owned())
    }

    pub(crate) fn refused(wire: Wire, refused: &Refusal, request: &str) -> Self {
        let mut payload = match &refused.body {
            Body::Plain(text) => Self::plain(refused.status, "text/plain", text.clone()),
            Body::Html => Self { status: refused.status, ..Self::page() },
            Body::Error { .. } => {
                Self::json(refused.status, &refusal::envelope(wire, refused, request))
            }
        };
        payload.headers.push((request_id(wire), request.to_owned()));
        let wait = refused.retry_after.map(|seconds| ("retry-after", seconds.to_string()));
        payload.headers.extend(wait);
        payload
    }

    /// Returns the answer in the requested format. Some faults change its events.
    pub(crate) fn answered(
        asked: &Ask,
        answer: &Answer,
        fault: Option<Fault>,
        request: &str,
        error: Option<&Refusal>,
    ) -> Self {
        let mut payload = if asked.stream {
            streamed(asked, answer, fault, request, error)
        } else {
            whole(asked, answer, fault, request, error)
        };
        payload.headers.push((request_id(asked.wire), request.to_owned()));
        payload
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

/// Makes a delta event.
pub(crate) fn more(wire: Wire, text: &str) -> String {
    match wire {
        Wire::Anthropic => anthropic::more(text),
        Wire::OpenAi => openai::more(text),
        Wire::Responses => responses::more(text),
        Wire::Gemini => gemini::more(text),
    }
}

/// Splits a text into deltas.
pub(crate) fn cut(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = chars.chunks(DELTA).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

fn request_id(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "request-id",
        Wire::OpenAi | Wire::Responses | Wire::Gemini => "x-request-id",
    }
}

fn whole(
    asked: &Ask,
    answer: &Answer,
    fault: Option<Fault>,
    request: &str,
    error: Option<&Refusal>,
) -> Payload {
    let mut body = match asked.wire {
        Wire::Anthropic => anthropic::whole(asked, answer, request),
        Wire::OpenAi => openai::whole(asked, answer, request),
        Wire::Responses => responses::whole(asked, answer, request),
        Wire::Gemini => gemini::whole(asked, answer, request),
    };
    match fault {
        Some(Fault::UnknownEvents) if body.is_object() => {
            body["vendor_news"] = json!({"mood": [1, null]});
        }
        Some(Fault::TruncatedJson | Fault::EofWithoutStop) => {
            let text = body.to_string();
            let half =
                (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            return Payload::plain(200, JSON, text[..half].to_owned());
        }
        Some(Fault::OddSse) => return Payload::plain(200, JSON, format!("\r\n\n  {body:#}\n\n")),
        _ => {}
    }
    // An error in a response with a success status, sent as an event if streamed.
    if let Some(error) = error {
        body = refusal::envelope(asked.wire, error, request);
    }
    Payload::json(200, &body)
}

fn streamed(
    asked: &Ask,
    answer: &Answer,
    fault: Option<Fault>,
    request: &str,
    error: Option<&Refusal>,
) -> Payload {
    let mut events = match asked.wire {
        Wire::Anthropic => anthropic::events(asked, answer, request),
        Wire::OpenAi => openai::events(asked, answer, request),
        Wire::Responses => responses::events(asked, answer, request),
        Wire::Gemini => gemini::events(asked, answer, request),
    };
    let told = error.map(|error| error_event(asked.wire, error, request));
    match fault {
        Some(Fault::ErrorAfterOk | Fault::OverflowAfterOk) => {
            events = Events { start: told.into_iter().collect(), ..Events::default() };
        }
        Some(Fault::ErrorMidStream) => {
            events.body.truncate(events.body.len() / 2 + 1);
            events.end = told.into_iter().collect();
        }
        Some(Fault::EofWithoutStop) => events.end.clear(),
        Some(Fault::TruncatedJson) => {
            let last = events.body.len() / 2;
            events.body.truncate(last + 1);
            if let Some(event) = events.body.last_mut() {
                let half = (0..=event.len() / 2).rev().find(|at| event.is_char_boundary(*at));
                event.truncate(half.unwrap_or(0));
                event.push_str("\n\n");
            }
            events.end.clear();
        }
        Some(Fault::UnknownEvents) => events.body.insert(0, unknown(asked.wire)),
        Some(Fault::BrokenArguments) if answer.content.iter().any(is_call) => {}
        _ => {}
    }
    let opening = events.start.len() + events.silent + 1;
    let all = [events.start, events.body, events.end].concat();
    let pieces = if fault == Some(Fault::OddSse) { odd(&all) } else { all };
    let pieces = pieces.into_iter().map(String::into_bytes).collect();
    let headers = vec![("cache-control", "no-cache".to_owned())];
    Payload { status: 200, kind: EVENTS, headers, pieces, opening, stream: true }
}

fn is_call(content: &Content) -> bool {
    matches!(content, Content::Call { .. })
}

fn error_event(wire: Wire, error: &Refusal, request: &str) -> String {
    let envelope = refusal::envelope(wire, error, request);
    match wire {
        Wire::Anthropic => anthropic::event(&envelope),
        Wire::OpenAi => openai::event(&envelope),
        Wire::Gemini => gemini::event(&envelope),
        Wire::Responses => {
            let mut error = envelope["error"].clone();
            error["type"] = json!("error");
            responses::event(&error)
        }
    }
}

fn unknown(wire: Wire) -> String {
    let news = json!({"type": "vendor_news", "mood": {"of": ["the", null, 1]}});
    match wire {
        Wire::Anthropic => anthropic::event(&news),
        Wire::Responses => responses::event(&news),
        Wire::Gemini => gemini::event(&json!({"candidates": [], "vendor": news})),
        Wire::OpenAi => {
            let choices =
                json!([{"index": 0, "delta": {"vendor_mood": "fine"}, "finish_reason": null}]);
            let chunk =
                json!({"object": "chat.completion.chunk", "choices": choices, "vendor": news});
            format!(": keep-alive\n\nevent: vendor\nid: 7\nretry: 10\n{}", openai::event(&chunk))
        }
    }
}

/// Encodes the same events in another valid form.
fn odd(events: &[String]) -> Vec<String> {
    let dress = |event: &String| {
        let event = event.replace("data: ", "data:").replace('\n', "\r\n");
        format!(": a comment\r\n\r\n{event}")
    };
    let mut events: Vec<String> = events.iter().map(dress).collect();
    if let Some(first) = events.first_mut() {
        first.insert(0, '\u{feff}');
    }
    events
}
