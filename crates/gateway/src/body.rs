//! Reads a client's body within its limit.

use axum::body::Body;
use bethink_intake::Unread;
use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};

use crate::fault::GatewayFault;

/// Reads the whole body. Fails as soon as it is known to have more than `limit` bytes.
pub(crate) async fn read(
    body: Body,
    headers: &HeaderMap,
    limit: u64,
) -> Result<Bytes, GatewayFault> {
    let plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(plain) {
        let what = "the gateway cannot read a compressed body: send it without Content-Encoding";
        return Err(GatewayFault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed_body", what));
    }
    bethink_intake::whole(body, headers, limit).await.map_err(|unread| match unread {
        Unread::TooLarge { limit, actual } => {
            let what = format!(
                "the request has at least {actual} bytes, but bethink's gateway accepts at most {limit}: send less, or raise `max_body_bytes` in [gateway]"
            );
            GatewayFault::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", what)
        }
        Unread::Stuck { .. } => {
            GatewayFault::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", unread.to_string())
        }
        Unread::CutOff { .. } => GatewayFault::invalid(unread.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use http::header::CONTENT_LENGTH;

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
