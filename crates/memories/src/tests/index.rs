//! Tests the index after it was removed, and requests about topics that exist already or not at all.

use bethink_api as api;
use bethink_memdir::{MemoryKind, Scope, header};
use bethink_service::{ErrorKind, Receipt};

use super::home::boot;
use crate::service::MemoryService;

async fn remember(memories: &MemoryService, text: &str) -> api::MemoryWritten {
    let (project_dir, text) = ("/project".to_owned(), text.to_owned());
    let request = api::Remember { project_dir, text, ..api::Remember::default() };
    memories.remember(request).await.unwrap()
}

async fn index(memories: &MemoryService) -> String {
    memories.memory_index("/project", None).await.unwrap().content
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_index_gets_the_lines_of_all_topics() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    remember(&memories, "The harbour crane is yellow").await;
    remember(&memories, "The fog is thick").await;
    let whole = index(&memories).await;
    let project = memories.project("/project").await.unwrap();
    let directory = project.directory(Scope::Private);
    std::fs::remove_file(directory.dir.join("MEMORY.md")).unwrap();
    directory.doubt();
    let rain = remember(&memories, "The rain is warm").await;
    directory.doubt();
    let again = index(&memories).await;
    assert_eq!(again.lines().count(), 3, "{again}");
    assert!(whole.lines().all(|line| again.contains(line)), "{again}");
    // A line that a person removed from an index that exists stays away.
    std::fs::write(directory.dir.join("MEMORY.md"), &whole).unwrap();
    directory.doubt();
    remember(&memories, "The quay is long").await;
    directory.doubt();
    assert!(!index(&memories).await.contains(&rain.name));
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_text_is_one_topic_with_a_type() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let first = remember(&memories, "Die Größe zählt").await;
    let again = remember(&memories, "Die Größe zählt\n").await;
    assert_eq!((again.outcome, &again.name), (api::MemoryOutcome::Same, &first.name));
    let longer = remember(&memories, "Die Größe zählt\n\nAuch nachts.").await;
    assert_eq!(longer.name, format!("{}-2", first.name));
    let text = memories.memory("/project", Scope::Private, &first.name).await.unwrap().text;
    assert_eq!(header::read(&text).header.kind, Some(MemoryKind::Project));
    let shown = index(&memories).await;
    assert!(shown.starts_with("- [Die Größe zählt](die-grosse-zahlt.md)\n"), "{shown}");
    let lint = memories.memory_lint("/project", None).await.unwrap();
    let rules: Vec<_> = lint.shelves[0].findings.iter().map(|one| &*one.rule).collect();
    assert!(!rules.contains(&"no-type"), "{rules:?}");
    memories.cx.stop().await;
}

/// A request may be repeated because its answer was lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_text_may_be_remembered_again() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let remember = async |text: &str| {
        let (project_dir, name) = ("/project".to_owned(), Some("fog".to_owned()));
        let text = text.to_owned();
        let request = api::Remember { project_dir, name, text, ..api::Remember::default() };
        memories.remember(request).await
    };
    remember("The fog is thick").await.unwrap();
    let again = remember("The fog is thick").await.unwrap();
    assert_eq!((again.outcome, &*again.name), (api::MemoryOutcome::Same, "fog"));
    let other = remember("The fog is thin").await.unwrap_err();
    assert!(other.versions.is_some(), "{other}");
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_that_is_sent_again_with_its_key_is_made_once() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let propose = async |key: Option<Receipt>| {
        let (project_dir, name) = ("/project".to_owned(), "fog".to_owned());
        let text = "The fog is thick".to_owned();
        let request = api::Propose { project_dir, name, text, source: None };
        memories.propose_memory(request, key).await.map(|made| made.proposal.id)
    };
    let key = || Some(Receipt { key: "key".to_owned(), fingerprint: "print".to_owned() });
    let first = propose(key()).await.unwrap();
    assert_eq!(propose(key()).await.unwrap(), first);
    assert_eq!(propose(None).await.unwrap_err().kind, ErrorKind::Conflict);
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_never_existed_cannot_be_restored() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let error = memories.restore_memory("/project", Scope::Private, "fog", None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.detail.contains("neither the file fog.md nor"), "{}", error.detail);
    let fog = remember(&memories, "The fog is thick").await;
    let same = memories.restore_memory("/project", Scope::Private, &fog.name, None).await;
    assert!(same.unwrap_err().detail.contains("no earlier version"));
    memories.cx.stop().await;
}
