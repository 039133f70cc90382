//! A request that changes something: it runs once per `Idempotency-Key`, and runs to completion even if the client
//! disconnects.

use axum::extract::{FromRequest, Request};
use bethink_daemon::Daemon;
use bethink_service::ServiceError;
use http::StatusCode;
use serde::Serialize;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body::Sent;
use crate::idempotency::once;
use crate::problem::HttpFailure;

/// The body of a request, and the daemon to apply it to.
#[derive(Debug)]
pub(crate) struct Change {
    app: ServerState,
    pub(crate) sent: Sent,
}

impl FromRequest<ServerState> for Change {
    type Rejection = HttpFailure;

    async fn from_request(request: Request, app: &ServerState) -> Result<Self, HttpFailure> {
        Ok(Self { app: app.clone(), sent: Sent::from_request(request, app).await? })
    }
}

impl Change {
    /// Runs `work` and answers with its result.
    pub(crate) async fn done<T, F>(self, work: impl FnOnce(Daemon) -> F) -> Reply
    where
        T: Serialize,
        F: Future<Output = Result<T, ServiceError>> + Send + 'static,
    {
        self.done_as(StatusCode::OK, work).await
    }

    pub(crate) async fn done_as<T, F>(
        self,
        status: StatusCode,
        work: impl FnOnce(Daemon) -> F,
    ) -> Reply
    where
        T: Serialize,
        F: Future<Output = Result<T, ServiceError>> + Send + 'static,
    {
        // On the heap, because the futures of a handler would become too large.
        let work = Box::pin(work(self.app.daemon.clone()));
        once(&self.app, self.sent.key, async move { HttpAnswer::with(status, &work.await?) }).await
    }

    /// Runs `work`, which builds the answer itself.
    pub(crate) async fn answered<F>(self, work: impl FnOnce(Daemon) -> F) -> Reply
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        once(&self.app, self.sent.key, Box::pin(work(self.app.daemon.clone()))).await
    }
}
