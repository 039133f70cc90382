//! Tests of conversations, with clients in the same process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod endless;
mod forms;
mod many;
mod unrecorded;

use std::ops::Deref;
use std::sync::Arc;

use bethink_api::SessionQuery;
use bethink_config::Settings;
use bethink_context::ProjectTexts;
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::{ErrorKind, JobHandler, JobRunner};
use bethink_service_testing::context_with;
use bethink_sessions::{
    CollapseJob, Contributed, Contribution, Contributor, ForkCheckJob, Inject, PromptRequest,
    SessionService,
};
use bethink_store::SeqRange;
use bethink_transcript::SessionId;
use bytes::Bytes;
use serde_json::{Value, json};

use super::service::GatewayService;
use super::{
    AnswerOutcome, AnswerTicket, ClientKey, GatewayRequest, PreparedPrompt, PromptPart,
    ProviderResponse, RequestFrame, UpstreamPrompt,
};

/// The name of a model with a small window.
const SMALL: &str = "small-1";

pub(super) struct Home(tempfile::TempDir);

impl Home {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) async fn boot(&self) -> Daemon {
        let mut settings = Settings::at(self.0.path());
        settings.context.windows = vec![("small".to_owned(), 16_000)];
        boot(settings).await
    }
}

/// The gateway with the services that it uses.
#[derive(Clone)]
pub(super) struct Daemon {
    gateway: GatewayService,
    pub(super) search: SearchService,
}

pub(super) async fn boot(settings: Settings) -> Daemon {
    let cx = context_with(settings).await;
    let models = ModelService::open(cx.clone(), None).await.unwrap();
    let search = SearchService::new(cx.clone());
    let sessions = SessionService::new(cx.clone(), models, search.clone());
    sessions.connect(vec![Arc::new(ProjectFile)], Vec::new());
    let handlers: Vec<Arc<dyn JobHandler>> = vec![
        Arc::new(search.clone()),
        Arc::new(CollapseJob(sessions.clone())),
        Arc::new(ForkCheckJob(sessions.clone())),
    ];
    let runner = JobRunner::new(cx.clone(), handlers);
    cx.spawn(async move { runner.work().await });
    Daemon { gateway: GatewayService::new(cx, sessions), search }
}

impl Deref for Daemon {
    type Target = GatewayService;

    fn deref(&self) -> &GatewayService {
        &self.gateway
    }
}

impl Daemon {
    pub(super) async fn shutdown(&self) {
        self.cx.stop().await;
        self.cx.store().close().await.unwrap();
    }
}

/// Adds the project's `CLAUDE.md` to the system prompt.
#[derive(Debug)]
struct ProjectFile;

impl Contributor for ProjectFile {
    fn contribute<'a>(&'a self, asked: PromptRequest<'a>) -> Contributed<'a, Contribution> {
        let path = std::path::Path::new(&asked.loaded.session.project_dir).join("CLAUDE.md");
        let read = || std::fs::read_to_string(path).ok();
        let instructions = (asked.inject == Inject::Full).then(read).flatten();
        let system = ProjectTexts { instructions, ..ProjectTexts::default() };
        Box::pin(async { Ok(Contribution { system, ..Contribution::default() }) })
    }
}

/// The prompt that was sent for a request.
pub(super) struct Sent {
    pub(super) ticket: AnswerTicket,
    pub(super) session: SessionId,
    pub(super) prompt: UpstreamPrompt,
}

impl From<PreparedPrompt> for Sent {
    fn from(prepared: PreparedPrompt) -> Self {
        let PreparedPrompt { ticket, prompt } = prepared;
        Self { session: ticket.0.session, ticket, prompt }
    }
}

/// A simple client, which sends its whole list of messages.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) key: Option<String>,
    pub(super) model: String,
    pub(super) session: Option<SessionId>,
    pub(super) tools: &'static str,
    pub(super) system: &'static str,
    pub(super) inject: Option<Inject>,
    pub(super) said: Vec<Value>,
}

impl Client {
    pub(super) fn new(key: Option<&str>) -> Self {
        Self {
            key: key.map(str::to_owned),
            model: "claude-x".to_owned(),
            session: None,
            tools: "[]",
            system: "You are helpful.",
            inject: None,
            said: Vec::new(),
        }
    }

    pub(super) fn says(&mut self, text: &str) {
        self.said.push(json!({ "role": "user", "content": text }));
    }

    pub(super) fn request(&self) -> GatewayRequest {
        let messages: Vec<Bytes> =
            self.said.iter().map(|message| Bytes::from(message.to_string())).collect();
        GatewayRequest {
            entrance: "anthropic",
            model: self.model.clone(),
            max_output: Some(1_000),
            session: self.session,
            client: self
                .key
                .clone()
                .map(|key| ClientKey { entrance: "claude-code".to_owned(), key }),
            project_dir: None,
            default_project: None,
            system: Some(self.system.to_owned()),
            tools: Some(serde_json::from_str(self.tools).unwrap()),
            body_bytes: messages.iter().map(Bytes::len).sum::<usize>() + 200,
            messages,
            inject: self.inject,
            frame: RequestFrame::default(),
            client_model: None,
            chain_heads: None,
        }
    }

    pub(super) async fn sends(&self, daemon: &Daemon) -> Sent {
        daemon.prepare_prompt(self.request()).await.unwrap().into()
    }

    /// Receives an answer, and adds it to its messages.
    pub(super) fn hears(&mut self, daemon: &Daemon, prepared: &Sent, text: &str) {
        answer(daemon, prepared, text);
        self.said.push(json!({ "role": "assistant", "content": text }));
    }
}

/// Reports a provider's answer.
pub(super) fn answer(daemon: &Daemon, prepared: &Sent, text: &str) {
    // All answers have the same ID, as with some servers.
    let message = json!({ "id": "msg_1", "role": "assistant", "model": "m",
        "content": [{ "type": "thinking", "thinking": "hm", "signature": "sig" },
            { "type": "text", "text": text }],
        "stop_reason": "end_turn", "usage": { "input_tokens": 10, "output_tokens": 5 } });
    let message = Some(Bytes::from(message.to_string()));
    let heard = ProviderResponse { message, outcome: AnswerOutcome::Whole };
    daemon.take_answer(prepared.ticket.clone(), heard);
}

/// Waits until all work is done, and returns every stored session with its texts.
pub(super) async fn histories(daemon: &Daemon) -> Vec<(SessionId, Vec<String>)> {
    let all = daemon
        .sessions
        .sessions(SessionQuery { limit: Some(1_000), ..SessionQuery::default() })
        .await
        .unwrap();
    let mut histories = Vec::new();
    for session in all.sessions {
        let id = SessionId(session.id);
        histories.push((id, history(daemon, id).await));
    }
    histories
}

/// Returns the texts of a session, each with the first letter of its role.
pub(super) async fn history(daemon: &Daemon, id: SessionId) -> Vec<String> {
    daemon.wait_until_stored(id).await.unwrap();
    let stored = daemon.cx.store().messages(id, SeqRange::all()).await.unwrap();
    stored.iter().map(|message| text(&serde_json::from_slice(&message.raw).unwrap())).collect()
}

pub(super) fn text(message: &Value) -> String {
    let content = &message["content"];
    let blocks = content.as_array().into_iter().flatten();
    let texts: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    let said = content.as_str().map_or(texts, str::to_owned);
    format!("{}:{said}", &message["role"].as_str().unwrap()[..1])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_one_session() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(None);
    client.says("one");
    let first = client.sends(&daemon).await;
    assert_eq!(first.prompt, UpstreamPrompt::Unchanged);
    client.hears(&daemon, &first, "two");
    client.says("three");
    let second = client.sends(&daemon).await;
    assert_eq!(second.session, first.session);
    assert_eq!(second.prompt, UpstreamPrompt::Unchanged);
    assert_eq!(history(&daemon, first.session).await, ["u:one", "a:two", "u:three"]);
    // The same request again, and once more with a new daemon.
    let again = client.sends(&daemon).await;
    assert_eq!(again.session, first.session);
    client.hears(&daemon, &again, "four");
    daemon.shutdown().await;
    drop(daemon);
    let daemon = home.boot().await;
    client.says("five");
    let third = client.sends(&daemon).await;
    assert_eq!(third.session, first.session);
    let all = histories(&daemon).await;
    let expect = ["u:one", "a:two", "u:three", "a:four", "u:five"].map(str::to_owned).to_vec();
    assert_eq!(all, [(first.session, expect)]);
    let session = daemon.sessions.session(first.session).await.unwrap();
    assert_eq!(session.title.as_deref(), Some("one"));
    assert_eq!(session.model.name, "claude-x");
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn going_back_is_a_fork_that_leaves_the_old_one() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(Some("k"));
    for (said, answered) in [("one", "two"), ("three", "four")] {
        client.says(said);
        let prepared = client.sends(&daemon).await;
        client.hears(&daemon, &prepared, answered);
    }
    let old = client.sends(&daemon).await.session;
    let whole = ["u:one", "a:two", "u:three", "a:four"].map(str::to_owned).to_vec();
    // A message is edited later.
    let mut edits = client.clone();
    edits.said.truncate(2);
    edits.says("drei");
    let fork = edits.sends(&daemon).await;
    assert_ne!(fork.session, old);
    assert_eq!(history(&daemon, fork.session).await, ["u:one", "a:two", "u:drei"]);
    assert_eq!(daemon.sessions.session(fork.session).await.unwrap().parent, Some(old.0));
    // Messages are dropped, and the same request gets a different answer, which makes a fork.
    let mut drops = client.clone();
    drops.said.truncate(3);
    let again = drops.sends(&daemon).await;
    drops.hears(&daemon, &again, "vier");
    drops.says("fünf");
    let other = drops.sends(&daemon).await;
    assert_eq!(
        history(&daemon, other.session).await,
        ["u:one", "a:two", "u:three", "a:vier", "u:fünf"]
    );
    assert_eq!(history(&daemon, old).await, whole);
    // Both conversations continue.
    edits.hears(&daemon, &fork, "vier");
    edits.says("f");
    assert_eq!(edits.sends(&daemon).await.session, fork.session);
    client.says("five");
    assert_eq!(client.sends(&daemon).await.session, old);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clients_other_requests_are_explorations() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut agent = Client::new(Some("k"));
    agent.tools = r#"[{"name":"Read","input_schema":{"type":"object"}}]"#;
    agent.says("fix it");
    // A request for a title of the same text comes first.
    let mut title = Client { model: "claude-small".to_owned(), tools: "[]", ..agent.clone() };
    let titled = title.sends(&daemon).await;
    let main = agent.sends(&daemon).await;
    assert_ne!(main.session, titled.session);
    title.hears(&daemon, &titled, "Fixing");
    agent.hears(&daemon, &main, "done");
    let mut sub = Client { said: Vec::new(), ..agent.clone() };
    sub.says("look around");
    let below = sub.sends(&daemon).await;
    assert_eq!(history(&daemon, below.session).await, ["u:look around"]);
    let below = daemon.sessions.session(below.session).await.unwrap();
    assert_eq!(below.parent, Some(main.session.0));
    assert_eq!(below.tags, ["exploration"]);
    assert_eq!(history(&daemon, main.session).await, ["u:fix it", "a:done"]);
    assert_eq!(daemon.sessions.session(main.session).await.unwrap().parent, None);
    let known = daemon.cx.store().client_session("claude-code".to_owned(), "k".to_owned());
    assert_eq!(known.await.unwrap(), Some(main.session));
    assert!(daemon.cx.store().lineage(main.session).await.unwrap().is_some());
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_agent_of_the_client_gets_a_fork() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut agent = Client::new(None);
    agent.tools = r#"[{"name":"Read","input_schema":{"type":"object"}}]"#;
    agent.says("mend the gate");
    let main = agent.sends(&daemon).await;
    agent.hears(&daemon, &main, "mended");
    // It reads the conversation to extract memories from it.
    let mut side = Client {
        system: "You extract memories.\n\nBe brief.",
        tools: r#"[{"name":"Write","input_schema":{"type":"object"}}]"#,
        ..agent.clone()
    };
    side.says("extract memories");
    let extracted = side.sends(&daemon).await;
    assert_ne!(extracted.session, main.session);
    side.hears(&daemon, &extracted, "nothing");
    agent.says("and the fence");
    assert_eq!(agent.sends(&daemon).await.session, main.session);
    side.says("are you sure?");
    assert_eq!(side.sends(&daemon).await.session, extracted.session);
    let session = daemon.sessions.session(extracted.session).await.unwrap();
    assert_eq!((session.parent, session.tags), (Some(main.session.0), vec!["exploration".into()]));
    let main = history(&daemon, main.session).await;
    assert_eq!(main, ["u:mend the gate", "a:mended", "u:and the fence"]);
    // A client may change its tools.
    agent.tools = "[]";
    agent.says("and the roof");
    assert_eq!(agent.sends(&daemon).await.session.0, session.parent.unwrap());
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_session_goes_on_or_is_forked() {
    let home = Home::new();
    let daemon = home.boot().await;
    let request = serde_json::from_value(json!({ "project_dir": "/p" })).unwrap();
    let named = SessionId(daemon.sessions.create_session(request, None).await.unwrap().id);
    let mut client = Client { session: Some(named), ..Client::new(None) };
    client.says("one");
    let first = client.sends(&daemon).await;
    assert_eq!(first.session, named, "an empty session is used");
    client.hears(&daemon, &first, "two");
    client.says("three");
    assert_eq!(client.sends(&daemon).await.session, named);
    assert_eq!(history(&daemon, named).await, ["u:one", "a:two", "u:three"]);
    // Another writer appends, so the client's history is no longer complete.
    let body = json!({ "messages": [{ "role": "assistant", "content": "between" }] });
    daemon.sessions.append(named, Bytes::from(body.to_string()), None).await.unwrap();
    client.said.push(json!({ "role": "assistant", "content": "four" }));
    client.says("five");
    let fork = client.sends(&daemon).await.session;
    assert_ne!(fork, named);
    assert_eq!(history(&daemon, fork).await, ["u:one", "a:two", "u:three", "a:four", "u:five"]);
    // The client still uses the old ID.
    client.said.push(json!({ "role": "assistant", "content": "six" }));
    client.says("seven");
    assert_eq!(client.sends(&daemon).await.session, fork);
    // An unrelated history.
    let mut other = Client { session: Some(named), ..Client::new(None) };
    other.says("elsewhere");
    let below = other.sends(&daemon).await.session;
    assert_eq!(history(&daemon, below).await, ["u:elsewhere"]);
    assert_eq!(daemon.sessions.session(below).await.unwrap().parent, Some(named.0));
    // A session that does not exist.
    let unknown = SessionId(uuid::Uuid::from_u128(9));
    let lost = Client { session: Some(unknown), ..client };
    let refusal = daemon.prepare_prompt(lost.request()).await.unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::NotFound);
    assert_eq!(refusal.field.as_deref(), Some("x-bethink-session"));
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_conversation_is_refused_by_its_place() {
    let home = Home::new();
    let daemon = home.boot().await;
    for (messages, field) in [
        (vec![], "messages"),
        (vec!["[]"], "messages[0]"),
        (vec![r#"{"role":"user","content":"x"}"#, r#"{"role":"user"}"#], "messages[1]"),
        (vec![r#"{"role":"user","content":[{"text":"x"}]}"#], "messages[0].content[0].type"),
        (vec![r#"{"role":"user","content":7}"#], "messages[0].content"),
    ] {
        let messages = messages.into_iter().map(Bytes::from).collect();
        let request = GatewayRequest { messages, ..Client::new(None).request() };
        let refusal = daemon.prepare_prompt(request).await.unwrap_err();
        assert_eq!((refusal.kind, refusal.field.as_deref()), (ErrorKind::Invalid, Some(field)));
    }
    assert!(histories(&daemon).await.is_empty(), "none of these requests was stored");
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_begins_anew() {
    let home = Home::new();
    let daemon = home.boot().await;
    let mut client = Client::new(Some("k"));
    client.says("one");
    let first = client.sends(&daemon).await;
    client.hears(&daemon, &first, "two");
    daemon.wait_until_stored(first.session).await.unwrap();
    daemon.sessions.delete_session(first.session).await.unwrap();
    client.says("three");
    let second = client.sends(&daemon).await;
    assert_ne!(second.session, first.session);
    assert_eq!(history(&daemon, second.session).await, ["u:one", "a:two", "u:three"]);
    daemon.shutdown().await;
}
