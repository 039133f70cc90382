//! Sends MCP messages to the daemon one by one, for a program that bridges another transport.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use crate::client::Client;
use crate::error::{ClientError, problem};
use crate::events::EventSubscription;

const PROJECT: HeaderName = HeaderName::from_static("x-bethink-project");
const SESSION: HeaderName = HeaderName::from_static("x-bethink-session");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The field of `_meta` that contains the protocol version, in protocol versions without sessions.
const OWN_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Maximum size of a message in a stream, in bytes. The daemon's messages are far smaller.
const MAX_MESSAGE: usize = 32 << 20;

/// The project and session of calls that do not name one.
#[derive(Clone, Debug, Default)]
pub struct McpOrigin(HeaderMap);

impl McpOrigin {
    /// Creates an origin with the directory that the client works in, and the client's session: an id, or `last`. Returns
    /// `None` if one of them has a control character, which a header cannot contain.
    pub fn new(project: &Path, session: Option<&str>) -> Option<Self> {
        let mut headers = HeaderMap::new();
        let project = HeaderValue::from_bytes(project.as_os_str().as_encoded_bytes()).ok()?;
        headers.insert(PROJECT, project);
        if let Some(session) = session {
            headers.insert(SESSION, HeaderValue::from_str(session).ok()?);
        }
        Some(Self(headers))
    }
}

/// The answer to a message.
#[derive(Debug)]
pub enum McpAnswer {
    /// The message was accepted, and messages of its kind have no answer.
    Nothing,
    /// One JSON-RPC message; errors are messages too.
    Message(Vec<u8>),
    /// Several messages, as they arrive.
    Stream(Box<McpStream>),
}

/// Why a message got no answer.
#[derive(Debug, thiserror::Error)]
#[error("the daemon did not answer a message")]
pub struct McpFailure {
    #[source]
    pub error: ClientError,
    /// The daemon may have received the message, so a retry could apply it twice.
    pub begun: bool,
}

/// The messages of an answer, as they arrive.
#[derive(Debug)]
pub struct McpStream(EventSubscription);

/// Returns the headers that repeat parts of a message. `negotiated` is the protocol version of a session that began
/// with `initialize`.
fn headers_of(message: &Value, negotiated: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&header_value(value)) {
            headers.insert(name, value);
        }
    };
    let method = message["method"].as_str().unwrap_or_default();
    let params = &message["params"];
    let own = params["_meta"][OWN_VERSION].as_str();
    if let Some(version) = own.or(negotiated.filter(|_| method != "initialize")) {
        put(VERSION, version);
    }
    if own.is_some() {
        put(METHOD, method);
        let name = match method {
            "tools/call" | "prompts/get" => &params["name"],
            "resources/read" => &params["uri"],
            _ => &Value::Null,
        };
        if let Some(name) = name.as_str() {
            put(NAME, name);
        }
    }
    headers
}

/// Returns the value of a header, encoded as the protocol requires if a header cannot contain it.
fn header_value(value: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    let looks_coded = value.starts_with("=?base64?") && value.ends_with("?=");
    let is_bare = value.bytes().all(is_plain) && value.trim() == value && !looks_coded;
    match is_bare {
        true => value.to_owned(),
        false => format!("=?base64?{}?=", BASE64_STANDARD.encode(value)),
    }
}

impl Client {
    /// Sends `POST /mcp` with one message. `message` is what its `bytes` were parsed into.
    pub async fn mcp(
        &self,
        bytes: Vec<u8>,
        message: &Value,
        negotiated: Option<&str>,
        origin: &McpOrigin,
    ) -> Result<McpAnswer, McpFailure> {
        let request = self
            .stream(Method::POST, self.at("mcp"))
            .headers(headers_of(message, negotiated))
            .headers(origin.0.clone())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(bytes);
        let response = request.send().await.map_err(|error| McpFailure {
            begun: !error.is_connect(),
            error: self.broken(&error),
        })?;
        let (status, kind) = (response.status(), kind_of(&response));
        if kind.starts_with("text/event-stream") {
            let stream = EventSubscription::of(self.clone(), response, "POST /mcp", MAX_MESSAGE);
            return Ok(McpAnswer::Stream(Box::new(McpStream(stream))));
        }
        let body = response
            .bytes()
            .await
            .map_err(|error| McpFailure { begun: true, error: self.broken(&error) })?;
        if kind.starts_with("application/json") && !body.is_empty() {
            return Ok(McpAnswer::Message(body.into()));
        }
        if status.is_success() {
            return Ok(McpAnswer::Nothing);
        }
        // The daemon did not read the message: the token was wrong, or the daemon is shutting down.
        let is_unread =
            matches!(status, StatusCode::UNAUTHORIZED | StatusCode::SERVICE_UNAVAILABLE);
        let refused = ClientError::Refused(Box::new(problem(status.as_u16(), &body)));
        Err(McpFailure { begun: !is_unread, error: refused })
    }
}

impl McpStream {
    /// Waits for the next message. Returns `None` at the end of the answer.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        while let Some(event) = self.0.next().await? {
            // Events without data keep the connection open.
            if !event.data.trim().is_empty() {
                return Ok(Some(event.data.into_bytes()));
            }
        }
        Ok(None)
    }
}

fn kind_of(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(message: &Value, negotiated: Option<&str>, expect: &[(&str, &str)]) {
        let headers = headers_of(message, negotiated);
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        let mut found: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        found.sort();
        let expect: Vec<_> =
            expect.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(found, expect, "{message}");
    }

    #[test]
    fn a_session_names_the_version_that_it_agreed_on() {
        let call = json!({ "method": "tools/call", "params": { "name": "recall" } });
        check(&call, None, &[]);
        check(&call, Some("2025-06-18"), &[("mcp-protocol-version", "2025-06-18")]);
        check(&json!({ "method": "initialize" }), Some("2025-06-18"), &[]);
    }

    #[test]
    fn a_request_of_its_own_names_all_of_it() {
        let meta = json!({ OWN_VERSION: "2026-07-28" });
        let call = json!({ "method": "tools/call", "params": { "name": "recall", "_meta": meta } });
        let own = [
            ("mcp-method", "tools/call"),
            ("mcp-name", "recall"),
            ("mcp-protocol-version", "2026-07-28"),
        ];
        check(&call, Some("2025-06-18"), &own);
        let read = json!({ "method": "resources/read", "params": { "uri": "bethink://ü", "_meta": meta } });
        let coded = [
            ("mcp-method", "resources/read"),
            ("mcp-name", "=?base64?YmV0aGluazovL8O8?="),
            ("mcp-protocol-version", "2026-07-28"),
        ];
        check(&read, None, &coded);
        let list = json!({ "method": "tools/list", "params": { "_meta": meta } });
        check(
            &list,
            None,
            &[own[0], own[2]].map(|(name, value)| {
                (name, if name == "mcp-method" { "tools/list" } else { value })
            }),
        );
    }

    #[test]
    fn an_origin_is_a_path_in_any_letters() {
        let origin = McpOrigin::new(Path::new("/home/ü/my app"), Some("last")).unwrap();
        assert_eq!(origin.0[PROJECT].as_bytes(), "/home/ü/my app".as_bytes());
        assert_eq!(origin.0[SESSION], "last");
        assert!(McpOrigin::new(Path::new("/a\nb"), None).is_none());
    }

    #[test]
    fn nothing_leaves_its_header() {
        for value in ["a\r\nx-evil: 1", " a", "=?base64?YQ==?=", "\u{0}", "ü"] {
            let carried = header_value(value);
            assert!(carried.starts_with("=?base64?") && HeaderValue::from_str(&carried).is_ok());
        }
        assert_eq!(header_value("plain name"), "plain name");
    }
}
