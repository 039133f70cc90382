//! Reads the body of a request, within limits of size and time, and within a budget of bytes for all requests.
//!
//! The API, the gateway and MCP use this crate, and each formats the errors for its own protocol.

mod budget;

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, EXPECT};
use http::request::Parts;
use http_body_util::BodyExt;
use tokio::time::timeout;

pub use budget::{BodyBudget, BodyRoom};

/// Maximum time between two pieces of a body. A local client that takes longer is stuck.
const PAUSE: Duration = Duration::from_secs(30);

/// Time limit for reading and discarding the rest of a body: enough for many large bodies at the same time.
const DISCARD: Duration = Duration::from_secs(30);

/// Maximum time between two pieces of a discarded body.
const DISCARD_PAUSE: Duration = Duration::from_secs(2);

/// Maximum number of bytes to allocate in advance, because a `Content-Length` may be wrong.
const RESERVE: u64 = 1 << 20;

/// Seconds after which a client may retry a request for which there was no room.
pub const RETRY_SECONDS: u64 = 1;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error("the body has at least {actual} bytes; the limit is {limit}")]
    TooLarge { limit: u64, actual: u64 },
    #[error("no more of the body arrived within {seconds} seconds")]
    Stuck { seconds: u64 },
    #[error("the body was cut off after {length} bytes")]
    CutOff { length: usize },
    #[error("the daemon is handling too many large requests; try again in {RETRY_SECONDS} s")]
    Busy,
}

/// The whole body of a request.
#[derive(Debug)]
pub struct ReceivedBody {
    pub bytes: Bytes,
    /// Must be held until the request is handled, because the body is in memory until then.
    pub room: BodyRoom,
}

/// Reads the whole body. Fails as soon as its `Content-Length` or the number of bytes received exceeds `limit`.
///
/// A large body waits for room in the [`BodyBudget`] among the request's extensions, if there is one.
pub async fn whole(mut body: Body, parts: &Parts, limit: u64) -> Result<ReceivedBody, Unread> {
    let header = parts.headers.get(CONTENT_LENGTH);
    let claimed = header.and_then(|v| v.to_str().ok()?.parse::<u64>().ok()).unwrap_or(0);
    if claimed > limit {
        refuse(body, parts);
        return Err(Unread::TooLarge { limit, actual: claimed });
    }
    let mut room = BodyRoom::of(parts.extensions.get().cloned());
    if !room.grow(claimed).await {
        refuse(body, parts);
        return Err(Unread::Busy);
    }
    let mut whole = BytesMut::with_capacity(usize::try_from(claimed.min(RESERVE)).unwrap_or(0));
    loop {
        let Ok(frame) = timeout(PAUSE, body.frame()).await else {
            return Err(Unread::Stuck { seconds: PAUSE.as_secs() });
        };
        let Some(frame) = frame else {
            return Ok(ReceivedBody { bytes: whole.freeze(), room });
        };
        let frame = frame.map_err(|error| {
            tracing::debug!(%error, length = whole.len(), "a request body was cut off");
            Unread::CutOff { length: whole.len() }
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let actual = whole.len() as u64 + data.len() as u64;
        if actual > limit {
            discard(body);
            return Err(Unread::TooLarge { limit, actual });
        }
        // Without a `Content-Length`, a body takes its room as it arrives.
        if !room.grow(actual).await {
            discard(body);
            return Err(Unread::Busy);
        }
        whole.extend_from_slice(&data);
    }
}

/// Discards a body of which nothing was read. A client that sends `Expect` waits for permission, so it sends nothing.
fn refuse(body: Body, parts: &Parts) {
    if !parts.headers.contains_key(EXPECT) {
        discard(body);
    }
}

/// Reads the rest of a rejected body in the background. Closing a connection that has unread bytes would reset the
/// connection, and the client would lose the response.
fn discard(mut body: Body) {
    tokio::spawn(async move {
        let rest =
            async { while let Ok(Some(Ok(_))) = timeout(DISCARD_PAUSE, body.frame()).await {} };
        if timeout(DISCARD, rest).await.is_err() {
            tracing::debug!("stopped discarding the rest of a rejected request body");
        }
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Creates the head of a request with this `Content-Length`.
    fn parts(claimed: Option<u64>, budget: Option<&BodyBudget>) -> Parts {
        let mut request = http::Request::new(());
        if let Some(claimed) = claimed {
            request.headers_mut().insert(CONTENT_LENGTH, claimed.into());
        }
        if let Some(budget) = budget {
            request.extensions_mut().insert(budget.clone());
        }
        request.into_parts().0
    }

    async fn read(body: Body, claimed: Option<u64>, limit: u64) -> Result<Bytes, Unread> {
        whole(body, &parts(claimed, None), limit).await.map(|received| received.bytes)
    }

    /// Creates a body in pieces of `PIECE` bytes, without a `Content-Length`.
    fn in_pieces(count: usize) -> Body {
        let piece = Bytes::from(vec![b' '; PIECE]);
        let pieces = vec![Ok::<_, Infallible>(piece); count];
        Body::from_stream(futures_util::stream::iter(pieces))
    }

    const PIECE: usize = 50 << 10;
    /// Room for two pieces, in addition to small bodies, which do not count.
    const BUDGET: u64 = 200 << 10;
    const LIMIT: u64 = 1 << 30;

    #[tokio::test]
    async fn a_body_over_its_limit_is_refused_by_claim_and_by_count() {
        assert_eq!(read(Body::from("1234"), None, 4).await.unwrap(), "1234");
        let counted = read(Body::from("12345"), None, 4).await;
        assert_eq!(counted, Err(Unread::TooLarge { limit: 4, actual: 5 }));
        let claimed = read(Body::empty(), Some(99), 4).await;
        assert_eq!(claimed, Err(Unread::TooLarge { limit: 4, actual: 99 }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_given_up() {
        let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, axum::Error>>());
        assert_eq!(read(body, None, 4).await, Err(Unread::Stuck { seconds: 30 }));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_cut_off() {
        let parts = [Ok(Bytes::from("{\"a")), Err(axum::Error::new("reset"))];
        let body = Body::from_stream(futures_util::stream::iter(parts));
        assert_eq!(read(body, None, 99).await, Err(Unread::CutOff { length: 3 }));
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_wait_for_room_and_small_ones_pass() {
        let budget = BodyBudget::new(BUDGET);
        let large = parts(Some(BUDGET - 1), Some(&budget));
        let first = whole(Body::empty(), &large, LIMIT).await.unwrap();
        assert_eq!(whole(Body::empty(), &large, LIMIT).await.unwrap_err(), Unread::Busy);
        let small = parts(Some(budget::FREE), Some(&budget));
        assert!(whole(Body::empty(), &small, LIMIT).await.is_ok(), "a small one does not wait");
        let (second, ()) = tokio::join!(whole(Body::empty(), &large, LIMIT), async {
            tokio::task::yield_now().await;
            drop(first);
        });
        assert!(second.is_ok(), "the next one gets the room that the first one leaves");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_without_a_length_takes_room_as_it_arrives() {
        let budget = BodyBudget::new(BUDGET);
        let unknown = parts(None, Some(&budget));
        let one = whole(in_pieces(1), &unknown, LIMIT).await.unwrap();
        let three = whole(in_pieces(3), &unknown, LIMIT).await.unwrap();
        assert_eq!((one.bytes.len(), three.bytes.len()), (PIECE, 3 * PIECE));
        assert_eq!(whole(in_pieces(3), &unknown, LIMIT).await.unwrap_err(), Unread::Busy);
        drop(three);
        assert!(whole(in_pieces(3), &unknown, LIMIT).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_larger_than_the_budget_is_admitted_alone() {
        let budget = BodyBudget::new(BUDGET);
        let huge = parts(Some(9 * BUDGET), Some(&budget));
        let alone = whole(in_pieces(9), &huge, LIMIT).await.unwrap();
        let large = parts(Some(BUDGET / 2), Some(&budget));
        assert_eq!(whole(Body::empty(), &large, LIMIT).await.unwrap_err(), Unread::Busy);
        drop(alone);
        assert!(whole(Body::empty(), &large, LIMIT).await.is_ok());
        assert_eq!(
            whole(in_pieces(9), &parts(None, Some(&budget)), LIMIT).await.unwrap().bytes.len(),
            9 * PIECE
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_given_up_leaves_its_room() {
        let budget = BodyBudget::new(BUDGET);
        let large = parts(Some(BUDGET), Some(&budget));
        let endless =
            Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>());
        let reading = timeout(Duration::from_secs(1), whole(endless, &large, LIMIT)).await;
        assert!(reading.is_err(), "the client disconnects meanwhile");
        assert!(whole(Body::empty(), &large, LIMIT).await.is_ok());
    }
}
