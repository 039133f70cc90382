//! Staging and committing of spans, in a separate home.

use bethink_config::Settings;
use bethink_transcript::{Seq, SessionId};
use serde_json::json;

use super::*;
use crate::tests::home::SessionsHome;

async fn open(directory: &tempfile::TempDir) -> SessionsHome {
    let mut settings = Settings::at(directory.path());
    settings.context.collapse = true;
    settings.context.window = 20_000;
    SessionsHome::open(settings).await
}

/// Creates a session of ten rounds of about 600 tokens. The last message is the user's, so nothing is staged
/// automatically.
async fn session(home: &SessionsHome) -> SessionId {
    let mut messages = Vec::new();
    for n in 0..10 {
        messages.push(json!({ "role": "user", "content": format!("wish {n}") }));
        messages.push(json!({ "role": "assistant", "content": "word ".repeat(600) }));
    }
    messages.push(json!({ "role": "user", "content": "go on" }));
    home.session(&messages).await
}

async fn states(home: &SessionsHome, id: SessionId) -> Vec<String> {
    home.cx.store().collapses(id).await.unwrap().iter().map(|row| row.state().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overflow_drains_what_is_staged_once() {
    let directory = tempfile::tempdir().unwrap();
    let home = open(&directory).await;
    let id = session(&home).await;
    let sessions = &home.sessions;
    let handle = sessions.handle(id).await.unwrap();
    {
        let mut loaded = sessions.lock(&handle).await.unwrap();
        assert!(!sessions.drain(&mut loaded).await.unwrap(), "nothing is staged");
    }
    assert!(sessions.stage(id).await.unwrap() >= 2);
    assert_eq!(sessions.stage(id).await.unwrap(), 0, "all is staged");
    let mut loaded = sessions.lock(&handle).await.unwrap();
    assert!(sessions.drain(&mut loaded).await.unwrap());
    let shown = loaded.state.decisions.spans().to_vec();
    assert!(shown.len() >= 2 && shown[0].text.contains("[1] wish 0"), "{shown:?}");
    assert!(!sessions.drain(&mut loaded).await.unwrap(), "nothing is left");
    drop(loaded);
    assert!(states(&home, id).await.iter().all(|state| *state == "committed"));
    // After a reload, the view is the same.
    handle.unload().await;
    assert_eq!(sessions.lock(&handle).await.unwrap().state.decisions.spans(), shown);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_could_not_wait_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let home = open(&directory).await;
    let id = session(&home).await;
    home.sessions.stage(id).await.unwrap();
    let handle = home.sessions.handle(id).await.unwrap();
    let rows = home.sessions.lock(&handle).await.unwrap().spans.clone();
    // The worker stages a span while a prompt commits its own span over the same messages.
    let own = CollapseRecord {
        id: CollapseId(Uuid::now_v7()),
        first_seq: rows[0].first_seq.next(),
        committed: Some((Seq(12), home.cx.now())),
        ..rows[0].clone()
    };
    let store = home.cx.store();
    store.put_collapses(id, vec![own.clone()], Vec::new()).await.unwrap();
    let late = store.put_collapses(id, vec![rows[0].clone()], Vec::new()).await;
    assert!(late.is_err());
    assert_eq!(store.collapses(id).await.unwrap()[0], own);
    home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overflow_commits_even_one_span_and_a_report_stores_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let home = open(&directory).await;
    let id = session(&home).await;
    let sessions = &home.sessions;
    // At least 9,500 of 10,000 effective tokens: a prompt would write spans at once.
    home.append(id, &[json!({ "role": "user", "content": "word ".repeat(3_200) })]).await;
    let report = sessions.report(id).await.unwrap();
    assert!(
        report.stages.iter().any(|stage| stage.stage == api::PromptStage::Collapse),
        "{report:?}"
    );
    assert_eq!(states(&home, id).await, [""; 0], "a report changes nothing");
    sessions.stage(id).await.unwrap();
    let handle = sessions.handle(id).await.unwrap();
    let mut loaded = sessions.lock(&handle).await.unwrap();
    loaded.spans.truncate(1);
    assert!(sessions.drain(&mut loaded).await.unwrap());
    assert_eq!(loaded.state.decisions.spans().len(), 1);
    drop(loaded);
    home.close().await;
}
