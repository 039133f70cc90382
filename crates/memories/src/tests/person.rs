//! The person's memory: what it holds is known in all projects, unless a project says otherwise.

use bethink_api as api;
use bethink_api::MemoryKind;
use bethink_config::Settings;
use bethink_memdir::Scope;
use bethink_transcript::SessionId;
use serde_json::json;

use super::home::start;
use crate::memory_write::Expected;
use crate::prompt::index_texts;
use crate::service::MemoryService;

const LANGUAGE: &str = "I want all answers in German, with short sentences.";

fn remember(dir: &str, text: &str, kind: Option<MemoryKind>) -> api::Remember {
    let name = Some("language".to_owned());
    let (project_dir, text) = (dir.to_owned(), text.to_owned());
    api::Remember { project_dir, text, name, kind, ..api::Remember::default() }
}

async fn recalled(memories: &MemoryService, dir: &str) -> Vec<(Scope, String)> {
    let query = "in which language should the answers be?".to_owned();
    let asked = api::RecallRequest { project_dir: dir.to_owned(), query, ..Default::default() };
    let found = memories.recall(asked).await.unwrap().memories;
    found.into_iter().map(|memory| (memory.scope, memory.content)).collect()
}

/// The indexes as a prompt in this project shows them.
async fn indexes(memories: &MemoryService, dir: &str) -> [String; 3] {
    let project = memories.project(dir).await.unwrap();
    let mut snapshots = <[std::sync::Arc<crate::DirectorySnapshot>; 3]>::default();
    for (shown, scope) in snapshots.iter_mut().zip(Scope::ALL) {
        *shown = memories.snapshot_anew(project.directory(scope)).await.unwrap();
    }
    index_texts(&snapshots)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_about_the_person_holds_in_all_projects() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let user = Some(MemoryKind::User);
    let written = memories.remember(remember("/one", LANGUAGE, user)).await.unwrap();
    assert_eq!(written.scope, Scope::Person);
    for dir in ["/one", "/two"] {
        assert_eq!(recalled(&memories, dir).await, [(Scope::Person, LANGUAGE.to_owned())], "{dir}");
        assert!(indexes(&memories, dir).await[2].contains("language.md"), "{dir}");
        let listed = memories.memories(dir, None, None, None).await.unwrap().memories;
        assert_eq!((listed.len(), listed[0].scope), (1, Scope::Person), "{dir}");
    }
    // A project's own topic of the same name replaces it, there alone.
    let english = "In this project, answers are in English, in this language only.";
    let own = api::Remember { scope: Some(Scope::Private), ..remember("/two", english, user) };
    memories.remember(own).await.unwrap();
    assert_eq!(recalled(&memories, "/two").await, [(Scope::Private, english.to_owned())]);
    assert_eq!(indexes(&memories, "/two").await[2], "");
    assert_eq!(recalled(&memories, "/one").await, [(Scope::Person, LANGUAGE.to_owned())]);
    memories.delete_memory("/two", Scope::Private, "language", Expected::Anything).await.unwrap();
    assert_eq!(recalled(&memories, "/two").await, [(Scope::Person, LANGUAGE.to_owned())]);
    // It has versions like any topic, whichever project asks.
    memories.delete_memory("/two", Scope::Person, "language", Expected::Anything).await.unwrap();
    assert_eq!(recalled(&memories, "/one").await, []);
    memories.restore_memory("/one", Scope::Person, "language", None).await.unwrap();
    assert_eq!(recalled(&memories, "/two").await, [(Scope::Person, LANGUAGE.to_owned())]);
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_says_about_the_person_is_theirs() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    settings.memory.extraction = "off".to_owned();
    let memories = start(settings, None).await;
    let hear = async |dir: &str, said: &str| {
        let request = serde_json::from_value(json!({ "project_dir": dir })).unwrap();
        let id = SessionId(memories.sessions.create_session(request, None).await.unwrap().id);
        let body = json!({ "messages": [
            { "role": "user", "content": said }, { "role": "assistant", "content": "Good." },
        ] });
        memories.sessions.append(id, body.to_string().into(), None).await.unwrap();
        let done = memories.extract_now(id, api::ExtractRequest::default()).await.unwrap();
        (id, done)
    };
    let (id, done) = hear("/one", "Please remember that my name is Ada.").await;
    assert_eq!(
        (done.memories[0].kind, done.memories[0].scope),
        (Some(MemoryKind::User), Scope::Person)
    );
    // Another project knows it already.
    let (_, again) = hear("/two", "Please remember that my name is Ada.").await;
    assert_eq!((again.memories.len(), again.dropped[0].reason.as_str()), (0, "already known"));
    let (_, project) = hear("/one", "From now on, use pnpm for installs.").await;
    assert_eq!(project.memories[0].scope, Scope::Private);
    let forget =
        api::ForgetRequest { project_dir: "/one".to_owned(), session_id: id.0, dry_run: false };
    let forgotten = memories.forget_session(forget).await.unwrap();
    assert_eq!((forgotten.files.len(), forgotten.files[0].scope), (1, Scope::Person));
    memories.cx.stop().await;
}
