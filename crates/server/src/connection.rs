//! Serves one connection until it is closed or the daemon stops.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bethink_intake::BodyBudget;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::places::ConnectionPlace;
use crate::refusal::{Refusals, TURN_AWAY, too_many};

/// How long a connection that has no request waits after a stop for a request that may be on its way. Without a limit,
/// a request head that never ends would delay the stop.
const IDLE_CLOSE: Duration = Duration::from_millis(250);

/// Maximum size of an unread body that is read before the answer is sent, in bytes.
const MAX_DRAINED: u64 = 64 << 10;

/// How long an answer waits for such a body. Clients send it right after the head.
const MAX_DRAIN_TIME: Duration = Duration::from_millis(250);

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct ConnectionServer {
    pub(crate) http: http1::Builder,
    pub(crate) router: Router,
    /// Room for the bodies of all requests.
    pub(crate) bodies: BodyBudget,
    pub(crate) refusals: Refusals,
    /// After this, no connection and no further request is accepted.
    pub(crate) stop: CancellationToken,
    /// After this, the remaining connections are dropped.
    pub(crate) kill: CancellationToken,
}

impl ConnectionServer {
    /// Serves until the client disconnects, or its place is given to a newer connection. After `stop` it accepts no
    /// further request; at `kill` it drops running ones.
    pub(crate) async fn serve<S>(&self, stream: S, place: Arc<ConnectionPlace>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let busy = Busy::default();
        let service = service_fn(|request| self.answer(request, &place, &busy));
        let mut connection = self.http.serve_connection(TokioIo::new(stream), service);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = place.must_leave() => {
                if !place.has_asked() {
                    return self.refusals.refuse(connection.into_parts().io.into_inner()).await;
                }
                Pin::new(&mut connection).graceful_shutdown();
                timeout(TURN_AWAY, connection).await.unwrap_or(Ok(()))
            }
            () = self.stop.cancelled() => {
                Pin::new(&mut connection).graceful_shutdown();
                tokio::select! {
                    ended = &mut connection => ended,
                    () = self.kill.cancelled() => return,
                    () = idle(&busy) => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection failed");
        }
    }

    /// Answers one request. If the connection's place is given away, the request is refused, unless its answer has
    /// begun.
    fn answer(
        &self,
        request: http::Request<Incoming>,
        place: &Arc<ConnectionPlace>,
        busy: &Busy,
    ) -> impl Future<Output = Result<http::Response<BusyBody>, Infallible>> + Send + use<> {
        place.note_request();
        let (place, mark) = (Arc::clone(place), Arc::clone(busy));
        let unread = UnreadBody::default();
        let slot = Arc::clone(&unread);
        let mut request =
            request.map(|body| Body::new(RequestBody { body: Some(body), unread: slot }));
        let extensions = request.extensions_mut();
        extensions.insert(place.listener());
        extensions.insert(Arc::clone(&place));
        extensions.insert(self.bodies.clone());
        let answer = self.router.clone().oneshot(request);
        async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer?,
                () = place.given_away() => too_many(),
            };
            drain(&unread).await;
            Ok(answer.map(|body| BusyBody { body, _mark: mark }))
        }
    }
}

/// The body of a request that was answered before the body was read to its end.
type UnreadBody = Arc<Mutex<Option<Incoming>>>;

/// A request's body, which is kept when it is dropped unread.
struct RequestBody {
    body: Option<Incoming>,
    unread: UnreadBody,
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Incoming::size_hint).unwrap_or_default()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        *self.unread.lock().unwrap_or_else(PoisonError::into_inner) = self.body.take();
    }
}

/// Reads a small body that nothing has read. Otherwise the connection would be closed after the answer, and a client that
/// sends the body after the head would get an error instead of the answer.
async fn drain(unread: &UnreadBody) {
    let body = unread.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut body) = body else { return };
    if body.size_hint().upper().is_none_or(|rest| rest > MAX_DRAINED) {
        return;
    }
    let read = async { while let Some(Ok(_)) = body.frame().await {} };
    // Best effort: without the rest, the connection is closed.
    let _ = timeout(MAX_DRAIN_TIME, read).await;
}

/// Every request on a connection holds a clone until its answer has been sent.
type Busy = Arc<()>;

async fn idle(busy: &Busy) {
    loop {
        tokio::time::sleep(IDLE_CLOSE).await;
        if Arc::strong_count(busy) == 1 {
            return;
        }
    }
}

/// An answer's body, which marks its connection as busy until it is sent.
struct BusyBody {
    body: Body,
    _mark: Busy,
}

impl hyper::body::Body for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
