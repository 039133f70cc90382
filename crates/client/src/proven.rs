//! Connections over TCP that are only used once the program at the other end has proved to be the daemon.
//!
//! The question is asked on each new connection, before anything else is sent on it. One check for a whole connection
//! pool would not be enough, because another program may accept the next connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bethink_credentials::Nonce;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tower::{BoxError, Layer, Service};

use crate::exchange;
use crate::proof::{ExpectedDaemon, MOST_PROOF_BYTES};

/// Makes a connector ask for a proof on each new connection.
#[derive(Clone, Debug)]
pub(crate) struct ProofLayer(Arc<ExpectedDaemon>);

impl ProofLayer {
    pub(crate) fn new(daemon: ExpectedDaemon) -> Self {
        Self(Arc::new(daemon))
    }
}

/// A connector whose connections lead to the daemon.
#[derive(Clone, Debug)]
pub(crate) struct ProvenConnector<S> {
    inner: S,
    daemon: Arc<ExpectedDaemon>,
}

impl<S> Layer<S> for ProofLayer {
    type Service = ProvenConnector<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ProvenConnector { inner, daemon: Arc::clone(&self.0) }
    }
}

impl<S, R> Service<R> for ProvenConnector<S>
where
    S: Service<R, Error = BoxError>,
    S::Response: Send + 'static,
    S::Future: Send + 'static,
    TokioIo<S::Response>: AsyncRead + AsyncWrite + Unpin,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let (connecting, daemon) = (self.inner.call(target), Arc::clone(&self.daemon));
        Box::pin(async move {
            let mut stream = TokioIo::new(connecting.await?);
            ask(&mut stream, &daemon).await?;
            Ok(stream.into_inner())
        })
    }
}

async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    daemon: &ExpectedDaemon,
) -> Result<(), BoxError> {
    let nonce = Nonce::random();
    stream.write_all(daemon.question(&nonce).as_bytes()).await?;
    stream.flush().await?;
    let mut answer = Vec::new();
    while !exchange::is_whole(&answer) && answer.len() < MOST_PROOF_BYTES {
        if stream.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    Ok(daemon.check(&nonce, &answer)?)
}
