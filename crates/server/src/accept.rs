//! The accept loops: every connection is counted, timed and drained.
//!
//! axum's own loop is not enough: it sets no timer, so half-sent request heads stay forever; it has no connection limit;
//! and at shutdown it waits for streams without end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse;
use bethink_config::DaemonSettings;
use http_body_util::{BodyExt, Collected};
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::serve_connection;
use crate::guard::Listener;
use crate::listen::is_own_user;
use crate::problem::{HttpFailure, ProblemSort};

/// Pause after an accept failed for lack of descriptors or memory: long enough not to spin, short enough not to be
/// noticed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How many connections over the limit get an error answer at a time; further ones are closed without one.
const MAX_TURNED_AWAY: usize = 32;

/// Time that such a connection has to take the answer.
const TURN_AWAY: Duration = Duration::from_secs(1);

/// Dropping a connection takes no time. This only limits a handler that does not yield.
const AFTER_DEADLINE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Connections {
    router: Router,
    http: http1::Builder,
    free: Arc<Semaphore>,
    turned_away: Arc<Semaphore>,
    tasks: TaskTracker,
    /// No new connections, and no new requests on old ones.
    stop: CancellationToken,
    /// Drops what remains.
    kill: CancellationToken,
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
            .header_read_timeout(Duration::from_millis(settings.header_timeout_ms));
        let cap = usize::try_from(settings.max_connections).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            router,
            http,
            free: Arc::new(Semaphore::new(cap.min(Semaphore::MAX_PERMITS))),
            turned_away: Arc::new(Semaphore::new(MAX_TURNED_AWAY)),
            tasks,
            stop,
            kill: CancellationToken::new(),
            drain: Duration::from_millis(settings.drain_ms),
        }
    }

    /// Accepts connections until the server is stopped.
    pub(crate) async fn accept_tcp(&self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
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

    /// Accepts connections of the daemon's own user until the stop.
    pub(crate) async fn accept_unix(&self, listener: UnixListener) {
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if is_own_user(&stream) => {
                    self.take(stream, Listener::Socket);
                }
                Ok(_) => tracing::warn!("refused a connection of another user at the socket"),
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
        tracing::warn!(connections = self.tasks.len(), "closed connections at the drain deadline");
        self.kill.cancel();
        if tokio::time::timeout(AFTER_DEADLINE, self.tasks.wait()).await.is_err() {
            tracing::error!(
                connections = self.tasks.len(),
                "connections are still busy after the drain"
            );
        }
    }

    fn take<S>(&self, stream: S, door: Listener)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Ok(place) = self.free.clone().try_acquire_owned() else {
            return self.turn_away(stream);
        };
        let connection = serve_connection(
            self.http.clone(),
            self.router.clone(),
            stream,
            door,
            self.stop.clone(),
            self.kill.clone(),
        );
        self.tasks.spawn(async move {
            let gauge = metrics::gauge!("bethink_http_connections");
            gauge.increment(1);
            connection.await;
            gauge.decrement(1);
            drop(place);
        });
    }

    /// Answers why, and reads what was already sent: closing with unread bytes would reset the connection and lose the
    /// answer.
    fn turn_away<S>(&self, mut stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        tracing::warn!("the connection limit is reached");
        let Ok(place) = self.turned_away.clone().try_acquire_owned() else { return };
        self.tasks.spawn(async move {
            let farewell = async {
                stream.write_all(&busy().await).await?;
                stream.shutdown().await?;
                let mut sink = [0; 4096];
                while stream.read(&mut sink).await? > 0 {}
                io::Result::Ok(())
            };
            // Best effort: a client that does not read is closed.
            if let Ok(Err(error)) = tokio::time::timeout(TURN_AWAY, farewell).await {
                tracing::debug!(%error, "a client over the cap did not take its answer");
            }
            drop(place);
        });
    }

    async fn pause_after(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        tracing::error!(%error, "could not accept a connection");
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(ACCEPT_PAUSE) => {}
        }
    }
}

/// The answer over the limit, as bytes: it is written before any request is read.
async fn busy() -> Vec<u8> {
    let failure =
        HttpFailure::new(ProblemSort::Busy, "all connections are taken; try again in a moment");
    let (parts, body) = failure.into_response().into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let mut head = format!("HTTP/1.1 {}\r\n", parts.status);
    for (name, value) in &parts.headers {
        head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or("")));
    }
    head.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", body.len()));
    [head.as_bytes(), &body].concat()
}

#[cfg(test)]
mod tests;
