//! Reads a request body within its limits, and JSON out of it with errors that name the field.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRef, FromRequest, Request};
use bethink_daemon::IdempotencyKey;
use bethink_transcript::json;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use crate::app::Limits;
use crate::idempotency;
use crate::problem::{Failure, Sort};

/// Longest pause within a body. A local client has what it sends; half a minute is a stuck one.
const PAUSE: Duration = Duration::from_secs(30);

/// Time for reading the rest of a body that is refused; a gigabyte over loopback.
const DISCARD: Duration = Duration::from_secs(2);

/// Reserved at most before the first byte came: a `Content-Length` is only a claim.
const RESERVE: u64 = 1 << 20;

/// What to do about a body of messages that is too large.
const FEWER_MESSAGES: &str =
    "send fewer messages at a time, or raise the limit in the [daemon] section";

/// The body of a mutation, within its limits, valid UTF-8 and not too deep; with its key.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) key: Option<IdempotencyKey>,
    body: Bytes,
}

impl Sent {
    /// The JSON text as it came, its syntax checked.
    pub(crate) fn text(&self) -> Result<Bytes, Failure> {
        object::<IgnoredAny>(&self.body)?;
        Ok(self.body.clone())
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        object(&self.body)
    }

    /// For requests of which every field is optional: an empty body asks for all defaults.
    pub(crate) fn json_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, Failure> {
        if self.body.trim_ascii().is_empty() {
            return Ok(T::default());
        }
        object(&self.body)
    }
}

impl<S> FromRequest<S> for Sent
where
    S: Send + Sync,
    Limits: FromRef<S>,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let limits = Limits::from_ref(state);
        let (parts, body) = request.into_parts();
        let key = idempotency::key(&parts.headers)?;
        let body = read(body, &parts.headers, limits.body_bytes, FEWER_MESSAGES).await?;
        if !body.is_empty() {
            check_media_type(&parts.headers)?;
        }
        check_text(&body, limits.depth)?;
        let key = key.map(|key| idempotency::with_fingerprint(key, &parts, &body));
        Ok(Self { key, body })
    }
}

/// The whole body, refused as soon as it is known to be over `limit` bytes; `smaller` tells what to do
/// then.
pub(crate) async fn read(
    mut body: Body,
    headers: &HeaderMap,
    limit: u64,
    smaller: &'static str,
) -> Result<Bytes, Failure> {
    let claimed = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if let Some(claimed) = claimed.filter(|claimed| *claimed > limit) {
        discard(body).await;
        return Err(too_large(limit, claimed, smaller));
    }
    let reserve = usize::try_from(claimed.unwrap_or(0).min(RESERVE)).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(reserve);
    loop {
        let Ok(frame) = tokio::time::timeout(PAUSE, body.frame()).await else {
            let detail = format!("no byte of the body came for {} seconds", PAUSE.as_secs());
            return Err(Failure::new(Sort::BodyTimeout, detail));
        };
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let frame = frame.map_err(|error| cut_off(whole.len(), &error))?;
        let Ok(data) = frame.into_data() else { continue };
        let length = whole.len() as u64 + data.len() as u64;
        if length > limit {
            discard(body).await;
            return Err(too_large(limit, length, smaller));
        }
        whole.extend_from_slice(&data);
    }
}

/// Reads on for a moment: an answer that is sent while the client still writes is lost to it when
/// the connection closes on unread bytes.
async fn discard(mut body: Body) {
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    if tokio::time::timeout(DISCARD, rest).await.is_err() {
        tracing::debug!("the rest of a body was too much to read for nothing");
    }
}

/// Is the body JSON by its `Content-Type`?
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"))
}

/// Valid UTF-8, nested at most `depth` deep.
pub(crate) fn check_text(body: &[u8], depth: usize) -> Result<(), Failure> {
    if let Err(error) = std::str::from_utf8(body) {
        let offset = error.valid_up_to();
        let detail = format!("the byte at offset {offset} of the body is not UTF-8");
        return Err(Failure::new(Sort::InvalidUtf8, detail));
    }
    let actual = json::depth(body);
    if actual > depth {
        let detail = format!("the body nests {actual} arrays and objects, {depth} are allowed");
        return Err(Failure::new(Sort::TooDeep, detail).bounded(depth as u64, actual as u64));
    }
    Ok(())
}

/// An object, as every request body of ours is. serde would take an array for a struct too, its
/// members by position.
pub(crate) fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    if body.trim_ascii_start().first() == Some(&b'{') {
        return parse(body);
    }
    parse::<IgnoredAny>(body)?;
    Err(Failure::field("body", "the body is JSON, and no object; an object is wanted"))
}

/// JSON that cannot be read is a 400, a value of the wrong type a 422 with its field.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        json_failure(&error.into_inner(), &path)
    })?;
    deserializer.end().map_err(|error| json_failure(&error, ""))?;
    Ok(value)
}

fn json_failure(error: &serde_json::Error, path: &str) -> Failure {
    let path = if path == "." { "" } else { path };
    // serde_json counts a number that no type can hold among the faults of syntax.
    let out_of_range = error.to_string().starts_with("number out of range");
    if error.classify() != Category::Data && !out_of_range {
        return Failure::new(Sort::InvalidJson, format!("the body is not JSON: {error}"));
    }
    let message = error.to_string();
    let field = match missing(&message) {
        Some(name) if path.is_empty() => name.to_owned(),
        Some(name) => format!("{path}.{name}"),
        None if path.is_empty() => "body".to_owned(),
        None => path.to_owned(),
    };
    Failure::field(field, message)
}

/// serde names a missing field in its message and its parent in the path.
fn missing(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Failure> {
    match media_type(headers) {
        Some(kind) if !is_json(headers) => {
            let detail = format!("the body is {kind:?}; this route takes application/json");
            Err(Failure::new(Sort::UnsupportedMediaType, detail))
        }
        _ => Ok(()),
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?;
    let kind = value.to_str().unwrap_or("unreadable").split(';').next()?;
    Some(kind.trim().to_ascii_lowercase())
}

fn too_large(limit: u64, actual: u64, smaller: &'static str) -> Failure {
    let detail = format!("the body has at least {actual} bytes, {limit} are allowed");
    Failure::new(Sort::TooLarge, detail).bounded(limit, actual).hint(smaller)
}

fn cut_off(length: usize, error: &axum::Error) -> Failure {
    tracing::debug!(%error, length, "a body was cut off");
    Failure::new(Sort::BodyCutOff, format!("the body ended after {length} bytes, before its end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_api::{AppendRequest, ContextRequest, CreateSession, Todos};

    fn check<T: DeserializeOwned + std::fmt::Debug>(body: &str, status: u16, field: Option<&str>) {
        let failure = object::<T>(body.as_bytes()).expect_err(body);
        let problem = failure.problem();
        assert_eq!(problem.status, status, "{body}: {problem:?}");
        assert_eq!(problem.field.as_deref(), field, "{body}: {problem:?}");
    }

    #[test]
    fn a_wrong_value_is_named() {
        check::<CreateSession>("{}", 422, Some("project_dir"));
        check::<CreateSession>("null", 422, Some("body"));
        check::<CreateSession>("[]", 422, Some("body"));
        check::<ContextRequest>(" [[]] ", 422, Some("body"));
        check::<ContextRequest>("7", 422, Some("body"));
        check::<CreateSession>(r#"{"project_dir":7}"#, 422, Some("project_dir"));
        check::<CreateSession>(
            r#"{"project_dir":"/","model":{"name":"m","context_window":-1}}"#,
            422,
            Some("model.context_window"),
        );
        check::<CreateSession>(
            r#"{"project_dir":"/","model":{"name":"m"}}"#,
            422,
            Some("model.context_window"),
        );
        check::<bethink_api::ForkRequest>(r#"{"at_seq":1e400}"#, 422, Some("at_seq"));
        check::<Todos>(
            r#"{"todos":[{"content":"a","status":"later"}]}"#,
            422,
            Some("todos[0].status"),
        );
    }

    #[test]
    fn what_is_not_json_is_400() {
        for body in ["", "{", "{\"project_dir\":\"/\"", "{} x", "nul", "\"\u{1}\""] {
            let status = parse::<IgnoredAny>(body.as_bytes()).err().map(|f| f.problem().status);
            assert_eq!(status, Some(400), "{body}");
        }
        check::<CreateSession>(r#"{"project_dir":"/"}}"#, 400, None);
    }

    #[test]
    fn unknown_fields_are_taken_and_raw_json_keeps_its_bytes() {
        let text = r#"{"messages":[{"b": 1e2, "a":"\u0041"}],"later":{"x":[1]}}"#;
        let request: AppendRequest = object(text.as_bytes()).unwrap();
        assert_eq!(request.messages[0].get(), r#"{"b": 1e2, "a":"\u0041"}"#);
        let request: ContextRequest = object(br#"{"tools":[ {"name":"x"} ],"new":1}"#).unwrap();
        assert_eq!(request.tools.unwrap().get(), r#"[ {"name":"x"} ]"#);
    }

    #[test]
    fn text_is_utf8_and_shallow() {
        let problem = check_text(b"{\"a\":\"\xff\"}", 8).unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.kind.as_str()), (400, "invalid_utf8"));
        assert!(problem.detail.contains("offset 6"), "{}", problem.detail);
        let deep = "[".repeat(10_000);
        let problem = check_text(deep.as_bytes(), 128).unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.kind.as_str()), (422, "too_deep"));
        assert_eq!((problem.limit, problem.actual), (Some(128), Some(10_000)));
        assert!(check_text("[[\"ä\"]]".as_bytes(), 2).is_ok());
    }

    #[tokio::test]
    async fn a_body_over_its_limit_is_refused_by_claim_and_by_count() {
        let mut headers = HeaderMap::new();
        assert_eq!(read(Body::from("1234"), &headers, 4, "less").await.unwrap(), "1234");
        let problem =
            read(Body::from("12345"), &headers, 4, "less").await.unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.limit, problem.actual), (413, Some(4), Some(5)));
        headers.insert(CONTENT_LENGTH, 99.into());
        let problem = read(Body::empty(), &headers, 4, "less").await.unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.limit, problem.actual), (413, Some(4), Some(99)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_a_timeout() {
        let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, axum::Error>>());
        let failure = read(body, &HeaderMap::new(), 4, "less").await.unwrap_err();
        assert_eq!(failure.problem().status, 408);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_cut_off() {
        let parts = [Ok(Bytes::from("{\"a")), Err(axum::Error::new("reset"))];
        let body = Body::from_stream(futures_util::stream::iter(parts));
        let failure = read(body, &HeaderMap::new(), 99, "less").await.unwrap_err();
        assert_eq!(failure.slug(), "body_cut_off");
    }
}
