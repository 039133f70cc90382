//! Reads the response headers that errors and bodies depend on.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, RETRY_AFTER};

use crate::limits::{MAX_REQUEST_ID, MAX_WAIT};

#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseHead {
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
}

/// The content type of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Events,
    Json,
    Unspecified,
    Other(String),
}

impl ResponseHead {
    pub(crate) fn read(status: StatusCode, headers: &HeaderMap) -> Self {
        let id = ["request-id", "x-request-id"].iter().find_map(|name| text(headers, name));
        Self {
            status: Some(status.as_u16()),
            request_id: id.and_then(request_id),
            retry_after: retry_after(headers),
        }
    }
}

/// Returns the id if it is safe to store: visible ASCII of bounded length.
pub(crate) fn request_id(text: &str) -> Option<String> {
    let fits = !text.is_empty()
        && text.len() <= MAX_REQUEST_ID
        && text.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

pub(crate) fn kind(headers: &HeaderMap) -> BodyKind {
    let Some(said) = text(headers, CONTENT_TYPE.as_str()) else { return BodyKind::Unspecified };
    let kind = said.split(';').next().unwrap_or(said).trim().to_ascii_lowercase();
    match kind.as_str() {
        "text/event-stream" => BodyKind::Events,
        "application/json" => BodyKind::Json,
        json if json.ends_with("+json") => BodyKind::Json,
        _ => BodyKind::Other(kind),
    }
}

/// Returns the compression that the server used although none was requested. Such answers are rejected, because a few
/// bytes could decompress to a huge number of bytes.
pub(crate) fn encoding(headers: &HeaderMap) -> Option<String> {
    let said = headers.get(CONTENT_ENCODING)?.to_str().unwrap_or("unknown").trim();
    let plain = said.is_empty() || said.eq_ignore_ascii_case("identity");
    (!plain).then(|| said.chars().take(40).collect())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Reads the requested wait in milliseconds, in seconds, or as a date. A date is compared with the server's own `Date`
/// header if there is one.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let wait = match text(headers, "retry-after-ms").and_then(number) {
        Some(millis) => seconds(millis / 1000.0),
        None => {
            let said = text(headers, RETRY_AFTER.as_str())?;
            number(said).map_or_else(|| until(said, headers), seconds)
        }
    };
    wait.map(|wait| wait.min(MAX_WAIT))
}

/// Converts seconds to a duration; `None` for NaN and negative numbers.
fn seconds(seconds: f64) -> Option<Duration> {
    // Not `min`, which would turn NaN into a number.
    let bounded = if seconds > MAX_WAIT.as_secs_f64() { MAX_WAIT.as_secs_f64() } else { seconds };
    Duration::try_from_secs_f64(bounded).ok()
}

fn until(date: &str, headers: &HeaderMap) -> Option<Duration> {
    let read = |text: &str| rfc2822::parse(text.trim()).ok().map(|at| at.timestamp());
    let now = text(headers, DATE.as_str()).and_then(read).unwrap_or_else(Timestamp::now);
    let wait = read(date)?.duration_since(now);
    Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_wait_is_read_in_every_form_and_bounded() {
        let date = ("date", "Wed, 21 Oct 2026 07:28:00 GMT");
        let after = |value| ("retry-after", value);
        for (pairs, expect) in [
            (vec![], None),
            (vec![after("7")], Some(7_000)),
            (vec![after(" 0.25 ")], Some(250)),
            (vec![after("9"), ("retry-after-ms", "1500")], Some(1_500)),
            (vec![after("-1")], None),
            (vec![after("NaN")], None),
            (vec![after("inf")], Some(86_400_000)),
            (vec![after("1e300")], Some(86_400_000)),
            (vec![after("soon")], None),
            (vec![after("Wed, 21 Oct 2026 07:28:30 GMT"), date], Some(30_000)),
            (vec![after("Wed, 21 Oct 2026 07:00:00 GMT"), date], Some(0)),
            (vec![after("Wed, 21 Oct 2099 07:28:00 GMT"), date], Some(86_400_000)),
            (vec![after("Wed, 21 Oct 2099 07:28:00 GMT")], Some(86_400_000)),
        ] {
            let found = retry_after(&headers(&pairs)).map(|wait| wait.as_millis());
            assert_eq!(found, expect, "{pairs:?}");
        }
    }

    #[test]
    fn kinds_and_encodings() {
        for (said, expect) in [
            ("text/event-stream; charset=utf-8", BodyKind::Events),
            ("Application/JSON", BodyKind::Json),
            ("application/problem+json", BodyKind::Json),
            ("text/html", BodyKind::Other("text/html".into())),
        ] {
            assert_eq!(kind(&headers(&[("content-type", said)])), expect, "{said}");
        }
        assert_eq!(kind(&HeaderMap::new()), BodyKind::Unspecified);
        assert_eq!(encoding(&headers(&[("content-encoding", "identity")])), None);
        assert_eq!(encoding(&headers(&[("content-encoding", "gzip")])).as_deref(), Some("gzip"));
    }

    #[test]
    fn ids_are_short_and_visible() {
        let id = |value: &str| {
            ResponseHead::read(StatusCode::OK, &headers(&[("x-request-id", value)])).request_id
        };
        assert_eq!(id("req_1").as_deref(), Some("req_1"));
        assert_eq!(id("a b"), None);
        assert_eq!(id(&"x".repeat(MAX_REQUEST_ID + 1)), None);
    }
}
