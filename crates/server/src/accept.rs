//! The accept loops: every connection is counted, timed and drained.
//!
//! axum's own loop is not enough: it sets no timer, so connections with half-sent request heads stay open forever; it
//! has no connection limit; and at shutdown it waits for endless streams.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bethink_config::DaemonSettings;
use bethink_intake::BodyBudget;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::ConnectionServer;
use crate::guard::Listener;
use crate::listen::is_own_user;
use crate::places::Places;
use crate::refusal::Refusals;

/// Pause after `accept` fails, for example for lack of file descriptors. The pause prevents a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long to wait for dropped connections to end. Only a handler that does not yield takes that long.
const AFTER_DEADLINE: Duration = Duration::from_secs(1);

/// Maximum size of each of a connection's two buffers: one for the request head that is being read, and one for the
/// part of an answer or event stream that the client has not read yet. A head has a few thousand bytes. With hyper's
/// default of 400 KB, connections whose clients do not read could take 200 MB in total.
const BUFFER_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Connections {
    server: Arc<ConnectionServer>,
    places: Arc<Places>,
    tasks: TaskTracker,
    drain: Duration,
}

impl Connections {
    pub(crate) fn new(
        router: Router,
        settings: &DaemonSettings,
        stop: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(settings.header_timeout_ms))
            .max_buf_size(BUFFER_BYTES);
        let server = ConnectionServer {
            http,
            router,
            bodies: BodyBudget::new(settings.in_flight_bytes),
            refusals: Refusals::new(),
            stop,
            kill: CancellationToken::new(),
        };
        Self {
            server: Arc::new(server),
            places: Places::new(settings.max_connections),
            tasks,
            drain: Duration::from_millis(settings.drain_ms),
        }
    }

    /// Accepts connections until the server is stopped.
    pub(crate) async fn accept_tcp(&self, listener: TcpListener) {
        let next = async || {
            self.places.admission().await;
            listener.accept().await
        };
        loop {
            let accepted = tokio::select! {
                () = self.server.stop.cancelled() => return,
                accepted = next() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Answers are written in one piece, so waiting to fill a segment would only delay them.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "could not set TCP_NODELAY");
                    }
                    self.take(stream, Listener::Tcp);
                }
                Err(error) => self.pause_after(&error).await,
            }
        }
    }

    /// Accepts connections of the daemon's own user until the server is stopped.
    pub(crate) async fn accept_unix(&self, listener: UnixListener) {
        loop {
            let accepted = tokio::select! {
                () = self.server.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if is_own_user(&stream) => {
                    self.take(stream, Listener::Socket);
                }
                Ok(_) => tracing::warn!("refused another user's connection to the socket"),
                Err(error) => self.pause_after(&error).await,
            }
        }
    }

    /// Waits for requests under way until the deadline, then drops the rest.
    pub(crate) async fn drain(&self) {
        self.tasks.close();
        if tokio::time::timeout(self.drain, self.tasks.wait()).await.is_ok() {
            return;
        }
        tracing::warn!(
            connections = self.tasks.len(),
            "closed connections at the shutdown deadline"
        );
        self.server.kill.cancel();
        if tokio::time::timeout(AFTER_DEADLINE, self.tasks.wait()).await.is_err() {
            tracing::error!(
                connections = self.tasks.len(),
                "some connections are still open after the shutdown deadline"
            );
        }
    }

    fn take<S>(&self, stream: S, listener: Listener)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (server, place) = (Arc::clone(&self.server), self.places.enter(listener));
        self.tasks.spawn(async move {
            let Some(place) = place else { return server.refusals.refuse(stream).await };
            let gauge = metrics::gauge!("bethink_http_connections");
            gauge.increment(1);
            server.serve(stream, place).await;
            gauge.decrement(1);
        });
    }

    async fn pause_after(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        tracing::error!(%error, "could not accept a connection");
        tokio::select! {
            () = self.server.stop.cancelled() => {}
            () = tokio::time::sleep(ACCEPT_PAUSE) => {}
        }
    }
}

#[cfg(test)]
mod tests;
