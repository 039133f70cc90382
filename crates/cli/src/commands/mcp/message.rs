//! The parts of a client's message that the bridge needs to understand, and the errors with which the bridge itself
//! answers.

use bethink_api::Problem;
use serde_json::{Value, json};

use super::lines::InputLine;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
/// Error code for a lost request, from the range that JSON-RPC reserves for servers.
const LOST: i64 = -32_000;
/// Maximum size of an error with which the daemon refuses a message without reading it, in bytes.
const REFUSAL_BYTES: usize = 2_048;

/// A message, both as bytes and parsed.
#[derive(Debug)]
pub(super) struct RpcMessage {
    pub(super) bytes: Vec<u8>,
    pub(super) value: Value,
    pub(super) method: String,
    pub(super) kind: MessageKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    Request {
        /// The id as JSON text, in which `1` and `"1"` differ.
        key: String,
    },
    Notification,
    /// An answer to a request from the server. The server sends no requests.
    Answer,
}

impl RpcMessage {
    /// Parses a line. If that fails, returns the error to answer with.
    pub(super) fn of(line: InputLine) -> Result<Self, Vec<u8>> {
        let InputLine::Whole(bytes) = line else {
            return Err(error(&Value::Null, INVALID_REQUEST, "the line is too long", &Value::Null));
        };
        let parsed = serde_json::from_slice::<Value>(&bytes);
        let value = parsed.map_err(|fault| {
            let why = format!("the line is not JSON: {fault}");
            error(&Value::Null, PARSE_ERROR, &why, &Value::Null)
        })?;
        if !value.is_object() {
            let why = "each line must be a single JSON-RPC message; batches are not supported";
            return Err(error(&Value::Null, INVALID_REQUEST, why, &Value::Null));
        }
        let method = value["method"].as_str().unwrap_or_default().to_owned();
        let kind = match (&value["id"], value.get("method")) {
            (_, None) if value.get("result").is_some() || value.get("error").is_some() => {
                MessageKind::Answer
            }
            (Value::Null, Some(_)) if value.get("id").is_none() => MessageKind::Notification,
            (id, _) => MessageKind::Request { key: id.to_string() },
        };
        Ok(Self { bytes, value, method, kind })
    }

    /// Returns the id of the request that this message cancels.
    pub(super) fn cancels(&self) -> Option<String> {
        let id = self.value["params"].get("requestId")?;
        (self.method == "notifications/cancelled").then(|| id.to_string())
    }

    /// Adds this request's id to an error without one. The daemon refuses some messages without reading them, and the
    /// client would wait forever for an answer with its request's id.
    pub(super) fn with_id(&self, answer: Vec<u8>) -> Vec<u8> {
        if answer.len() > REFUSAL_BYTES {
            return answer;
        }
        match serde_json::from_slice::<Value>(&answer) {
            Ok(mut error) if error["id"].is_null() && error["error"].is_object() => {
                error["id"] = self.value["id"].clone();
                error.to_string().into_bytes()
            }
            _ => answer,
        }
    }

    pub(super) fn failed(&self, problem: &Problem) -> Vec<u8> {
        let data = json!({ "type": problem.kind, "hint": problem.hint });
        error(&self.value["id"], LOST, &problem.detail, &data)
    }

    /// Returns the answer to a request that the daemon accepted but did not answer.
    pub(super) fn unanswered(&self) -> Vec<u8> {
        let why = "the daemon accepted the request but did not answer it";
        error(&self.value["id"], LOST, why, &json!({ "type": "garbled" }))
    }
}

/// Returns the protocol version in the answer to `initialize`.
pub(super) fn version_of(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer["result"]["protocolVersion"].as_str().map(str::to_owned)
}

fn error(id: &Value, code: i64, message: &str, data: &Value) -> Vec<u8> {
    let mut error = json!({ "code": code, "message": message });
    if !data.is_null() {
        error["data"] = data.clone();
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<RpcMessage, Value> {
        let line = InputLine::Whole(text.as_bytes().to_vec());
        RpcMessage::of(line).map_err(|answer| serde_json::from_slice(&answer).unwrap())
    }

    #[test]
    fn messages_are_classified() {
        let check =
            |text: &str, expect: MessageKind| assert_eq!(of(text).unwrap().kind, expect, "{text}");
        let request = |key: &str| MessageKind::Request { key: key.to_owned() };
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, request("1"));
        check(r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#, request("\"1\""));
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, request("null"));
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            MessageKind::Notification,
        );
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, MessageKind::Answer);
        check(r#"{"jsonrpc":"2.0","id":7}"#, request("7"));
    }

    #[test]
    fn invalid_lines_are_answered_with_an_error() {
        for (text, code) in
            [("{", PARSE_ERROR), ("", PARSE_ERROR), ("[]", INVALID_REQUEST), ("5", INVALID_REQUEST)]
        {
            let answer = of(text).unwrap_err();
            assert_eq!(
                (answer["error"]["code"].as_i64(), &answer["id"]),
                (Some(code), &Value::Null)
            );
        }
        assert!(RpcMessage::of(InputLine::TooLong).is_err());
    }

    #[test]
    fn an_error_without_an_id_gets_the_id_of_the_request() {
        let asked = of(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#).unwrap();
        let owned =
            |answer: &str| String::from_utf8(asked.with_id(answer.as_bytes().to_vec())).unwrap();
        assert!(owned(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#).contains(r#""id":8"#));
        for other in [r#"{"id":1,"error":{}}"#, r#"{"id":null,"result":{}}"#, "x"] {
            assert_eq!(owned(other), other);
        }
    }

    #[test]
    fn a_request_is_cancelled_by_its_id() {
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        assert_eq!(of(cancel).unwrap().cancels().as_deref(), Some("\"a\""));
        assert_eq!(
            of(r#"{"jsonrpc":"2.0","method":"x","params":{"requestId":1}}"#).unwrap().cancels(),
            None
        );
    }
}
