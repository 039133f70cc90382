//! Sessions in a separate home, without other services.

use std::sync::Arc;

use bethink_config::Settings;
use bethink_model::Model;
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::{JobHandler, JobRunner, ServiceContext};
use bethink_service_testing as testing;
use bethink_transcript::SessionId;
use serde_json::{Value, json};

use crate::collapse::CollapseJob;
use crate::forks::ForkCheckJob;
use crate::service::SessionService;

/// Sessions in a separate home, with a worker.
pub(crate) struct SessionsHome {
    pub(crate) cx: ServiceContext,
    pub(crate) sessions: SessionService,
    runner: JobRunner,
}

impl SessionsHome {
    pub(crate) async fn open(settings: Settings) -> Self {
        Self::open_with(settings, None).await
    }

    pub(crate) async fn open_with(settings: Settings, model: Option<Arc<dyn Model>>) -> Self {
        let cx = testing::context_with(settings).await;
        let models = ModelService::open(cx.clone(), model).await.unwrap();
        let search = SearchService::new(cx.clone());
        let sessions = SessionService::new(cx.clone(), models, search.clone());
        let handlers: Vec<Arc<dyn JobHandler>> = vec![
            Arc::new(ForkCheckJob(sessions.clone())),
            Arc::new(CollapseJob(sessions.clone())),
            Arc::new(search),
        ];
        let runner = JobRunner::new(cx.clone(), handlers);
        runner.release().await.unwrap();
        cx.spawn(runner.clone().work());
        Self { cx, sessions, runner }
    }

    pub(crate) async fn close(self) {
        self.cx.stop().await;
        self.runner.release().await.unwrap();
        self.cx.store().close().await.unwrap();
    }

    /// Creates a session with these messages.
    pub(crate) async fn session(&self, messages: &[Value]) -> SessionId {
        let request = serde_json::from_value(json!({ "project_dir": "/project" })).unwrap();
        let id = SessionId(self.sessions.create_session(request, None).await.unwrap().id);
        if !messages.is_empty() {
            self.append(id, messages).await;
        }
        id
    }

    pub(crate) async fn append(&self, id: SessionId, messages: &[Value]) {
        let body = json!({ "messages": messages }).to_string();
        self.sessions.append(id, body.into(), None).await.unwrap();
    }
}
