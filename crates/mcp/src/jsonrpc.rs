//! Replies to invalid messages with JSON-RPC errors, because clients read no other format.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bethink_intake::{RETRY_SECONDS, ReceivedBody, Unread};
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};

use crate::MESSAGE_BYTES;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
/// Error code in the range that JSON-RPC reserves for servers.
const REFUSED: i64 = -32_000;
/// Maximum size of an error's text, in bytes.
const SENTENCE: usize = 4_096;

/// Checks the form of a message, passes it on, and converts plain-text errors to JSON-RPC errors.
pub(crate) async fn check_message(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    // The memory for the body stays reserved until the message is answered.
    let (body, _room) = match bethink_intake::whole(body, &parts, MESSAGE_BYTES as u64).await {
        Ok(ReceivedBody { bytes, room }) => (bytes, room),
        Err(unread) => return not_read(unread),
    };
    let mut message: Value = match serde_json::from_slice(&body) {
        Ok(message) => message,
        Err(error) => {
            let why = format!("the message is not valid JSON: {error}");
            return refusal(StatusCode::BAD_REQUEST, PARSE_ERROR, &why, &Value::Null);
        }
    };
    let id = id_of(&message);
    if let Some(why) = malformed(&message) {
        return refusal(StatusCode::BAD_REQUEST, INVALID_REQUEST, why, &id);
    }
    let body = match decode_arguments(&mut message) {
        true => Body::from(message.to_string()),
        false => Body::from(body),
    };
    in_json_rpc(next.run(Request::from_parts(parts, body)).await, &id).await
}

/// Replaces a tool's arguments by the object that they encode, and returns whether it did. Some models encode them as a
/// string.
fn decode_arguments(message: &mut Value) -> bool {
    if message.get("method").and_then(Value::as_str) != Some("tools/call") {
        return false;
    }
    let arguments = message.pointer_mut("/params/arguments");
    let Some(Value::String(text)) = arguments.as_deref() else { return false };
    match (serde_json::from_str(text), arguments) {
        (Ok(Value::Object(decoded)), Some(arguments)) => {
            *arguments = Value::Object(decoded);
            true
        }
        _ => false,
    }
}

/// Returns the error for a message whose body was not read.
fn not_read(unread: Unread) -> Response {
    let (status, code) = match unread {
        Unread::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST),
        Unread::Stuck { .. } => (StatusCode::REQUEST_TIMEOUT, PARSE_ERROR),
        Unread::CutOff { .. } => (StatusCode::BAD_REQUEST, PARSE_ERROR),
        Unread::Busy => (StatusCode::SERVICE_UNAVAILABLE, REFUSED),
    };
    let mut response = refusal(status, code, &unread.to_string(), &Value::Null);
    if unread == Unread::Busy {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    }
    response
}

/// Returns the reason if a message is not a valid JSON-RPC message of this protocol.
fn malformed(message: &Value) -> Option<&'static str> {
    let Some(message) = message.as_object() else {
        return Some(match message.is_array() {
            true => "batches are not supported: send one message at a time",
            false => "a message must be a JSON object",
        });
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some("`jsonrpc` must be \"2.0\"");
    }
    let is_id = |id: &Value| id.is_string() || id.is_i64();
    if !message.get("id").is_none_or(is_id) {
        return Some("`id` must be a string or an integer");
    }
    if !matches!(message.get("params"), None | Some(Value::Object(_))) {
        return Some("`params` must be an object");
    }
    let answers = message.contains_key("result") || message.contains_key("error");
    match message.get("method") {
        Some(Value::String(_)) => None,
        None if answers => None,
        _ => Some("`method` must be a string"),
    }
}

/// Converts a plain-text error to a JSON-RPC error for its request.
async fn in_json_rpc(response: Response, id: &Value) -> Response {
    let status = response.status();
    if status.is_success() || is_json(&response) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = match Limited::new(body, SENTENCE).collect().await {
        Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        Err(_) => String::new(),
    };
    // The endpoint returns this for any message that does not have the form of its method.
    let (status, code) = match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE if text.starts_with("fail to deserialize") => {
            (StatusCode::BAD_REQUEST, INVALID_REQUEST)
        }
        _ => (status, REFUSED),
    };
    let refusal = refusal(status, code, &text, id);
    parts.status = status;
    parts.headers.remove(http::header::CONTENT_LENGTH);
    let (made, body) = refusal.into_parts();
    parts.headers.extend(made.headers);
    Response::from_parts(parts, body)
}

fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

fn id_of(message: &Value) -> Value {
    match message.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    }
}

fn refusal(status: StatusCode, code: i64, why: &str, id: &Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } });
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_room_may_be_sent_again() {
        let response = not_read(Unread::Busy);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        assert!(!not_read(Unread::CutOff { length: 1 }).headers().contains_key(RETRY_AFTER));
    }

    #[test]
    fn arguments_may_be_an_object_in_a_string() {
        let decoded = |arguments: Value| {
            let params = json!({ "name": "recall", "arguments": arguments });
            let mut message = json!({ "method": "tools/call", "params": params });
            decode_arguments(&mut message).then(|| message["params"]["arguments"].take())
        };
        assert_eq!(decoded(json!(r#"{"query":"x"}"#)), Some(json!({ "query": "x" })));
        for other in [json!("x"), json!("[1]"), json!({}), json!(null)] {
            assert_eq!(decoded(other), None);
        }
    }

    #[test]
    fn only_messages_pass() {
        let check = |text: &str, passes: bool| {
            let message: Value = serde_json::from_str(text).unwrap();
            assert_eq!(malformed(&message).is_none(), passes, "{text}");
        };
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, true);
        check(r#"{"jsonrpc":"2.0","id":"a","method":"x","params":{}}"#, true);
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, true);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true);
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, false);
        check(r#""ping""#, false);
        check("{}", false);
        check(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, false);
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, false);
        check(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, false);
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, false);
        check(r#"{"jsonrpc":"2.0","id":1,"method":5}"#, false);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, false);
        check(r#"{"jsonrpc":"2.0","id":1}"#, false);
    }
}
