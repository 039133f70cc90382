//! Reads the body of a client's request, within the limit on its size.

use axum::body::Body;
use bethink_intake::{ReceivedBody, Unread};
use http::StatusCode;
use http::request::Parts;

use crate::fault::GatewayFault;

/// Reads the whole body. Fails as soon as the body is known to have more than `limit` bytes.
pub(crate) async fn read(
    body: Body,
    parts: &Parts,
    limit: u64,
) -> Result<ReceivedBody, GatewayFault> {
    bethink_intake::whole(body, parts, limit).await.map_err(|unread| match unread {
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
        Unread::Busy => GatewayFault::busy(),
    })
}

#[cfg(test)]
mod tests {
    use bethink_intake::BodyBudget;
    use bethink_model_http::Provider;
    use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue, RETRY_AFTER};

    use super::*;

    fn head(name: HeaderName, value: &'static str) -> Parts {
        let mut request = http::Request::new(());
        request.headers_mut().insert(name, HeaderValue::from_static(value));
        request.into_parts().0
    }

    async fn status(body: &'static str, parts: &Parts) -> Result<usize, u16> {
        let read = read(Body::from(body), parts, 1 << 20).await;
        read.map(|received| received.bytes.len()).map_err(|fault| fault.status.as_u16())
    }

    #[tokio::test]
    async fn a_body_is_refused_by_claim_and_by_count() {
        let plain = head(CONTENT_ENCODING, "identity");
        let counted = async |body| read(Body::from(body), &plain, 4).await;
        assert_eq!(counted("1234").await.unwrap().bytes, "1234");
        assert_eq!(counted("12345").await.unwrap_err().status, 413);
        assert_eq!(status("", &head(CONTENT_LENGTH, "2000000")).await, Err(413));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_without_room_may_be_sent_again() {
        let mut parts = head(CONTENT_LENGTH, "1000000");
        parts.extensions.insert(BodyBudget::new(1 << 20));
        let first = read(Body::empty(), &parts, 1 << 20).await.unwrap();
        let fault = read(Body::empty(), &parts, 1 << 20).await.unwrap_err();
        assert_eq!((fault.status.as_u16(), fault.code), (503, "busy"));
        assert!(fault.answer(Provider::Anthropic).headers().contains_key(RETRY_AFTER));
        drop(first);
    }
}
