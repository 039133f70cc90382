//! Memory of a project: topics as text with a tag, and what was in them before.

use bethink_api as api;
use reqwest::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Method, RequestBuilder, Url};
use uuid::Uuid;

use crate::client::Client;
use crate::error::ClientError;

type Result<T> = std::result::Result<T, ClientError>;

/// A topic of a project, as the path of a request names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRef {
    pub project_dir: String,
    /// `private` or `team`.
    pub scope: String,
    pub name: String,
}

/// A topic as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicText {
    pub text: String,
    /// With its quotes, as `If-Match` takes it.
    pub etag: String,
}

/// What has to stand there for a write to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    Anything,
    Nothing,
    /// What was read with this tag.
    Tag(String),
}

impl Over {
    fn put(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Over::Anything => request,
            Over::Nothing => request.header(IF_NONE_MATCH, "*"),
            Over::Tag(tag) => request.header(IF_MATCH, tag),
        }
    }
}

impl Client {
    /// One page; in order of scope and name.
    pub async fn memories(
        &self,
        project_dir: &str,
        scope: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<api::MemoriesPage> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let query = [
            ("project_dir", owned(Some(project_dir))),
            ("scope", owned(scope)),
            ("cursor", owned(cursor)),
        ];
        let url = self.asking(&["v1", "memories"], &query);
        self.json("GET /v1/memories", self.request(Method::GET, url)).await
    }

    pub async fn remember(&self, what: &api::Remember) -> Result<api::MemoryWritten> {
        let url = self.at(&["v1", "memories"]);
        self.json("POST /v1/memories", self.request(Method::POST, url).json(what)).await
    }

    /// Memories that help with something.
    pub async fn recall(&self, what: &api::RecallRequest) -> Result<api::RecallAnswer> {
        let url = self.at(&["v1", "recall"]);
        self.json("POST /v1/recall", self.request(Method::POST, url).json(what)).await
    }

    /// One call of Anthropic's memory tool.
    pub async fn memory_tool(&self, call: &api::MemoryToolCall) -> Result<api::MemoryToolResult> {
        let url = self.at(&["v1", "memory-tool"]);
        self.json("POST /v1/memory-tool", self.request(Method::POST, url).json(call)).await
    }

    /// The index as prompts get it.
    pub async fn memory_index(&self, project_dir: &str, scope: &str) -> Result<api::MemoryIndex> {
        let url = self.of_project(&["v1", "memories", "index"], project_dir, &[("scope", scope)]);
        self.json("GET /v1/memories/index", self.request(Method::GET, url)).await
    }

    pub async fn memory_lint(
        &self,
        project_dir: &str,
        scope: Option<&str>,
    ) -> Result<api::MemoryLint> {
        let scope: Vec<_> = scope.map(|scope| ("scope", scope)).into_iter().collect();
        let url = self.of_project(&["v1", "memories", "lint"], project_dir, &scope);
        self.json("GET /v1/memories/lint", self.request(Method::GET, url)).await
    }

    pub async fn rebuild_memory(&self, how: &api::RebuildMemory) -> Result<api::MemoryRebuilt> {
        let url = self.at(&["v1", "memories", "rebuild"]);
        self.json("POST /v1/memories/rebuild", self.request(Method::POST, url).json(how)).await
    }

    /// Looks through a session for what later ones should know.
    pub async fn extract(&self, id: Uuid, how: &api::ExtractRequest) -> Result<api::Extracted> {
        let url = self.at(&["v1", "sessions", &id.to_string(), "extract"]);
        self.json("POST …/extract", self.request(Method::POST, url).json(how)).await
    }

    /// Takes back what a session taught.
    pub async fn forget_session(&self, what: &api::ForgetRequest) -> Result<api::Forgotten> {
        let url = self.at(&["v1", "memories", "forget"]);
        self.json("POST /v1/memories/forget", self.request(Method::POST, url).json(what)).await
    }

    pub async fn topic(&self, topic: &TopicRef) -> Result<TopicText> {
        self.text(self.request(Method::GET, self.topic_url(topic, &[], &[]))).await
    }

    pub async fn put_topic(
        &self,
        topic: &TopicRef,
        text: String,
        over: &Over,
    ) -> Result<api::MemoryWritten> {
        let request = self.request(Method::PUT, self.topic_url(topic, &[], &[]));
        let request = over.put(request.header(CONTENT_TYPE, "text/markdown").body(text));
        self.json("PUT /v1/memories/…", request).await
    }

    pub async fn remove_topic(&self, topic: &TopicRef) -> Result<api::MemoryWritten> {
        let request = self.request(Method::DELETE, self.topic_url(topic, &[], &[]));
        self.json("DELETE /v1/memories/…", request).await
    }

    /// Newest first.
    pub async fn topic_history(&self, topic: &TopicRef) -> Result<api::MemoryHistory> {
        let url = self.topic_url(topic, &["history"], &[]);
        self.json("GET …/history", self.request(Method::GET, url)).await
    }

    /// The text of one version.
    pub async fn topic_version(&self, topic: &TopicRef, version: i64) -> Result<TopicText> {
        let version = version.to_string();
        let url = self.topic_url(topic, &["history"], &[("version", &version)]);
        self.text(self.request(Method::GET, url)).await
    }

    pub async fn restore_topic(
        &self,
        topic: &TopicRef,
        version: Option<i64>,
    ) -> Result<api::MemoryWritten> {
        let url = self.topic_url(topic, &["restore"], &[]);
        let request = self.request(Method::POST, url).json(&api::RestoreMemory { version });
        self.json("POST …/restore", request).await
    }

    async fn text(&self, request: RequestBuilder) -> Result<TopicText> {
        let response = self.open(request).await?;
        let etag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
        let etag = etag.unwrap_or_default().to_owned();
        let text = response.bytes().await.map_err(|error| self.broken(&error))?;
        Ok(TopicText { text: String::from_utf8_lossy(&text).into_owned(), etag })
    }

    fn topic_url(&self, topic: &TopicRef, below: &[&str], query: &[(&str, &str)]) -> Url {
        let mut path = vec!["v1", "memories", &topic.scope, &topic.name];
        path.extend(below);
        self.of_project(&path, &topic.project_dir, query)
    }

    fn of_project(&self, path: &[&str], project_dir: &str, query: &[(&str, &str)]) -> Url {
        let mut all = vec![("project_dir", Some(project_dir.to_owned()))];
        all.extend(query.iter().map(|(name, value)| (*name, Some((*value).to_owned()))));
        self.asking(path, &all)
    }
}
