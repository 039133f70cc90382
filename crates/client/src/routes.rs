//! One method per route, with its request and the type of its answer.

use bethink_api as api;
use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::client::Client;
use crate::error::ClientError;

type Result<T> = std::result::Result<T, ClientError>;

/// The answer to `POST …/context`: the body of the next model call, and a report of what it contains.
#[derive(Debug, Deserialize)]
pub struct Context {
    pub system: Option<Box<RawValue>>,
    pub messages: Box<RawValue>,
    pub tools: Option<Box<RawValue>>,
    pub report: api::ContextReport,
}

impl Client {
    /// Creates a URL that logs in one browser tab.
    pub async fn launch_dashboard(&self) -> Result<api::Launch> {
        self.post("v1/dashboard/launch").await
    }

    /// Replaces the daemon's token. This client keeps the old token, so it can send no more requests unless it uses the socket.
    pub async fn rotate_token(&self) -> Result<()> {
        let request = self.request(Method::POST, self.at("v1/token/rotate"));
        self.body(request).await.map(drop)
    }

    /// Returns the base URLs for clients of a provider.
    pub async fn gateway(&self) -> Result<api::GatewayAddresses> {
        self.get("v1/gateway", &()).await
    }

    // sessions

    pub async fn create_session(&self, session: &api::CreateSession) -> Result<api::Session> {
        self.send(Method::POST, "v1/sessions", session).await
    }

    pub async fn sessions(&self, query: &api::SessionQuery) -> Result<api::SessionsPage> {
        self.get("v1/sessions", query).await
    }

    pub async fn session(&self, id: Uuid) -> Result<api::Session> {
        self.get(&format!("v1/sessions/{id}"), &()).await
    }

    pub async fn patch_session(&self, id: Uuid, patch: &api::PatchSession) -> Result<api::Session> {
        self.send(Method::PATCH, &format!("v1/sessions/{id}"), patch).await
    }

    pub async fn delete_session(&self, id: Uuid) -> Result<()> {
        let url = self.at(&format!("v1/sessions/{id}"));
        self.body(self.request(Method::DELETE, url)).await.map(drop)
    }

    pub async fn fork(&self, id: Uuid, fork: &api::ForkRequest) -> Result<api::Session> {
        self.send(Method::POST, &format!("v1/sessions/{id}/fork"), fork).await
    }

    pub async fn projects(&self) -> Result<api::Projects> {
        self.get("v1/projects", &()).await
    }

    // messages

    /// Appends messages, which are on disk when this returns.
    pub async fn append(&self, id: Uuid, messages: &api::AppendRequest) -> Result<api::Appended> {
        self.send(Method::POST, &format!("v1/sessions/{id}/messages"), messages).await
    }

    pub async fn messages(&self, id: Uuid, query: &api::MessageQuery) -> Result<api::MessagesPage> {
        self.get(&format!("v1/sessions/{id}/messages"), query).await
    }

    /// Returns a part of a message's text.
    pub async fn message_text(&self, id: Uuid, query: &api::TextQuery) -> Result<api::MessageText> {
        self.get(&format!("v1/sessions/{id}/text"), query).await
    }

    /// Searches the history of a session.
    pub async fn search(&self, id: Uuid, query: &api::SearchQuery) -> Result<api::SearchHits> {
        self.get(&format!("v1/sessions/{id}/search"), query).await
    }

    /// Searches the history of a project's sessions, or of all sessions.
    pub async fn search_sessions(
        &self,
        project_dir: Option<&str>,
        query: &api::SearchQuery,
    ) -> Result<api::SearchHits> {
        let request = self.request(Method::GET, self.at("v1/search"));
        let request = request.query(&[("project_dir", project_dir)]).query(query);
        self.json("GET /v1/search", request).await
    }

    /// Rebuilds the search index of a session from its history.
    pub async fn rebuild_search(&self, id: Uuid) -> Result<api::Job> {
        self.post(&format!("v1/sessions/{id}/search/rebuild")).await
    }

    // context

    pub async fn context(&self, id: Uuid, request: &api::ContextRequest) -> Result<Context> {
        self.send(Method::POST, &format!("v1/sessions/{id}/context"), request).await
    }

    /// Returns what fills the context window. Changes nothing.
    pub async fn report(&self, id: Uuid) -> Result<api::ContextReport> {
        self.get(&format!("v1/sessions/{id}/context/report"), &()).await
    }

    pub async fn count(&self, id: Uuid) -> Result<api::PromptCount> {
        self.get(&format!("v1/sessions/{id}/context/count"), &()).await
    }

    // compactions

    pub async fn compact(&self, id: Uuid, how: &api::CompactRequest) -> Result<api::Compaction> {
        self.send(Method::POST, &format!("v1/sessions/{id}/compact"), how).await
    }

    pub async fn recover(&self, id: Uuid, said: &api::RecoverRequest) -> Result<api::Recovered> {
        self.send(Method::POST, &format!("v1/sessions/{id}/recover"), said).await
    }

    pub async fn compactions(&self, id: Uuid) -> Result<api::Compactions> {
        self.get(&format!("v1/sessions/{id}/compactions"), &()).await
    }

    pub async fn undo(&self, id: Uuid, compaction: Uuid) -> Result<api::Compaction> {
        self.post(&format!("v1/sessions/{id}/compactions/{compaction}/undo")).await
    }

    /// Returns the messages that a summary replaces. If `q` is set, returns only the messages that match it; a line of the
    /// summary matches the messages that it refers to.
    pub async fn expand(
        &self,
        id: Uuid,
        compaction: Uuid,
        query: &api::ExpandQuery,
    ) -> Result<api::Expanded> {
        self.get(&format!("v1/sessions/{id}/compactions/{compaction}/expand"), query).await
    }

    pub async fn collapses(&self, id: Uuid) -> Result<api::Collapses> {
        self.get(&format!("v1/sessions/{id}/collapses"), &()).await
    }

    /// Returns the messages that the text of a collapsed span replaces. If `q` is set, returns only the messages that match
    /// it; a line of the text matches the messages that it refers to.
    pub async fn expand_collapse(
        &self,
        id: Uuid,
        collapse: Uuid,
        query: &api::ExpandQuery,
    ) -> Result<api::Expanded> {
        self.get(&format!("v1/sessions/{id}/collapses/{collapse}/expand"), query).await
    }

    // todos, files and jobs

    pub async fn todos(&self, id: Uuid) -> Result<api::Todos> {
        self.get(&format!("v1/sessions/{id}/todos"), &()).await
    }

    pub async fn put_todos(&self, id: Uuid, todos: &api::Todos) -> Result<api::Todos> {
        self.send(Method::PUT, &format!("v1/sessions/{id}/todos"), todos).await
    }

    /// Imports a file that the daemon reads itself: `path` is absolute and on the daemon's machine.
    pub async fn import_path(&self, import: &api::ImportRequest) -> Result<api::Job> {
        self.send(Method::POST, "v1/import", import).await
    }

    pub async fn export(&self, id: Uuid) -> Result<Bytes> {
        let url = self.at(&format!("v1/sessions/{id}/export"));
        let response = self.open(self.stream(Method::GET, url)).await?;
        Ok(Bytes { client: self.clone(), response })
    }

    /// Starts a job whose result is an [`api::DreamResult`].
    pub async fn dream(&self, request: &api::DreamRequest) -> Result<api::Job> {
        self.send(Method::POST, "v1/dream", request).await
    }

    pub async fn job(&self, id: Uuid) -> Result<api::Job> {
        self.get(&format!("v1/jobs/{id}"), &()).await
    }

    // the team

    /// Returns the state of a project's team memory. With `ask`, the daemon checks whether the remote can be reached.
    pub async fn team(&self, project_dir: &str, ask: bool) -> Result<api::TeamStatus> {
        let query = api::TeamQuery { project_dir: project_dir.to_owned(), ask };
        self.get("v1/team", &query).await
    }

    pub async fn team_init(&self, init: &api::TeamInit) -> Result<api::TeamSync> {
        self.send(Method::POST, "v1/team/init", init).await
    }

    pub async fn team_sync(&self, sync: &api::TeamSyncRequest) -> Result<api::TeamSync> {
        self.send(Method::POST, "v1/team/sync", sync).await
    }

    pub async fn pause(&self, request: &api::PauseRequest) -> Result<api::RecordingStatus> {
        self.send(Method::POST, "v1/recording/pause", request).await
    }

    pub async fn resume(&self) -> Result<api::RecordingStatus> {
        self.post("v1/recording/resume").await
    }

    /// Returns the waiting candidates, or all of them.
    pub async fn candidates(&self, project_dir: &str, all: bool) -> Result<api::Candidates> {
        let query = api::CandidateQuery { project_dir: project_dir.to_owned(), all };
        self.get("v1/candidates", &query).await
    }

    pub async fn keep_candidate(
        &self,
        id: Uuid,
        keep: &api::KeepCandidate,
    ) -> Result<api::MemoryWritten> {
        self.send(Method::POST, &format!("v1/candidates/{id}/keep"), keep).await
    }

    pub async fn drop_candidate(&self, id: Uuid) -> Result<api::Candidate> {
        self.post(&format!("v1/candidates/{id}/drop")).await
    }

    /// Returns the open proposals, or all of them.
    pub async fn proposals(&self, project_dir: &str, all: bool) -> Result<api::Proposals> {
        let query = api::ProposalQuery { project_dir: Some(project_dir.to_owned()), all };
        self.get("v1/proposals", &query).await
    }

    pub async fn propose(&self, propose: &api::Propose) -> Result<api::DecidedProposal> {
        self.send(Method::POST, "v1/proposals", propose).await
    }

    pub async fn approve(
        &self,
        id: Uuid,
        approval: &api::Approval,
    ) -> Result<api::DecidedProposal> {
        self.send(Method::POST, &format!("v1/proposals/{id}/approve"), approval).await
    }

    pub async fn reject(&self, id: Uuid, why: &api::Rejecting) -> Result<api::DecidedProposal> {
        self.send(Method::POST, &format!("v1/proposals/{id}/reject"), why).await
    }

    /// Proposes a private topic.
    pub async fn share(&self, share: &api::ShareMemory) -> Result<api::DecidedProposal> {
        self.send(Method::POST, "v1/memories/share", share).await
    }

    pub async fn resolve(&self, resolve: &api::ResolveConflict) -> Result<api::ConflictResolved> {
        self.send(Method::POST, "v1/team/resolve", resolve).await
    }

    // instructions

    /// Returns the instruction files that are loaded for a working directory, by default the project's.
    pub async fn instructions(
        &self,
        project_dir: &str,
        cwd: Option<&str>,
        touched: &[String],
    ) -> Result<api::InstructionChain> {
        let mut query = vec![("project_dir", Some(project_dir)), ("cwd", cwd)];
        query.extend(touched.iter().map(|path| ("touched", Some(path.as_str()))));
        self.get("v1/instructions", &query).await
    }

    pub async fn approve_import(&self, file: &api::ApproveImport) -> Result<api::ImportApproval> {
        self.send(Method::POST, "v1/instructions/approve", file).await
    }

    pub async fn revoke_import(&self, file: &api::ApproveImport) -> Result<api::ImportApproval> {
        self.send(Method::POST, "v1/instructions/revoke", file).await
    }

    // models

    /// Returns the configured model, and whether it can be used.
    pub async fn model(&self) -> Result<api::ModelState> {
        self.get("v1/model", &()).await
    }

    pub async fn usage(&self, query: &api::UsageQuery) -> Result<api::Usage> {
        self.get("v1/usage", query).await
    }
}

/// A long body, read in parts.
#[derive(Debug)]
pub struct Bytes {
    client: Client,
    response: Response,
}

impl Bytes {
    /// Returns the next part; `None` at the end. A broken connection is an error, so that a partial export is never
    /// taken for a complete one.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        match self.response.chunk().await {
            Ok(chunk) => Ok(chunk.map(Into::into)),
            Err(error) => Err(self.client.incomplete_response(&error).await),
        }
    }
}
