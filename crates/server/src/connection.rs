//! Serves one connection until it is closed or the daemon stops.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bethink_intake::BodyBudget;
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
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
        let mut request = request.map(Body::new);
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
            Ok(answer.map(|body| BusyBody { body, _mark: mark }))
        }
    }
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
