//! Reads a client's body within its limit.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, EXPECT};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::fault::Fault;
use crate::limits::{BODY_PAUSE, DISCARD, RESERVE};

/// The whole body; refused as soon as it is known to be over `limit` bytes.
pub(crate) async fn read(mut body: Body, headers: &HeaderMap, limit: u64) -> Result<Bytes, Fault> {
    refuse_compressed(headers)?;
    let claimed = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if let Some(claimed) = claimed.filter(|claimed| *claimed > limit) {
        // Who waits to be told sends nothing.
        if !headers.contains_key(EXPECT) {
            discard(body);
        }
        return Err(too_large(limit, claimed));
    }
    let reserve = usize::try_from(claimed.unwrap_or(0).min(RESERVE)).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(reserve);
    loop {
        let Ok(frame) = timeout(BODY_PAUSE, body.frame()).await else {
            let what = format!("no byte of the body came for {} seconds", BODY_PAUSE.as_secs());
            return Err(Fault::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", what));
        };
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let Ok(frame) = frame else {
            let what = format!("the body ended after {} bytes, before its end", whole.len());
            return Err(Fault::invalid(what));
        };
        let Ok(data) = frame.into_data() else { continue };
        let length = whole.len() as u64 + data.len() as u64;
        if length > limit {
            discard(body);
            return Err(too_large(limit, length));
        }
        whole.extend_from_slice(&data);
    }
}

fn refuse_compressed(headers: &HeaderMap) -> Result<(), Fault> {
    let plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        return Ok(());
    }
    let what =
        "the body is compressed, which the gateway can't read: send it without Content-Encoding";
    Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed_body", what))
}

/// Reads on beside the answer: one that is sent while the client still writes is lost to it when the connection
/// closes on unread bytes.
fn discard(mut body: Body) {
    tokio::spawn(async move {
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        if timeout(DISCARD, rest).await.is_err() {
            tracing::debug!("the rest of a body was too much to read for nothing");
        }
    });
}

fn too_large(limit: u64, actual: u64) -> Fault {
    let what = format!(
        "the request has at least {actual} bytes, bethink's gateway takes {limit}: send less, or raise max_body_bytes in [gateway]"
    );
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_is_refused_by_claim_and_by_count() {
        let mut headers = HeaderMap::new();
        assert_eq!(read(Body::from("1234"), &headers, 4).await.unwrap(), "1234");
        assert_eq!(read(Body::from("12345"), &headers, 4).await.unwrap_err().status, 413);
        headers.insert(CONTENT_LENGTH, 99.into());
        assert_eq!(read(Body::empty(), &headers, 4).await.unwrap_err().status, 413);
    }

    #[tokio::test]
    async fn a_compressed_body_is_refused() {
        let headers = |value: &'static str| {
            HeaderMap::from_iter([(CONTENT_ENCODING, http::HeaderValue::from_static(value))])
        };
        assert_eq!(read(Body::from("x"), &headers("zstd"), 4).await.unwrap_err().status, 415);
        assert_eq!(read(Body::from("x"), &headers("Identity"), 4).await.unwrap(), "x");
    }
}
