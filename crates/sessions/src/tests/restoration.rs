//! What a compaction shows again: state that the history shows, state that clients set, files on disk.

use std::fs;
use std::path::Path;

use bethink_api::{self as api, StateKind};
use bethink_config::Settings;
use bethink_transcript::{CompactionId, SessionId};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::tests::home::SessionsHome;

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn says(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

/// Returns a call and its result.
fn round(id: &str, tool: &str, input: &Value, result: &str) -> [Value; 2] {
    let call = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": result });
    [
        json!({ "role": "assistant", "content": [call] }),
        json!({ "role": "user", "content": [result] }),
    ]
}

/// Rounds that fill the kept tail.
fn filler(times: usize) -> Vec<Value> {
    let talk = |n: usize| [user(&format!("And {n}?")), says(&"All is well with it. ".repeat(400))];
    (0..times).flat_map(talk).collect()
}

struct Work {
    directory: tempfile::TempDir,
    home: SessionsHome,
    id: SessionId,
}

impl Work {
    async fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("restore").tempdir().unwrap();
        for place in ["home", "project", "person/.claude/plans"] {
            fs::create_dir_all(directory.path().join(place)).unwrap();
        }
        let person = Some(directory.path().join("person"));
        let settings = Settings { person, ..Settings::at(directory.path().join("home")) };
        let home = SessionsHome::open(settings).await;
        let project = directory.path().join("project");
        let request =
            json!({ "project_dir": project, "model": { "name": "m", "context_window": 60_000 } });
        let request = serde_json::from_value(request).unwrap();
        let id = SessionId(home.sessions.create_session(request, None).await.unwrap().id);
        Self { directory, home, id }
    }

    /// Writes a file, and returns its path.
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    async fn put(&self, kind: StateKind, state: &Value) {
        let body = Bytes::from(state.to_string());
        self.home.sessions.put_state(self.id, kind, body).await.unwrap();
    }

    /// Compacts after more messages. Returns all restored texts, and the compaction.
    async fn compact(&self) -> (String, api::Compaction) {
        self.home.append(self.id, &filler(12)).await;
        let made = self
            .home
            .sessions
            .compact(self.id, api::CompactRequest::default(), None)
            .await
            .unwrap();
        let handle = self.home.sessions.handle(self.id).await.unwrap();
        let loaded = self.home.sessions.lock(&handle).await.unwrap();
        let boundary = loaded.state.decisions.boundary.clone().unwrap();
        let texts = boundary.restored.iter().map(|a| a.text.as_str()).collect::<Vec<_>>();
        (texts.join("\n"), made)
    }
}

fn check(restored: &str, has: &[&str], lacks: &[&str]) {
    for text in has {
        assert!(restored.contains(text), "{text:?} is missing:\n{restored}");
    }
    for text in lacks {
        assert!(!restored.contains(text), "{text:?} is there:\n{restored}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_that_the_history_shows_comes_back() {
    let work = Work::new().await;
    let plan = work.write("person/.claude/plans/calm.md", "1. dig (as on disk)");
    let sibling = work.write("sibling/b.rs", "fn of_sibling() {}");
    let written = work.write("project/src/new.rs", "fn written_only() {}");
    let key = work.write("person/.ssh/id", "SECRET KEY");
    let launched = "Async agent launched successfully.\nagentId: a77 (internal ID)";
    let approved =
        format!("User has approved your plan.\n\nYour plan has been saved to: {plan}\nGo.");
    let background =
        json!({ "description": "Review tests", "prompt": "p", "run_in_background": true });
    let mut history = vec![user("Mend the gauge.")];
    history.extend(round("a", "Skill", &json!({ "skill": "go:find" }), "Launching skill: go:find"));
    history.push(user("Base directory for this skill: /s/find\n\nFIND WITH RIPGREP"));
    history.extend(round("b", "Task", &background, launched));
    history.extend(round("c", "ExitPlanMode", &json!({ "plan": "1. dig" }), &approved));
    history.extend(round("d", "Read", &json!({ "file_path": sibling }), "fn of_sibling() {}"));
    history.extend(round("e", "Write", &json!({ "file_path": written, "content": "x" }), "ok"));
    history.extend(round("f", "Read", &json!({ "file_path": key }), "SECRET KEY"));
    history.extend(round("g", "EnterPlanMode", &json!({}), "Entered plan mode."));
    work.home.append(work.id, &history).await;
    let (restored, made) = work.compact().await;
    let has = [
        "Skill go:find",
        "FIND WITH RIPGREP",
        "Background agent Review tests (a77): running",
        "1. dig (as on disk)",
        "Plan mode is on",
        "fn of_sibling() {}",
        "fn written_only() {}",
        &format!("- file {key}: read the parts that you need"),
    ];
    check(&restored, &has, &["SECRET KEY"]);
    let named: Vec<_> = made.restored.iter().filter(|i| i.truncated).map(|i| &i.name).collect();
    assert_eq!(named, [&key]);

    // What a client sets comes before what the history shows.
    work.put(StateKind::Skills, &json!({ "skills": [{ "name": "own", "content": "OWN SKILL" }] }))
        .await;
    work.put(StateKind::Plan, &json!({ "content": "OWN PLAN" })).await;
    work.put(StateKind::Agents, &json!({ "agents": [] })).await;
    let (restored, _) = work.compact().await;
    check(
        &restored,
        &["OWN SKILL", "OWN PLAN"],
        &["FIND WITH RIPGREP", "a77", "Plan mode is on", "as on disk"],
    );
    work.home.close().await;
}

/// A compaction told the model that plan mode is on. When a client turns it off, the next prompt takes that back, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_mode_that_a_client_ends_is_taken_back() {
    let work = Work::new().await;
    work.home.append(work.id, &[user("Mend the gauge."), says("Yes.")]).await;
    let plan_mode = |active: bool| json!({ "content": "1. dig", "active": active });
    let prompt = async || {
        let request = api::ContextRequest::default();
        let prompt = work.home.sessions.prompt(work.id, request).await.unwrap();
        String::from_utf8(prompt.to_vec()).unwrap()
    };
    work.put(StateKind::Plan, &plan_mode(true)).await;
    let (restored, _) = work.compact().await;
    check(&restored, &["Plan mode is on"], &[]);
    check(&prompt().await, &["Plan mode is on"], &["Plan mode is off"]);
    work.put(StateKind::Plan, &plan_mode(false)).await;
    for _ in 0..2 {
        let text = prompt().await;
        let (on, off) = (text.find("Plan mode is on"), text.find("Plan mode is off now"));
        assert!(on.is_some() && on < off, "{text}");
        assert_eq!(text.matches("Plan mode is off now").count(), 1);
        work.home.append(work.id, &filler(1)).await;
    }
    work.put(StateKind::Plan, &plan_mode(true)).await;
    assert_eq!(prompt().await.matches("Plan mode is on").count(), 2);
    work.home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_result_of_an_agent_is_shown_once() {
    let work = Work::new().await;
    work.home.append(work.id, &[user("Mend the gauge."), says("Yes.")]).await;
    let agent =
        |id: &str, result: &str| json!({ "id": id, "status": "finished", "result": result });
    let agents = json!({ "agents": [agent("a1", "RESULT ONE")] });
    work.put(StateKind::Agents, &agents).await;
    let (restored, made) = work.compact().await;
    check(&restored, &["a1: finished. Its result, which you have not read yet:\nRESULT ONE"], &[]);
    let (restored, _) = work.compact().await;
    check(&restored, &["a1: finished. You have read its result."], &["RESULT ONE"]);
    // An undone compaction has shown nothing.
    let newest = work.home.sessions.compactions(work.id).await.unwrap().compactions.pop().unwrap();
    for id in [newest.id, made.id] {
        work.home.sessions.undo(work.id, CompactionId(id)).await.unwrap();
    }
    let agents = json!({ "agents": [agent("a1", "RESULT ONE"), agent("a2", "RESULT TWO")] });
    work.put(StateKind::Agents, &agents).await;
    let (restored, _) = work.compact().await;
    check(&restored, &["RESULT ONE", "RESULT TWO"], &[]);
    work.home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn todos_that_a_client_set_are_pending_tasks_of_the_summary() {
    let work = Work::new().await;
    work.home.append(work.id, &[user("Mend the gauge."), says("Yes.")]).await;
    let todos = json!({ "todos": [{ "content": "Oil the hinge", "status": "pending" }] });
    work.home.sessions.put_todos(work.id, serde_json::from_value(todos).unwrap()).await.unwrap();
    let (_, made) = work.compact().await;
    let pending = made.summary.split("Pending Tasks").nth(1).unwrap();
    assert!(pending.contains("Oil the hinge"), "{}", made.summary);
    work.home.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_another_machine_comes_back_as_it_was_last_shown() {
    let work = Work::new().await;
    let read =
        |id: &str, path: &str, text: &str| round(id, "Read", &json!({ "file_path": path }), text);
    let edit = json!({ "file_path": "/container/src/b.rs", "old_string": "b", "new_string": "c" });
    let mut history = vec![user("Mend the gauge.")];
    history.extend(read("a", "/container/src/a.rs", "fn old_gauge() {}"));
    history.extend(read("b", "/container/src/a.rs", "fn new_gauge() {}"));
    history.extend(read("c", "/container/src/b.rs", "fn before_the_edit() {}"));
    history.extend(round("d", "Edit", &edit, "ok"));
    let deleted = work.write("project/gone.rs", "");
    fs::remove_file(&deleted).unwrap();
    history.extend(read("e", &deleted, "fn deleted_here() {}"));
    let removed = work.write("project/old/removed.rs", "");
    fs::remove_dir_all(work.directory.path().join("project/old")).unwrap();
    history.extend(read("f", &removed, "fn removed_with_its_directory() {}"));
    history.extend(read("g", "/container/.keys/id", "SECRET KEY"));
    work.home.append(work.id, &history).await;
    let (restored, _) = work.compact().await;
    let has = ["/container/src/a.rs, as message 5 showed it", "fn new_gauge() {}"];
    let lacks = ["old_gauge", "before_the_edit", "deleted_here", "removed_with", "SECRET KEY"];
    check(&restored, &has, &lacks);
}
