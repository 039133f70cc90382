//! Notes with a model in memory: what it is asked, what it may do, and who waits for it.

use std::sync::Arc;
use std::time::Duration;

use bethink_model::{Model, ModelRequest};
use bethink_models::ModelService;
use bethink_search::SearchService;
use bethink_service::ServiceContext;
use bethink_service_testing as testing;
use bethink_service_testing::{Scripted, SentBody};
use bethink_sessions::{SessionEvent, SessionService};
use bethink_transcript::SessionId;
use serde_json::{Value, json};

use crate::service::NotesService;

/// How many updates of notes may run at the same time.
const NOTES_AT_ONCE: usize = 2;

/// Sessions and their notes, in a separate home.
struct Home {
    cx: ServiceContext,
    sessions: SessionService,
    notes: NotesService,
}

impl Home {
    async fn open(directory: &tempfile::TempDir, model: &Arc<Scripted>) -> Self {
        let cx = testing::context_with(testing::settings(directory.path())).await;
        let model = Arc::clone(model) as Arc<dyn Model>;
        let models = ModelService::open(cx.clone(), Some(model)).await.unwrap();
        let search = SearchService::new(cx.clone());
        let sessions = SessionService::new(cx.clone(), models.clone(), search);
        let notes = NotesService::new(cx.clone(), models, sessions.clone());
        let observer = notes.clone();
        let listener = Box::new(move |event: &SessionEvent<'_>| observer.observe(event));
        sessions.connect(vec![Arc::new(notes.clone())], vec![listener]);
        Self { cx, sessions, notes }
    }

    async fn close(self) {
        self.cx.stop().await;
        self.cx.store().close().await.unwrap();
    }

    async fn session(&self) -> SessionId {
        let created = self.sessions.create_session(testing::create_session(), None).await;
        let id = SessionId(created.unwrap().id);
        self.append(id, &testing::rounds()).await;
        id
    }

    async fn append(&self, id: SessionId, messages: &[Value]) {
        let body = json!({ "messages": messages }).to_string();
        self.sessions.append(id, body.into(), None).await.unwrap();
    }
}

/// A fork may edit the notes and nothing else; other calls are answered with an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_edited_in_exactly_their_file() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = Home::open(&directory, &model).await;
    let id = home.session().await;
    let body = home.sessions.prompt(id, testing::prompt_request()).await.unwrap();
    let path = home.notes.notes_path(id).display().to_string();
    let bare = home.notes.notes(id).await.unwrap().text;
    let heading = bare.lines().position(|line| line.contains("Current State")).unwrap();
    let mut hints = bare.lines().skip(heading + 1).take(2);
    let hint = hints.by_ref().filter(|line| !line.is_empty()).last().unwrap();
    let edit = |path: &str, new: &str| json!({ "file_path": path, "old_string": hint, "new_string": format!("{hint}\n{new}") });
    model.answer([
        Ok(json!([
            { "type": "tool_use", "id": "a", "name": "Edit", "input": edit(&path, "- The bell is being mended") },
            { "type": "tool_use", "id": "b", "name": "Edit", "input": edit("/etc/passwd", "- x") },
            { "type": "tool_use", "id": "c", "name": "Read", "input": { "file_path": path.clone() } },
        ])),
        Ok(json!("Done.")),
    ]);
    let done = home.notes.update_notes(id).await.unwrap();
    assert_eq!(done.strategy, bethink_api::Strategy::Model);
    assert!(home.notes.notes(id).await.unwrap().text.contains("- The bell is being mended"));
    let asked = model.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(denied(&asked[1]), [("a", false), ("b", true), ("c", true)].map(named));
    for request in &asked {
        SentBody::of(&body).added_by(request);
    }
    home.close().await;
}

fn named((id, denied): (&str, bool)) -> (String, bool) {
    (id.to_owned(), denied)
}

/// Returns the calls whose results come last in `request`, and whether each was denied.
fn denied(request: &ModelRequest) -> Vec<(String, bool)> {
    let messages: Vec<Value> = serde_json::from_slice(&request.messages_json()).unwrap();
    let newest = messages.iter().rev().find_map(|message| {
        let content = message["content"].as_array()?;
        content.iter().any(|block| block["type"] == "tool_result").then_some(content)
    });
    let results = newest.unwrap().iter().filter(|block| block["type"] == "tool_result");
    let id = |block: &Value| block["tool_use_id"].as_str().unwrap().to_owned();
    results.map(|block| (id(block), block["is_error"] == json!(true))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_that_hang_hold_up_nobody() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = Home::open(&directory, &model).await;
    let id = home.session().await;
    let noting = tokio::spawn({
        let notes = home.notes.clone();
        async move { notes.update_notes(id).await }
    });
    model.called.notified().await;
    let beside = async {
        home.append(id, &[json!({ "role": "user", "content": "On we go" })]).await;
        home.sessions.prompt(id, testing::prompt_request()).await.unwrap();
        home.notes.notes(id).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(20), beside).await.unwrap();
    assert!(!noting.is_finished());
    home.close().await;
}

/// Updates of notes that hang must not delay a summary that a client waits for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_waits_for_no_notes() {
    let (directory, model) = (tempfile::tempdir().unwrap(), Scripted::new([]));
    let home = Home::open(&directory, &model).await;
    for asked in 1..=NOTES_AT_ONCE + 1 {
        let id = home.session().await;
        let noting = home.notes.clone();
        home.cx.spawn(async move { drop(noting.update_notes(id).await) });
        if asked <= NOTES_AT_ONCE {
            model.called.notified().await;
        }
    }
    let id = home.session().await;
    let compacting = home.sessions.clone();
    home.cx
        .spawn(async move { drop(compacting.compact(id, testing::full_compaction(), None).await) });
    let called = tokio::time::timeout(Duration::from_secs(20), model.called.notified());
    called.await.unwrap();
    let asked = model.asked();
    assert_eq!(asked.len(), NOTES_AT_ONCE + 1, "updates beyond the limit wait");
    let newest = String::from_utf8(asked[NOTES_AT_ONCE].messages_json()).unwrap();
    assert!(newest.contains("Primary Request and Intent"), "it is the summary");
    home.close().await;
}
