//! Spans that are staged and drained, in a daemon of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use bethink_config::Settings;
use bethink_transcript::SessionId;
use serde_json::json;

use super::*;

async fn boot(home: &tempfile::TempDir) -> Daemon {
    let mut settings = Settings::at(home.path());
    settings.context.collapse = true;
    settings.context.window = 20_000;
    Daemon::boot(settings).await.unwrap()
}

/// A session of ten rounds of about 600 tokens. The user spoke last, so that nothing is staged unasked.
async fn session(daemon: &Daemon) -> SessionId {
    let request = serde_json::from_value(json!({ "project_dir": "/project" })).unwrap();
    let id = SessionId(daemon.create_session(request, None).await.unwrap().id);
    let mut messages = Vec::new();
    for n in 0..10 {
        messages.push(json!({ "role": "user", "content": format!("wish {n}") }));
        messages.push(json!({ "role": "assistant", "content": "word ".repeat(600) }));
    }
    messages.push(json!({ "role": "user", "content": "go on" }));
    let body = json!({ "messages": messages }).to_string();
    daemon.append(id, body.into(), None).await.unwrap();
    id
}

async fn states(daemon: &Daemon, id: SessionId) -> Vec<&'static str> {
    daemon.store().collapses(id).await.unwrap().iter().map(Collapse::state).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overflow_drains_what_is_staged_once() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    let slot = daemon.hot(id).await.unwrap();
    {
        let mut hot = slot.lock(&daemon).await.unwrap();
        assert!(!daemon.drain_collapses(&slot, &mut hot).await.unwrap(), "nothing is staged");
    }
    assert!(daemon.stage(id).await.unwrap() >= 2);
    assert_eq!(daemon.stage(id).await.unwrap(), 0, "all is staged");
    let mut hot = slot.lock(&daemon).await.unwrap();
    assert!(daemon.drain_collapses(&slot, &mut hot).await.unwrap());
    let shown = hot.decisions.spans().to_vec();
    assert!(shown.len() >= 2 && shown[0].text.contains("[1] wish 0"), "{shown:?}");
    assert!(!daemon.drain_collapses(&slot, &mut hot).await.unwrap(), "nothing is left");
    drop(hot);
    assert!(states(&daemon, id).await.iter().all(|state| *state == "committed"));
    // Loaded anew, the view is the same.
    slot.cool().await;
    assert_eq!(slot.lock(&daemon).await.unwrap().decisions.spans(), shown);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_could_not_wait_comes_first() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    daemon.stage(id).await.unwrap();
    let slot = daemon.hot(id).await.unwrap();
    let rows = slot.lock(&daemon).await.unwrap().spans.clone();
    // Staged by the worker while a prompt commits a span of its own over the same messages.
    let own = Collapse {
        id: CollapseId(Uuid::now_v7()),
        first_seq: rows[0].first_seq.next(),
        committed: Some((Seq(12), daemon.now())),
        ..rows[0].clone()
    };
    daemon.store().put_collapses(id, vec![own.clone()], Vec::new()).await.unwrap();
    let late = daemon.store().put_collapses(id, vec![rows[0].clone()], Vec::new()).await;
    assert!(late.is_err());
    assert_eq!(daemon.store().collapses(id).await.unwrap()[0], own);
    daemon.shutdown().await;
}

/// A prompt at 90% of the effective window of 10,000.
const FULL: Fill = Fill { tokens: 9_000, estimated: 9_000 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_frees_little_waits_and_nothing_is_due_before_its_time() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    daemon.stage(id).await.unwrap();
    let slot = daemon.hot(id).await.unwrap();
    let mut hot = slot.lock(&daemon).await.unwrap();
    let decisions = hot.decisions.clone();
    let due = daemon.collapses_due(&hot, &decisions, FULL).expect("several spans are worth it");
    assert!(due.freed() >= 1_000, "{due:?}");
    let early = Fill { tokens: 8_999, estimated: 8_999 };
    assert!(daemon.collapses_due(&hot, &decisions, early).is_none());
    hot.spans.truncate(1);
    assert!(daemon.collapses_due(&hot, &decisions, FULL).is_none(), "one is not");
    // Where the provider refuses the prompt, any is better than none.
    assert!(daemon.drain_collapses(&slot, &mut hot).await.unwrap());
    drop(hot);
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_prepared_is_written_when_the_window_is_nearly_full() {
    let home = tempfile::tempdir().unwrap();
    let daemon = boot(&home).await;
    let id = session(&daemon).await;
    let slot = daemon.hot(id).await.unwrap();
    let hot = slot.lock(&daemon).await.unwrap();
    let full = Fill { tokens: 9_499, estimated: 9_499 };
    assert!(daemon.collapses_due(&hot, &hot.decisions, full).is_none(), "the background has time");
    let fuller = Fill { tokens: 9_500, estimated: 9_500 };
    let due = daemon.collapses_due(&hot, &hot.decisions, fuller).expect("written at once");
    assert!(due.rows.iter().all(|row| row.tokens < row.tokens_before), "{due:?}");
    drop(hot);
    assert_eq!(states(&daemon, id).await, [""; 0], "looking changes nothing");
    daemon.shutdown().await;
}
