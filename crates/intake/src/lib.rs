//! The body of a request, read whole: within its limit, and not waited for without end.
//!
//! Owns what every entrance does alike. Leaves to each how a refusal is worded and put into its own protocol.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt;
use tokio::time::timeout;

/// Longest pause within a body. A local client has what it sends; half a minute is a stuck one.
const PAUSE: Duration = Duration::from_secs(30);

/// Time for reading the rest of a body that is refused; a gigabyte over loopback.
const DISCARD: Duration = Duration::from_secs(2);

/// Reserved at most before the first byte came: a `Content-Length` is only a claim.
const RESERVE: u64 = 1 << 20;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error("the body has at least {actual} bytes, {limit} are allowed")]
    TooLarge { limit: u64, actual: u64 },
    #[error("no byte of the body came for {seconds} seconds")]
    Stuck { seconds: u64 },
    #[error("the body ended after {length} bytes, before its end")]
    CutOff { length: usize },
}

/// The whole body; refused as soon as it is known to be over `limit` bytes, by its `Content-Length` or by count.
pub async fn whole(mut body: Body, headers: &HeaderMap, limit: u64) -> Result<Bytes, Unread> {
    let claimed = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if let Some(actual) = claimed.filter(|claimed| *claimed > limit) {
        // Who waits to be told whether to send has sent nothing.
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

/// Reads on for a moment beside the answer: one that is sent while the client still writes is lost to it when the
/// connection closes on unread bytes.
fn discard(mut body: Body) {
    tokio::spawn(async move {
        let rest = async { while let Some(Ok(_)) = body.frame().await {} };
        if timeout(DISCARD, rest).await.is_err() {
            tracing::debug!("the rest of a body was too much to read for nothing");
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
