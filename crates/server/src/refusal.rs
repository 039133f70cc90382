//! Refuses a connection for which there is no place.

use std::io;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, HeaderValue};
use http_body_util::{BodyExt, Collected};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::problem::{HttpFailure, ProblemSort};

/// Maximum number of refused connections whose requests are read at the same time, so that a flood of connections takes
/// few file descriptors.
const MAX_LINGERING: usize = 32;

/// Time limit for an answer to a refused connection.
pub(crate) const TURN_AWAY: Duration = Duration::from_secs(1);

/// Answers refused connections.
#[derive(Debug)]
pub(crate) struct Refusals {
    lingering: Semaphore,
}

impl Refusals {
    pub(crate) fn new() -> Self {
        Self { lingering: Semaphore::new(MAX_LINGERING) }
    }

    /// Answers with an error, and reads what the client has already sent. Otherwise closing would reset the connection,
    /// and a client that is still sending would not receive the answer.
    pub(crate) async fn refuse<S>(&self, mut stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        metrics::counter!("bethink_http_connections_refused_total").increment(1);
        let farewell = async {
            stream.write_all(&answer().await).await?;
            stream.shutdown().await?;
            if let Ok(_lingering) = self.lingering.try_acquire() {
                let mut sink = [0; 4096];
                while stream.read(&mut sink).await? > 0 {}
            }
            io::Result::Ok(())
        };
        // Best effort: if the client does not read, its connection is closed.
        if let Ok(Err(error)) = timeout(TURN_AWAY, farewell).await {
            tracing::debug!(%error, "could not send an error to a refused connection");
        }
    }
}

/// Returns the answer to a request whose connection is closed to make room for a newer connection.
pub(crate) fn too_many() -> Response {
    let detail = "too many connections; try again in a moment";
    let close = HeaderValue::from_static("close");
    HttpFailure::new(ProblemSort::Busy, detail).header(CONNECTION, close).into_response()
}

/// Returns the same answer as bytes, because it is written without a request.
async fn answer() -> Vec<u8> {
    let (parts, body) = too_many().into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let mut head = format!("HTTP/1.1 {}\r\n", parts.status);
    for (name, value) in &parts.headers {
        head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or("")));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    [head.as_bytes(), &body].concat()
}
