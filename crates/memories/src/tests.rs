//! Tests that a dropped prompt counts as not sent: what it showed is shown again until a prompt is kept.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod branches;
pub(crate) mod home;
mod index;
mod person;
mod pinned;
mod questions;
mod recording;
mod replaced;
mod roots;

use std::sync::Arc;
use std::time::Duration;

use bethink_config::Settings;
use bethink_memdir::Scope;
use bethink_model::Model;
use bethink_service_testing::Scripted;
use bethink_sessions::{ClientParts, Contributor, Inject, Moment, PromptRequest, RecallQuery};
use bethink_transcript::SessionId;
use serde_json::json;

use crate::memory_write::Expected;
use crate::service::MemoryService;
use crate::{IndexContributor, RecallContributor};
use home::start;

const TOPIC: &str = "---\nname: packages\ndescription: Installs go through pnpm\ntype: feedback\n---\n\nUse pnpm.\n";

async fn ask(memories: &MemoryService, said: &str) -> SessionId {
    let request = serde_json::from_value(json!({ "project_dir": "/project" })).unwrap();
    let id = SessionId(memories.sessions.create_session(request, None).await.unwrap().id);
    let body = json!({ "messages": [{ "role": "user", "content": said }] }).to_string();
    memories.sessions.append(id, body.into(), None).await.unwrap();
    id
}

async fn learn(memories: &MemoryService) {
    let (dir, scope, name) = ("/project", Scope::Private, "packages");
    memories.put_memory(dir, scope, name, TOPIC.to_owned(), Expected::Absent).await.unwrap();
}

/// Two prompts are dropped, one is kept, one follows.
async fn check(memories: &MemoryService, id: SessionId, contributor: &dyn Contributor, what: &str) {
    let handle = memories.sessions.handle(id).await.unwrap();
    let loaded = memories.sessions.lock(&handle).await.unwrap();
    let client = ClientParts::new(None, None, None).unwrap();
    let asked = PromptRequest {
        handle: &handle,
        loaded: &loaded,
        client: &client,
        inject: Inject::Full,
        recall: &RecallQuery::default(),
        moment: Moment::Begin { reminds: true },
    };
    for (prompt, kept, told) in
        [("dropped", false, 1), ("dropped again", false, 1), ("kept", true, 1), ("next", false, 0)]
    {
        let given = contributor.contribute(asked).await.unwrap();
        assert_eq!(given.reminders.len(), told, "{what}: {prompt}");
        assert!(given.reminders.iter().all(|reminder| reminder.text.contains("pnpm")));
        if let Some(once_kept) = given.once_kept.filter(|_| kept) {
            once_kept();
        }
    }
}

/// The provider's cache holds the prompt from before a restart, so the next one must begin with the same bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_begin_as_before_a_restart() {
    let prompt = async |memories: &MemoryService, id| {
        let request = serde_json::from_value(json!({})).unwrap();
        let prompt = memories.sessions.prompt(id, request).await.unwrap();
        let prompt: serde_json::Value = serde_json::from_slice(&prompt).unwrap();
        (prompt["system"].to_string(), prompt["messages"].to_string())
    };
    for has_memory in [true, false] {
        let home = tempfile::tempdir().unwrap();
        let memories = start(Settings::at(home.path()), None).await;
        if has_memory {
            learn(&memories).await;
        }
        let id = ask(&memories, "Fix the gauge.").await;
        let (system, _) = prompt(&memories, id).await;
        let more = json!([
            { "role": "assistant", "content": "Done." }, { "role": "user", "content": "And the clock?" }
        ]);
        let body = json!({ "messages": more }).to_string();
        memories.sessions.append(id, body.into(), None).await.unwrap();
        let text = "---\nname: rain\ndescription: rain is measured in mm\n---\nIn mm.\n".to_owned();
        let written =
            memories.put_memory("/project", Scope::Private, "rain", text, Expected::Absent).await;
        written.unwrap();
        let (after, told) = prompt(&memories, id).await;
        assert_eq!(after, system);
        assert_eq!(told.matches("rain is measured in mm").count(), 1, "{told}");
        memories.cx.stop().await;
        drop(memories);
        let memories = start(Settings::at(home.path()), None).await;
        let (begins, continues) = prompt(&memories, id).await;
        assert_eq!(begins, system);
        assert_eq!(continues, told);
        memories.cx.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dropped_prompt_told_is_told_again() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let early = ask(&memories, "Fix the gauge.").await;
    let context = serde_json::from_value(json!({})).unwrap();
    memories.sessions.prompt(early, context).await.unwrap();
    learn(&memories).await;
    check(&memories, early, &IndexContributor(memories.clone()), "news of the index").await;
    let late = ask(&memories, "How do installs go with pnpm here?").await;
    check(&memories, late, &RecallContributor(memories.clone()), "a recalled memory").await;
    memories.cx.stop().await;
}

/// Only a prompt that may show memories lets a model choose them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_without_memories_cost_no_call() {
    let (home, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let mut settings = Settings::at(home.path());
    (settings.model.provider, settings.model.name) = ("anthropic".to_owned(), "m".to_owned());
    settings.memory.extraction = "off".to_owned();
    let memories = start(settings, Some(Arc::clone(&model) as Arc<dyn Model>)).await;
    learn(&memories).await;
    for (said, inject) in
        [("How do we use pnpm?", Inject::Off), ("What about pnpm installs?", Inject::Full)]
    {
        let id = ask(&memories, said).await;
        let handle = memories.sessions.handle(id).await.unwrap();
        let loaded = memories.sessions.lock(&handle).await.unwrap();
        let client = ClientParts::new(None, None, None).unwrap();
        let asked = PromptRequest {
            handle: &handle,
            loaded: &loaded,
            client: &client,
            inject,
            recall: &RecallQuery::default(),
            moment: Moment::Begin { reminds: true },
        };
        RecallContributor(memories.clone()).contribute(asked).await.unwrap();
    }
    tokio::time::timeout(Duration::from_secs(30), model.called.notified()).await.unwrap();
    let asked = model.asked();
    let question = String::from_utf8(asked[0].messages_json()).unwrap();
    assert!(question.contains("pnpm installs") && asked.len() == 1, "{question}");
    memories.cx.stop().await;
}
