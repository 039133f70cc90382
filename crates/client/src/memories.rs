//! Requests about a project's memory: topics as text with an ETag, and their versions.

use bethink_api as api;
use reqwest::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Method, RequestBuilder};
use uuid::Uuid;

use crate::client::Client;
use crate::error::ClientError;

type Result<T> = std::result::Result<T, ClientError>;

/// The address of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRef {
    pub project_dir: String,
    pub scope: api::MemoryScope,
    pub name: String,
}

/// The text of a topic, with its ETag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedText {
    pub text: String,
    /// With its quotes, as `If-Match` expects.
    pub etag: String,
}

/// The condition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// Writes the topic in any case.
    Anything,
    /// Writes only if the topic does not exist.
    Nothing,
    /// Writes only if the topic still has this ETag.
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
    /// Returns one page of topics, in order of scope and name.
    pub async fn memories(&self, query: &api::MemoryQuery) -> Result<api::MemoriesPage> {
        self.get("v1/memories", query).await
    }

    pub async fn search_memories(&self, query: &api::MemorySearch) -> Result<api::MemoryHits> {
        self.get("v1/memories/search", query).await
    }

    pub async fn import_memories(
        &self,
        export: &api::ImportMemories,
    ) -> Result<api::MemoriesImported> {
        self.send(Method::POST, "v1/memories/import", export).await
    }

    pub async fn remember(&self, what: &api::Remember) -> Result<api::MemoryWritten> {
        self.send(Method::POST, "v1/memories", what).await
    }

    /// Returns the memories that are relevant to a question.
    pub async fn recall(&self, what: &api::RecallRequest) -> Result<api::RecallAnswer> {
        self.send(Method::POST, "v1/recall", what).await
    }

    /// Tests whether a search with the words of a topic finds it.
    pub async fn check_recall(&self, of: &api::RecallCheckRequest) -> Result<api::RecallCheck> {
        self.send(Method::POST, "v1/recall/check", of).await
    }

    /// Returns the index as it appears in prompts.
    pub async fn memory_index(&self, of: &api::ScopeQuery) -> Result<api::MemoryIndex> {
        self.get("v1/memories/index", of).await
    }

    pub async fn memory_lint(&self, of: &api::ScopeQuery) -> Result<api::MemoryLint> {
        self.get("v1/memories/lint", of).await
    }

    pub async fn rebuild_memory(&self, how: &api::RebuildMemory) -> Result<api::MemoryRebuilt> {
        self.send(Method::POST, "v1/memories/rebuild", how).await
    }

    /// Extracts memories from a session.
    pub async fn extract(&self, id: Uuid, how: &api::ExtractRequest) -> Result<api::Extracted> {
        self.send(Method::POST, &format!("v1/sessions/{id}/extract"), how).await
    }

    /// Removes what was learned from a session.
    pub async fn forget_session(&self, what: &api::ForgetRequest) -> Result<api::Forgotten> {
        self.send(Method::POST, "v1/memories/forget", what).await
    }

    pub async fn topic(&self, topic: &TopicRef) -> Result<TaggedText> {
        self.text(self.of_topic(Method::GET, topic, &[])).await
    }

    pub async fn put_topic(
        &self,
        topic: &TopicRef,
        text: String,
        over: &Over,
        allow_secret: &[String],
    ) -> Result<api::MemoryWritten> {
        let request = self.of_topic(Method::PUT, topic, &[]);
        let request = match allow_secret {
            [] => request,
            allowed => request.query(&[("allow_secret", allowed.join(","))]),
        };
        let request = over.put(request.header(CONTENT_TYPE, "text/markdown").body(text));
        self.json("PUT /v1/memories/…", request).await
    }

    pub async fn remove_topic(&self, topic: &TopicRef) -> Result<api::MemoryWritten> {
        self.json("DELETE /v1/memories/…", self.of_topic(Method::DELETE, topic, &[])).await
    }

    /// Returns the versions of a topic, newest first.
    pub async fn topic_history(&self, topic: &TopicRef) -> Result<api::MemoryHistory> {
        self.json("GET …/history", self.of_topic(Method::GET, topic, &["history"])).await
    }

    /// Returns the text of one version.
    pub async fn topic_version(&self, topic: &TopicRef, version: i64) -> Result<TaggedText> {
        let request = self.of_topic(Method::GET, topic, &["history"]);
        self.text(request.query(&[("version", version)])).await
    }

    pub async fn restore_topic(
        &self,
        topic: &TopicRef,
        version: Option<i64>,
    ) -> Result<api::MemoryWritten> {
        let request = self.of_topic(Method::POST, topic, &["restore"]);
        self.json("POST …/restore", request.json(&api::RestoreMemory { version })).await
    }

    async fn text(&self, request: RequestBuilder) -> Result<TaggedText> {
        let response = self.open(request).await?;
        let etag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
        let etag = etag.unwrap_or_default().to_owned();
        let text = response.bytes().await.map_err(|error| self.broken(&error))?;
        Ok(TaggedText { text: String::from_utf8_lossy(&text).into_owned(), etag })
    }

    /// Creates a request about a topic. Slashes in the topic's name are encoded.
    fn of_topic(&self, method: Method, topic: &TopicRef, below: &[&str]) -> RequestBuilder {
        let mut url = self.at("v1/memories");
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(&topic.scope.to_string()).push(&topic.name).extend(below);
        }
        self.request(method, url).query(&[("project_dir", &topic.project_dir)])
    }
}
