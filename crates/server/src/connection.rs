//! Serves one connection until it is closed or the daemon stops.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::guard::Listener;

/// How long a connection without a request waits, after a stop, for a request that is on its way. Without a limit, a
/// head that never ends would delay the stop.
const IDLE_CLOSE: Duration = Duration::from_millis(250);

/// Serves until the client disconnects. After `stop` it accepts no further request; at `kill` it drops running ones.
pub(crate) async fn serve_connection<S>(
    http: http1::Builder,
    router: Router,
    stream: S,
    door: Listener,
    stop: CancellationToken,
    kill: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let busy = Busy::default();
    let marks = busy.clone();
    let service = service_fn(move |request: http::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(door);
        let (answer, mark) = (router.clone().oneshot(request), marks.clone());
        async move { Ok::<_, Infallible>(answer.await?.map(|body| BusyBody { body, _mark: mark })) }
    });
    let connection = http.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = kill.cancelled() => return,
                () = idle(&busy) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection was broken");
    }
}

/// Every request of a connection has a clone until its answer is sent. Two more clones exist as long as the connection.
type Busy = Arc<()>;

async fn idle(busy: &Busy) {
    let of_connection = 2;
    loop {
        tokio::time::sleep(IDLE_CLOSE).await;
        if Arc::strong_count(busy) <= of_connection {
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
