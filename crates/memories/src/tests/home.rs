//! Starts the service with everything that it needs, in a home of its own.

use std::sync::Arc;

use bethink_api as api;
use bethink_config::Settings;
use bethink_model::Model;
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::JobRunner;
use bethink_service_testing::context_with;
use bethink_sessions::{Contributor, SessionService};
use bethink_transcript::SessionId;
use serde_json::{Value, json};

use crate::service::MemoryService;
use crate::{
    DreamJob, ExtractJob, IndexContributor, InstructionContributor, RecallContributor, VectorsJob,
};

/// Starts the service, connected as in the daemon, with its jobs running. `memories.cx.stop()` stops it.
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
pub(crate) async fn start(settings: Settings, model: Option<Arc<dyn Model>>) -> MemoryService {
    let cx = context_with(settings).await;
    let models = ModelService::open(cx.clone(), model).await.unwrap();
    let search = SearchService::new(cx.clone());
    let sessions = SessionService::new(cx.clone(), models.clone(), search);
    let memories = MemoryService::new(cx.clone(), models, sessions.clone());
    let contributors: Vec<Arc<dyn Contributor>> = vec![
        Arc::new(IndexContributor(memories.clone())),
        Arc::new(InstructionContributor(memories.clone())),
        Arc::new(RecallContributor(memories.clone())),
    ];
    let listener = memories.clone();
    sessions.connect(contributors, vec![Box::new(move |event| listener.observe(event))]);
    let runner = JobRunner::new(
        cx.clone(),
        vec![
            Arc::new(ExtractJob(memories.clone())),
            Arc::new(DreamJob(memories.clone())),
            Arc::new(VectorsJob(memories.clone())),
        ],
    );
    cx.spawn(runner.work());
    memories
}

/// Starts the service without automatic extractions: a test requests them itself, so that it knows when they are done.
pub(crate) async fn boot(home: &tempfile::TempDir) -> MemoryService {
    let mut settings = Settings::at(home.path());
    settings.memory.extraction = "off".to_owned();
    start(settings, None).await
}

pub(crate) async fn session(memories: &MemoryService) -> SessionId {
    session_in(memories, "/project").await
}

#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
pub(crate) async fn session_in(memories: &MemoryService, dir: &str) -> SessionId {
    let request = serde_json::from_value(json!({ "project_dir": dir })).unwrap();
    SessionId(memories.sessions.create_session(request, None).await.unwrap().id)
}

/// Appends messages: the first is the user's, the second the assistant's, and so on.
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
pub(crate) async fn say(memories: &MemoryService, id: SessionId, messages: &[Value]) {
    let roles = ["user", "assistant"].iter().cycle();
    let messages = messages.iter().zip(roles);
    let messages: Vec<Value> =
        messages.map(|(content, role)| json!({ "role": role, "content": content })).collect();
    let body = json!({ "messages": messages }).to_string();
    memories.sessions.append(id, body.into(), None).await.unwrap();
}

#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
pub(crate) async fn extract(memories: &MemoryService, id: SessionId) -> api::Extracted {
    memories.extract_now(id, api::ExtractRequest::default()).await.unwrap()
}
