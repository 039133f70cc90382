//! Tests the person's memory: it is known in all projects, unless a project says otherwise.

use bethink_api as api;
use bethink_api::MemoryKind;
use bethink_config::Settings;
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::DirectoryFile;
use serde_json::json;

use super::home::{session_in, start};
use crate::memory_write::Expected;
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

/// Returns the indexes as a prompt in this project shows them.
async fn indexes(memories: &MemoryService, dir: &str) -> [String; 3] {
    let project = memories.project(dir).await.unwrap();
    let mut snapshots = <[std::sync::Arc<crate::DirectorySnapshot>; 3]>::default();
    for (shown, scope) in snapshots.iter_mut().zip(Scope::ALL) {
        *shown = memories.snapshot_anew(project.directory(scope)).await.unwrap();
    }
    memories.index_texts(&project, dir, &snapshots).await
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
    // A project's own topic with the same name replaces it, but only in that project.
    let english = "In this project, answers are in English, in this language only.";
    let own = api::Remember { scope: Some(Scope::Private), ..remember("/two", english, user) };
    memories.remember(own).await.unwrap();
    assert_eq!(recalled(&memories, "/two").await, [(Scope::Private, english.to_owned())]);
    assert_eq!(indexes(&memories, "/two").await[2], "");
    assert_eq!(recalled(&memories, "/one").await, [(Scope::Person, LANGUAGE.to_owned())]);
    memories.delete_memory("/two", Scope::Private, "language", Expected::Anything).await.unwrap();
    assert_eq!(recalled(&memories, "/two").await, [(Scope::Person, LANGUAGE.to_owned())]);
    // It has versions like any topic, whichever project requests them.
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
        let id = session_in(&memories, dir).await;
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
    // Another project knows the memory already.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_overrides_what_is_said_on_the_same_matter() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let user = Some(MemoryKind::User);
    memories.remember(remember("/one", "Please answer in German.", user)).await.unwrap();
    let other = api::Remember {
        name: Some("editor".to_owned()),
        ..remember("/one", "My editor is vim, and I like short sentences.", user)
    };
    memories.remember(other).await.unwrap();
    let own = api::Remember {
        name: Some("speech".to_owned()),
        scope: Some(Scope::Private),
        ..remember("/two", "Always reply in English.", None)
    };
    memories.remember(own).await.unwrap();
    let two = &indexes(&memories, "/two").await[2];
    assert!(two.contains("editor.md") && !two.contains("language.md"), "{two}");
    assert!(indexes(&memories, "/one").await[2].contains("language.md"));
    let asked = api::RecallRequest {
        project_dir: "/two".to_owned(),
        query: "answer in German or reply in English".to_owned(),
        ..Default::default()
    };
    let found = memories.recall(asked).await.unwrap().memories;
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert!(names.contains(&"speech") && !names.contains(&"language"), "{names:?}");
    memories.delete_memory("/two", Scope::Private, "speech", Expected::Anything).await.unwrap();
    assert!(indexes(&memories, "/two").await[2].contains("language.md"));
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dream_tidies_the_persons_memory_and_can_be_undone() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    let project = memories.project("/one").await.unwrap();
    for (name, day, said) in [
        ("one", "2026-06-01", "I want short answers with a table at the end."),
        ("two", "2026-06-08", "I want short answers, with a table at the end."),
    ] {
        let text = format!(
            "---\nname: {name}\ndescription: {said}\ntype: user\nquestions:\n  - How long is {name}?\nsource:\n  \
             session: s{day}\n  messages: [3]\n  strategy: embedded\n  time: {day}T10:00:00Z\n---\n\n> {said}\n"
        );
        let by = api::MemoryAuthor::Extraction;
        let author = crate::Author { by, session: None, note: String::new() };
        let file = DirectoryFile::Topic(Name::parse(name).unwrap());
        let expected = Expected::Absent;
        let write =
            crate::MemoryWrite { scope: Scope::Person, file, text: Some(text), expected, author };
        memories.write_memory(&project, write).await.unwrap();
    }
    let dream = async |undo: bool| {
        let scope = Some(Scope::Person);
        let project_dir = "/one".to_owned();
        let request = api::DreamRequest { project_dir, scope, dry_run: false, undo };
        let job = memories.dream(request).await.unwrap();
        loop {
            let job = memories.cx.jobs().job(bethink_transcript::JobId(job.id)).await.unwrap();
            assert_ne!(job.state, api::JobState::Failed, "{job:?}");
            if let Some(result) = job.result {
                return result;
            }
            tokio::task::yield_now().await;
        }
    };
    let names = async || {
        let listed = memories.memories("/two", Some(Scope::Person), None, None).await.unwrap();
        listed.memories.into_iter().map(|one| (one.name, one.questions)).collect::<Vec<_>>()
    };
    let before = names().await;
    let result = dream(false).await;
    let after = names().await;
    assert_eq!(after.len(), 1, "{result}");
    assert_eq!(after[0].1, ["How long is one?", "How long is two?"], "the questions of both");
    dream(true).await;
    assert_eq!(names().await, before);
    let team = api::DreamRequest { scope: Some(Scope::Team), ..api::DreamRequest::default() };
    assert_eq!(memories.dream(team).await.unwrap_err().field.as_deref(), Some("scope"));
    memories.cx.stop().await;
}
