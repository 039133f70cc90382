//! Tests that nothing is learned during a pause, or from an excluded project.

use bethink_api as api;
use bethink_config::Settings;
use bethink_service::ErrorKind;
use bethink_transcript::SessionId;
use serde_json::{Value, json};

use super::home::{say, session_in, start};
use crate::service::MemoryService;

async fn taught(memories: &MemoryService, dir: &str) -> SessionId {
    let id = session_in(memories, dir).await;
    say(memories, id, &[json!("From now on, use pnpm for installs."), json!("Good.")]).await;
    id
}

async fn learned(memories: &MemoryService, id: SessionId) -> Result<usize, (ErrorKind, String)> {
    let done = memories.extract_now(id, api::ExtractRequest::default()).await;
    done.map(|done| done.memories.len()).map_err(|error| (error.kind, error.detail))
}

async fn tool(memories: &MemoryService, input: &Value) -> api::MemoryToolResult {
    let project_dir = "/project".to_owned();
    let call = api::MemoryToolCall { project_dir, input: input.clone(), session_id: None };
    memories.memory_tool(call).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_ends_learning_until_it_is_over() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    settings.memory.extraction = "off".to_owned();
    settings.capture.exclude = vec!["/secret/**".to_owned()];
    let memories = start(settings, None).await;
    let id = taught(&memories, "/project").await;
    memories.cx.pause_recording(api::PauseRequest { seconds: None }).await.unwrap();
    let refused = learned(&memories, id).await.unwrap_err();
    assert_eq!(refused, (ErrorKind::Conflict, "recording is paused".to_owned()));
    let request = api::Remember {
        project_dir: "/project".to_owned(),
        text: "Use pnpm.".to_owned(),
        ..api::Remember::default()
    };
    // An agent writes nothing on its own initiative; a person may.
    let agent = memories.remember_for_agent(request.clone()).await.unwrap_err();
    assert_eq!(agent.kind, ErrorKind::Conflict);
    memories.remember(request).await.unwrap();
    let file = json!({ "command": "create", "path": "/memories/a.md", "file_text": "z" });
    let edits = [
        file.clone(),
        json!({ "command": "str_replace", "path": "/memories/b.md", "old_str": "z", "new_str": "y" }),
        json!({ "command": "insert", "path": "/memories/b.md", "insert_line": 0, "insert_text": "y" }),
        json!({ "command": "rename", "old_path": "/memories/b.md", "new_path": "/memories/c.md" }),
        json!({ "command": "delete", "path": "/memories/b.md" }),
    ];
    for edit in edits {
        let answer = tool(&memories, &edit).await;
        assert!(answer.is_error && answer.content.contains("recording is paused"), "{answer:?}");
    }
    let view = json!({ "command": "view", "path": "/memories" });
    assert!(!tool(&memories, &view).await.is_error, "agents may read");
    memories.cx.resume_recording().await.unwrap();
    assert!(!tool(&memories, &file).await.is_error);
    assert_eq!(learned(&memories, id).await, Ok(1));
    let hidden = session_in(&memories, "/secret/client").await;
    let (kind, why) = learned(&memories, hidden).await.unwrap_err();
    assert_eq!(kind, ErrorKind::Conflict);
    assert!(why.contains("/secret/**"), "{why}");
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_survives_a_restart_and_ends_by_itself() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let pause = |seconds| memories.cx.pause_recording(api::PauseRequest { seconds });
    for seconds in [0, 31 * 86_400, u64::MAX] {
        let refused = pause(Some(seconds)).await.unwrap_err();
        assert_eq!((refused.kind, refused.field.as_deref()), (ErrorKind::Invalid, Some("seconds")));
    }
    let first = pause(Some(3_600)).await.unwrap().pause.unwrap();
    let longer = pause(Some(7_200)).await.unwrap().pause.unwrap();
    assert_eq!(first.since, longer.since, "the same pause with another end");
    assert_ne!(first.until, longer.until);
    memories.cx.stop().await;
    drop(memories);
    let memories = start(Settings::at(home.path()), None).await;
    memories.cx.load_recording().await.unwrap();
    assert_eq!(memories.cx.recording_pause(), Some(longer));
    let until = memories.cx.recording().pause_at(memories.cx.now()).unwrap().until.unwrap();
    assert_eq!(memories.cx.recording().pause_at(until), None);
    memories.cx.resume_recording().await.unwrap();
    memories.cx.resume_recording().await.unwrap();
    assert_eq!(memories.cx.recording_pause(), None);
    memories.cx.stop().await;
}
