//! Tests the index after it was removed, and requests about topics that exist already or not at all.

use bethink_api as api;
use bethink_memdir::{MemoryKind, Scope, header};
use bethink_service::ErrorKind;

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
