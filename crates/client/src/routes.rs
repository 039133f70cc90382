//! One method a route, in the order of the contract. Each is a sentence: what to ask, of what, and
//! the type of the answer.

use bethink_api as api;
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::client::Client;
use crate::error::ClientError;

type Result<T> = std::result::Result<T, ClientError>;

/// Which sessions to list; newest first.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    pub project_dir: Option<String>,
    pub q: Option<String>,
    pub tag: Option<String>,
    pub limit: Option<usize>,
    pub cursor: Option<String>,
}

/// Which messages of a session to read.
#[derive(Clone, Debug, Default)]
pub struct MessageQuery {
    pub after_seq: Option<u64>,
    pub before_seq: Option<u64>,
    pub limit: Option<usize>,
}

/// What to search for, and where hits may be.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    pub q: String,
    pub limit: Option<usize>,
    pub role: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    /// RFC 3339.
    pub after: Option<String>,
    pub before: Option<String>,
}

impl SearchQuery {
    fn parameters(&self) -> Vec<(&'static str, Option<String>)> {
        vec![
            ("q", Some(self.q.clone())),
            ("limit", self.limit.map(|n| n.to_string())),
            ("role", self.role.clone()),
            ("tool", self.tool.clone()),
            ("path", self.path.clone()),
            ("after", self.after.clone()),
            ("before", self.before.clone()),
        ]
    }
}

/// Which calls of models to sum up.
#[derive(Clone, Debug, Default)]
pub struct UsageQuery {
    pub session: Option<Uuid>,
    /// RFC 3339, or a day.
    pub since: Option<String>,
    /// The sums of each session apart.
    pub by_session: bool,
}

/// `POST …/context`: the body of the next model call, and what it was made of.
#[derive(Debug, Deserialize)]
pub struct Context {
    pub system: Option<Box<RawValue>>,
    pub messages: Box<RawValue>,
    pub tools: Option<Box<RawValue>>,
    pub report: api::ContextReport,
}

/// What of a session is kept across compactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    Plan,
    Skills,
    Agents,
    Tools,
    Files,
    Instructions,
    Hooks,
}

impl StateKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Skills => "skills",
            Self::Agents => "agents",
            Self::Tools => "tools",
            Self::Files => "files",
            Self::Instructions => "instructions",
            Self::Hooks => "hooks",
        }
    }
}

impl Client {
    /// An address that logs one browser in.
    pub async fn launch_dashboard(&self) -> Result<api::Launch> {
        let url = self.at(&["v1", "dashboard", "launch"]);
        self.json("POST /v1/dashboard/launch", self.request(Method::POST, url)).await
    }

    /// Where a provider's client is pointed to.
    pub async fn gateway(&self) -> Result<api::GatewayAddresses> {
        let url = self.at(&["v1", "gateway"]);
        self.json("GET /v1/gateway", self.request(Method::GET, url)).await
    }

    /// Prometheus text.
    pub async fn metrics(&self) -> Result<String> {
        let body = self.body(self.request(Method::GET, self.at(&["metrics"]))).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    pub async fn openapi(&self) -> Result<Value> {
        self.get(&["openapi.json"], &[]).await
    }

    // sessions

    pub async fn create_session(&self, session: &api::CreateSession) -> Result<api::Session> {
        self.send(Method::POST, &["v1", "sessions"], session).await
    }

    pub async fn sessions(&self, query: &SessionQuery) -> Result<api::SessionsPage> {
        let query = query.clone();
        let parameters = [
            ("project_dir", query.project_dir),
            ("q", query.q),
            ("tag", query.tag),
            ("limit", query.limit.map(|n| n.to_string())),
            ("cursor", query.cursor),
        ];
        self.get(&["v1", "sessions"], &parameters).await
    }

    pub async fn session(&self, id: Uuid) -> Result<api::Session> {
        self.get(&["v1", "sessions", &id.to_string()], &[]).await
    }

    pub async fn patch_session(&self, id: Uuid, patch: &api::PatchSession) -> Result<api::Session> {
        self.send(Method::PATCH, &["v1", "sessions", &id.to_string()], patch).await
    }

    pub async fn delete_session(&self, id: Uuid) -> Result<()> {
        let url = self.at(&["v1", "sessions", &id.to_string()]);
        self.body(self.request(Method::DELETE, url)).await.map(drop)
    }

    pub async fn fork(&self, id: Uuid, fork: &api::ForkRequest) -> Result<api::Session> {
        self.send(Method::POST, &["v1", "sessions", &id.to_string(), "fork"], fork).await
    }

    pub async fn projects(&self) -> Result<api::Projects> {
        self.get(&["v1", "projects"], &[]).await
    }

    // messages

    /// Durable when this returns.
    pub async fn append(&self, id: Uuid, messages: &api::AppendRequest) -> Result<api::Appended> {
        self.send(Method::POST, &["v1", "sessions", &id.to_string(), "messages"], messages).await
    }

    pub async fn messages(&self, id: Uuid, query: &MessageQuery) -> Result<api::MessagesPage> {
        let parameters = [
            ("after_seq", query.after_seq.map(|n| n.to_string())),
            ("before_seq", query.before_seq.map(|n| n.to_string())),
            ("limit", query.limit.map(|n| n.to_string())),
        ];
        self.get(&["v1", "sessions", &id.to_string(), "messages"], &parameters).await
    }

    /// All history of a session.
    pub async fn search(&self, id: Uuid, query: &SearchQuery) -> Result<api::SearchHits> {
        self.get(&["v1", "sessions", &id.to_string(), "search"], &query.parameters()).await
    }

    /// All history of a project's sessions.
    pub async fn search_project(
        &self,
        project_dir: &str,
        query: &SearchQuery,
    ) -> Result<api::SearchHits> {
        let mut parameters = vec![("project_dir", Some(project_dir.to_owned()))];
        parameters.extend(query.parameters());
        self.get(&["v1", "search"], &parameters).await
    }

    /// Makes the index of a session anew, from its history.
    pub async fn rebuild_search(&self, id: Uuid) -> Result<api::Job> {
        let path = ["v1", "sessions", &id.to_string(), "search", "rebuild"];
        self.send(Method::POST, &path, &serde_json::json!({})).await
    }

    // context

    pub async fn context(&self, id: Uuid, request: &api::ContextRequest) -> Result<Context> {
        self.send(Method::POST, &["v1", "sessions", &id.to_string(), "context"], request).await
    }

    /// Changes nothing.
    pub async fn report(&self, id: Uuid) -> Result<api::ContextReport> {
        self.get(&["v1", "sessions", &id.to_string(), "context", "report"], &[]).await
    }

    pub async fn count(&self, id: Uuid) -> Result<api::PromptCount> {
        self.get(&["v1", "sessions", &id.to_string(), "context", "count"], &[]).await
    }

    // compactions

    pub async fn compact(&self, id: Uuid, how: &api::CompactRequest) -> Result<api::Compaction> {
        self.send(Method::POST, &["v1", "sessions", &id.to_string(), "compact"], how).await
    }

    pub async fn recover(&self, id: Uuid, said: &api::RecoverRequest) -> Result<api::Recovered> {
        self.send(Method::POST, &["v1", "sessions", &id.to_string(), "recover"], said).await
    }

    pub async fn compactions(&self, id: Uuid) -> Result<api::Compactions> {
        self.get(&["v1", "sessions", &id.to_string(), "compactions"], &[]).await
    }

    pub async fn undo(&self, id: Uuid, compaction: Uuid) -> Result<api::Compaction> {
        let (id, compaction) = (id.to_string(), compaction.to_string());
        let url = self.at(&["v1", "sessions", &id, "compactions", &compaction, "undo"]);
        self.json("POST …/undo", self.request(Method::POST, url)).await
    }

    /// The messages behind a summary; with `q` those that it is about.
    pub async fn expand(
        &self,
        id: Uuid,
        compaction: Uuid,
        q: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<api::Expanded> {
        let (id, compaction) = (id.to_string(), compaction.to_string());
        let parameters = [("q", q.map(str::to_owned)), ("cursor", cursor.map(str::to_owned))];
        self.get(&["v1", "sessions", &id, "compactions", &compaction, "expand"], &parameters).await
    }

    pub async fn collapses(&self, id: Uuid) -> Result<api::Collapses> {
        self.get(&["v1", "sessions", &id.to_string(), "collapses"], &[]).await
    }

    /// The messages behind a collapsed span; with `q` those that it is about.
    pub async fn expand_collapse(
        &self,
        id: Uuid,
        collapse: Uuid,
        q: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<api::Expanded> {
        let (id, collapse) = (id.to_string(), collapse.to_string());
        let parameters = [("q", q.map(str::to_owned)), ("cursor", cursor.map(str::to_owned))];
        self.get(&["v1", "sessions", &id, "collapses", &collapse, "expand"], &parameters).await
    }

    // state

    pub async fn todos(&self, id: Uuid) -> Result<api::Todos> {
        self.get(&["v1", "sessions", &id.to_string(), "todos"], &[]).await
    }

    pub async fn put_todos(&self, id: Uuid, todos: &api::Todos) -> Result<api::Todos> {
        self.send(Method::PUT, &["v1", "sessions", &id.to_string(), "todos"], todos).await
    }

    /// `T` is the kind's type in `bethink_api::state`; the answer is what is kept now.
    pub async fn put_state<T>(&self, id: Uuid, kind: StateKind, state: &T) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let path = ["v1", "sessions", &id.to_string(), "state", kind.as_str()];
        self.send(Method::PUT, &path, state).await
    }

    // files and jobs

    /// The daemon reads the file itself: `path` is absolute and on the daemon's machine.
    pub async fn import_path(&self, import: &api::ImportRequest) -> Result<api::Job> {
        self.send(Method::POST, &["v1", "import"], import).await
    }

    pub async fn import_body(&self, jsonl: Vec<u8>) -> Result<api::Job> {
        let request = self
            .request(Method::POST, self.at(&["v1", "import"]))
            .header("Content-Type", "application/x-ndjson")
            .body(jsonl);
        self.json("POST /v1/import", request).await
    }

    pub async fn export(&self, id: Uuid) -> Result<Bytes> {
        let url = self.at(&["v1", "sessions", &id.to_string(), "export"]);
        let response = self.open(self.stream(Method::GET, url)).await?;
        Ok(Bytes { client: self.clone(), response })
    }

    /// The job's result is a [`api::DreamResult`].
    pub async fn dream(&self, request: &api::DreamRequest) -> Result<api::Job> {
        self.send(Method::POST, &["v1", "dream"], request).await
    }

    pub async fn job(&self, id: Uuid) -> Result<api::Job> {
        self.get(&["v1", "jobs", &id.to_string()], &[]).await
    }

    // the team

    /// With `ask`, the daemon asks the remote whether it answers.
    pub async fn team(&self, project_dir: &str, ask: bool) -> Result<api::TeamStatus> {
        let parameters = [
            ("project_dir", Some(project_dir.to_owned())),
            ("ask", ask.then(|| "true".to_owned())),
        ];
        self.get(&["v1", "team"], &parameters).await
    }

    pub async fn team_init(&self, init: &api::TeamInit) -> Result<api::TeamSync> {
        self.send(Method::POST, &["v1", "team", "init"], init).await
    }

    pub async fn team_sync(&self, sync: &api::TeamSyncRequest) -> Result<api::TeamSync> {
        self.send(Method::POST, &["v1", "team", "sync"], sync).await
    }

    /// Those that wait, or all.
    pub async fn proposals(&self, project_dir: &str, all: bool) -> Result<api::Proposals> {
        let parameters = [
            ("project_dir", Some(project_dir.to_owned())),
            ("all", all.then(|| "true".to_owned())),
        ];
        self.get(&["v1", "proposals"], &parameters).await
    }

    pub async fn propose(&self, propose: &api::Propose) -> Result<api::Decided> {
        self.send(Method::POST, &["v1", "proposals"], propose).await
    }

    pub async fn approve(&self, id: Uuid, approval: &api::Approval) -> Result<api::Decided> {
        self.send(Method::POST, &["v1", "proposals", &id.to_string(), "approve"], approval).await
    }

    pub async fn reject(&self, id: Uuid) -> Result<api::Decided> {
        let url = self.at(&["v1", "proposals", &id.to_string(), "reject"]);
        self.json("POST …/reject", self.request(Method::POST, url)).await
    }

    // instructions

    /// The files that count for a working directory; the project's own by default.
    pub async fn instructions(
        &self,
        project_dir: &str,
        cwd: Option<&str>,
        touched: &[String],
    ) -> Result<api::InstructionChain> {
        let project = ("project_dir", Some(project_dir.to_owned()));
        let mut parameters = vec![project, ("cwd", cwd.map(str::to_owned))];
        parameters.extend(touched.iter().map(|path| ("touched", Some(path.clone()))));
        self.get(&["v1", "instructions"], &parameters).await
    }

    pub async fn approve_import(&self, file: &api::ApproveImport) -> Result<api::ImportApproval> {
        self.send(Method::POST, &["v1", "instructions", "approve"], file).await
    }

    pub async fn revoke_import(&self, file: &api::ApproveImport) -> Result<api::ImportApproval> {
        self.send(Method::POST, &["v1", "instructions", "revoke"], file).await
    }

    // models

    /// Which model is asked, and whether it can be.
    pub async fn model(&self) -> Result<api::ModelState> {
        self.get(&["v1", "model"], &[]).await
    }

    pub async fn usage(&self, query: &UsageQuery) -> Result<api::Usage> {
        let parameters = [
            ("session", query.session.map(|id| id.to_string())),
            ("since", query.since.clone()),
            ("by", query.by_session.then(|| "session".to_owned())),
        ];
        self.get(&["v1", "usage"], &parameters).await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, Option<String>)],
    ) -> Result<T> {
        let request = self.request(Method::GET, self.asking(path, query));
        self.json(&format!("GET /{}", path.join("/")), request).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T> {
        let what = format!("{method} /{}", path.join("/"));
        self.json(&what, self.request(method, self.at(path)).json(body)).await
    }
}

/// A long body, read as it comes.
#[derive(Debug)]
pub struct Bytes {
    client: Client,
    response: Response,
}

impl Bytes {
    /// The next stretch; `None` at the end. A connection that breaks early is an error, so that
    /// half an export is never taken for a whole one.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let chunk = self.response.chunk().await.map_err(|error| self.client.broken(&error))?;
        Ok(chunk.map(Into::into))
    }
}
