//! The accept loops: every connection is counted, timed and drained.
//!
//! axum's own loop is not enough: it sets no timer, so half-sent request heads stay forever; it has no connection
//! limit; and at shutdown it waits for endless streams.

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

/// Pause after `accept` failed, such as for lack of file descriptors. It prevents a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Maximum number of connections over the limit that are answered at the same time. Further ones are closed without an
/// answer.
const MAX_TURNED_AWAY: usize = 32;

/// Time limit for that answer.
const TURN_AWAY: Duration = Duration::from_secs(1);

/// How long to wait for dropped connections to end. Only a handler that does not yield takes that long.
const AFTER_DEADLINE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Connections {
    router: Router,
    http: http1::Builder,
    free: Arc<Semaphore>,
    turned_away: Arc<Semaphore>,
    tasks: TaskTracker,
    /// After this, no connection and no further request is accepted.
    stop: CancellationToken,
    /// After this, the remaining connections are dropped.
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

    /// Accepts connections of the daemon's own user until the server is stopped.
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
                Ok(_) => tracing::warn!("refused a connection of another user to the socket"),
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

    /// Answers with an error, and reads what the client has already sent. Otherwise closing would reset the connection,
    /// and the client would not receive the answer.
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
                tracing::debug!(%error, "could not send an error to a client over the connection limit");
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

/// The answer to a connection over the limit, as bytes, because it is written before any request is read.
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
