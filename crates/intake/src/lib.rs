//! Reads the body of a request, within limits of size and time.
//!
//! Every entrance uses it, and formats the errors for its own protocol.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt;
use tokio::time::timeout;

/// Maximum time between two pieces of a body. A local client that takes longer is stuck.
const PAUSE: Duration = Duration::from_secs(30);

/// Time limit for reading and discarding the rest of a body, enough for a gigabyte over loopback.
const DISCARD: Duration = Duration::from_secs(2);

/// Maximum number of bytes to allocate in advance, because a `Content-Length` may be wrong.
const RESERVE: u64 = 1 << 20;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error("the body has at least {actual} bytes; the limit is {limit}")]
    TooLarge { limit: u64, actual: u64 },
    #[error("no more of the body arrived within {seconds} seconds")]
    Stuck { seconds: u64 },
    #[error("the body was cut off after {length} bytes")]
    CutOff { length: usize },
}

/// Reads the whole body. Fails as soon as its `Content-Length` or the bytes received exceed `limit`.
pub async fn whole(mut body: Body, headers: &HeaderMap, limit: u64) -> Result<Bytes, Unread> {
    let claimed = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if let Some(actual) = claimed.filter(|claimed| *claimed > limit) {
        // A client that sends `Expect` waits for permission, so there is nothing to discard.
        if !headers.contains_key(EXPECT) {
            discard(body);
        }
        return Err(Unread::TooLarge { limit, actual });
    }
    let reserve = usize::try_from(claimed.unwrap_or(0).min(RESERVE)).unwrap_or(0);
    let mut whole = BytesMut::with_capacity(reserve);
    loop {
        let Ok(frame) = timeout(PAUSE, body.frame()).await else {
            return Err(Unread::Stuck { seconds: PAUSE.as_secs() });
        };
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let frame = frame.map_err(|error| {
            tracing::debug!(%error, length = whole.len(), "a body was cut off");
            Unread::CutOff { length: whole.len() }
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let actual = whole.len() as u64 + data.len() as u64;
        if actual > limit {
            discard(body);
            return Err(Unread::TooLarge { limit, actual });
        }
        whole.extend_from_slice(&data);
    }
}

/// Reads the rest of a rejected body in the background. Closing a connection with unread bytes resets it, and the client
/// would lose the response.
fn discard(mut body: Body) {
    tokio::spawn(async move {
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        if timeout(DISCARD, rest).await.is_err() {
            tracing::debug!("stopped discarding the rest of a rejected body");
        }
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_over_its_limit_is_refused_by_claim_and_by_count() {
        let mut headers = HeaderMap::new();
        assert_eq!(whole(Body::from("1234"), &headers, 4).await.unwrap(), "1234");
        let counted = whole(Body::from("12345"), &headers, 4).await;
        assert_eq!(counted, Err(Unread::TooLarge { limit: 4, actual: 5 }));
        headers.insert(CONTENT_LENGTH, 99.into());
        let claimed = whole(Body::empty(), &headers, 4).await;
        assert_eq!(claimed, Err(Unread::TooLarge { limit: 4, actual: 99 }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_given_up() {
        let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, axum::Error>>());
        let read = whole(body, &HeaderMap::new(), 4).await;
        assert_eq!(read, Err(Unread::Stuck { seconds: 30 }));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_cut_off() {
        let parts = [Ok(Bytes::from("{\"a")), Err(axum::Error::new("reset"))];
        let body = Body::from_stream(futures_util::stream::iter(parts));
        let read = whole(body, &HeaderMap::new(), 99).await;
        assert_eq!(read, Err(Unread::CutOff { length: 3 }));
    }
}
