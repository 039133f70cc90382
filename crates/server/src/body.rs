//! Reads a request body within its limits, and parses JSON with errors that name the field.

use axum::body::Body;
use axum::extract::{FromRef, FromRequest, Request};
use bethink_intake::{BodyRoom, ReceivedBody, Unread};
use bethink_service::{ErrorKind, Receipt, ServiceError};
use bethink_transcript::json;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use crate::app::Limits;
use crate::idempotency;
use crate::problem::{HttpFailure, ProblemSort};

/// The hint for a body of messages that is too large.
const FEWER_MESSAGES: &str = "send fewer messages at a time, or raise max_body_bytes in [daemon]";

/// The body of a request, and its idempotency key. The body is within its size limit, valid UTF-8, and not nested too
/// deeply.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) key: Option<Receipt>,
    body: Bytes,
    /// Held until the request is answered.
    _room: BodyRoom,
}

impl Sent {
    /// Checks the syntax, and returns the JSON text as it was sent.
    pub(crate) fn text(&self) -> Result<Bytes, HttpFailure> {
        object::<IgnoredAny>(&self.body)?;
        Ok(self.body.clone())
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, HttpFailure> {
        object(&self.body)
    }

    /// Parses the body of a request whose fields are all optional: an empty body means all defaults.
    pub(crate) fn json_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, HttpFailure> {
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
    type Rejection = HttpFailure;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpFailure> {
        let UncheckedBody { key, body, room } = UncheckedBody::from_request(request, state).await?;
        check_text(&body, Limits::from_ref(state).depth)?;
        Ok(Self { key, body, _room: room })
    }
}

/// The body of a request, and its idempotency key. Only the size of the body has been checked; the service checks the
/// text while parsing it.
#[derive(Debug)]
pub(crate) struct UncheckedBody {
    pub(crate) key: Option<Receipt>,
    pub(crate) body: Bytes,
    pub(crate) room: BodyRoom,
}

impl<S> FromRequest<S> for UncheckedBody
where
    S: Send + Sync,
    Limits: FromRef<S>,
{
    type Rejection = HttpFailure;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpFailure> {
        let limit = Limits::from_ref(state).body_bytes;
        let (parts, body) = request.into_parts();
        let key = idempotency::key(&parts.headers)?;
        let ReceivedBody { bytes: body, room } = read(body, &parts, limit, FEWER_MESSAGES).await?;
        if !body.is_empty() {
            check_media_type(&parts.headers)?;
        }
        let key = key.map(|key| idempotency::with_fingerprint(key, &parts, &body));
        Ok(Self { key, body, room })
    }
}

/// Checks that a body is a JSON object in valid UTF-8, nested at most `depth` levels deep.
pub(crate) fn check_object(body: &[u8], depth: usize) -> Result<(), HttpFailure> {
    check_text(body, depth)?;
    object::<IgnoredAny>(body).map(drop)
}

/// Reads the whole body, and refuses it as soon as it exceeds `limit` bytes; `smaller` is the hint in that error.
pub(crate) async fn read(
    body: Body,
    parts: &Parts,
    limit: u64,
    smaller: &'static str,
) -> Result<ReceivedBody, HttpFailure> {
    bethink_intake::whole(body, parts, limit).await.map_err(|unread| match unread {
        Unread::TooLarge { limit, actual } => {
            HttpFailure::new(ErrorKind::TooLarge, unread.to_string())
                .bounded(limit, actual)
                .hint(smaller)
        }
        Unread::Stuck { .. } => HttpFailure::new(ProblemSort::BodyTimeout, unread.to_string()),
        Unread::CutOff { .. } => HttpFailure::new(ProblemSort::BodyCutOff, unread.to_string()),
        Unread::Busy => HttpFailure::new(ProblemSort::Busy, unread.to_string()),
    })
}

/// Returns whether the `Content-Type` says that the body is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"))
}

/// Checks that a body is valid UTF-8, nested at most `depth` levels deep.
pub(crate) fn check_text(body: &[u8], depth: usize) -> Result<(), HttpFailure> {
    if let Err(error) = std::str::from_utf8(body) {
        let offset = error.valid_up_to();
        let detail = format!("the body is not valid UTF-8 at byte offset {offset}");
        return Err(HttpFailure::new(ProblemSort::InvalidUtf8, detail));
    }
    let actual = json::depth(body);
    if actual > depth {
        let detail =
            format!("the body is nested {actual} levels deep; at most {depth} levels are allowed");
        return Err(
            HttpFailure::new(ProblemSort::TooDeep, detail).bounded(depth as u64, actual as u64)
        );
    }
    Ok(())
}

/// Parses a body, which must be an object. Without this check, serde would also accept an array for a struct.
pub(crate) fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, HttpFailure> {
    if body.trim_ascii_start().first() == Some(&b'{') {
        return parse(body);
    }
    parse::<IgnoredAny>(body)?;
    Err(HttpFailure::field("body", "the body must be a JSON object"))
}

/// Answers 400 for invalid JSON, and 422 with the name of the field for a value of the wrong type.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, HttpFailure> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        json_failure(&error.into_inner(), &path)
    })?;
    deserializer.end().map_err(|error| json_failure(&error, ""))?;
    Ok(value)
}

fn json_failure(error: &serde_json::Error, path: &str) -> HttpFailure {
    // serde_json reports a number that is too large for its type as a syntax error.
    let out_of_range = error.to_string().starts_with("number out of range");
    if error.classify() != Category::Data && !out_of_range {
        return HttpFailure::new(
            ProblemSort::InvalidJson,
            format!("the body is not valid JSON: {error}"),
        );
    }
    ServiceError::of_json(path, &error.to_string(), "body").into()
}

fn check_media_type(headers: &HeaderMap) -> Result<(), HttpFailure> {
    match media_type(headers) {
        Some(kind) if !is_json(headers) => {
            let detail =
                format!("the content type is {kind:?}; this route accepts application/json");
            Err(HttpFailure::new(ProblemSort::UnsupportedMediaType, detail))
        }
        _ => Ok(()),
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?;
    let kind = value.to_str().unwrap_or("unreadable").split(';').next()?;
    Some(kind.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_api::{AppendRequest, ContextRequest, CreateSession, Todos};
    use bethink_intake::BodyBudget;
    use http::header::CONTENT_LENGTH;

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

    /// Creates the head of a request with this `Content-Length`.
    fn head(claimed: Option<u64>) -> Parts {
        let mut request = Request::new(Body::empty());
        if let Some(claimed) = claimed {
            request.headers_mut().insert(CONTENT_LENGTH, claimed.into());
        }
        request.into_parts().0
    }

    #[tokio::test]
    async fn a_body_over_its_limit_is_refused_by_claim_and_by_count() {
        let read = async |body: &'static str, claimed| {
            read(Body::from(body), &head(claimed), 4, "less").await.map(|received| received.bytes)
        };
        assert_eq!(read("1234", None).await.unwrap(), "1234");
        let problem = read("12345", None).await.unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.limit, problem.actual), (413, Some(4), Some(5)));
        let problem = read("", Some(99)).await.unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.limit, problem.actual), (413, Some(4), Some(99)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_a_timeout() {
        let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, axum::Error>>());
        let failure = read(body, &head(None), 4, "less").await.unwrap_err();
        assert_eq!(failure.problem().status, 408);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_cut_off() {
        let parts = [Ok(Bytes::from("{\"a")), Err(axum::Error::new("reset"))];
        let body = Body::from_stream(futures_util::stream::iter(parts));
        let failure = read(body, &head(None), 99, "less").await.unwrap_err();
        assert_eq!(failure.slug(), "body_cut_off");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_without_room_may_be_sent_again() {
        let mut parts = head(Some(1 << 20));
        parts.extensions.insert(BodyBudget::new(1 << 20));
        let first = read(Body::empty(), &parts, 1 << 20, "less").await.unwrap();
        let failure = read(Body::empty(), &parts, 1 << 20, "less").await.unwrap_err();
        assert_eq!((failure.problem().status, failure.slug()), (503, "busy"));
        let answer = axum::response::IntoResponse::into_response(failure);
        assert!(answer.headers().contains_key(http::header::RETRY_AFTER));
        drop(first);
    }
}
