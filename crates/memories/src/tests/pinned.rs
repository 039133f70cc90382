//! Tests pinned topics: what a hook gets, and who may change the key.

use std::collections::BTreeSet;

use bethink_api::{MemoryAuthor, MemoryRecall};
use bethink_config::Settings;
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::DirectoryFile;

use super::home::{extract, say, session, start};
use crate::memory_write::{Author, Expected, MemoryWrite};
use crate::service::MemoryService;

const DIR: &str = "/project";

async fn put(memories: &MemoryService, name: &str, text: &str) {
    let (text, expected) = (text.to_owned(), Expected::Anything);
    memories.put_memory(DIR, Scope::Private, name, text, expected).await.unwrap();
}

async fn hook(memories: &MemoryService, said: &str, delivered: &[&str]) -> Vec<String> {
    let delivered: BTreeSet<String> = delivered.iter().map(|name| (*name).to_owned()).collect();
    let found = memories.recall_for_hook(DIR, said, &delivered, None).await.unwrap();
    found.into_iter().map(|(name, _)| name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_gets_a_pinned_topic_once_beside_what_matches() {
    let home = tempfile::tempdir().unwrap();
    let memories = start(Settings::at(home.path()), None).await;
    put(&memories, "style", "---\ndescription: a sober style\nrecall: always\n---\nBe brief.\n")
        .await;
    put(&memories, "fog", "---\ndescription: how far in the fog\n---\n800 metres.\n").await;
    put(&memories, "haze", "---\ndescription: how far in the haze\nrecall: never\n---\n1 km.\n")
        .await;
    assert_eq!(hook(&memories, "hello", &[]).await, ["private/style"]);
    assert_eq!(hook(&memories, "hello", &["private/style"]).await, [""; 0]);
    let both = hook(&memories, "how far in the fog and haze?", &[]).await;
    assert_eq!(both, ["private/style", "private/fog"]);
    assert_eq!(hook(&memories, "a sober style", &[]).await, ["private/style"], "only once");
    let asked = serde_json::json!({ "project_dir": DIR, "query": "how far in the haze?" });
    let found = memories.recall(serde_json::from_value(asked).unwrap()).await.unwrap().memories;
    let haze = found.iter().find(|one| one.name == "haze").expect("a search finds it");
    assert_eq!(haze.recall, Some(MemoryRecall::Never));
    let key = format!("ghp_{}", "Ab1".repeat(12));
    let dir = memories.project(DIR).await.unwrap().directory(Scope::Private).dir.clone();
    std::fs::write(dir.join("style.md"), format!("---\nrecall: always\n---\n{key}\n")).unwrap();
    memories.project(DIR).await.unwrap().directory(Scope::Private).doubt();
    assert_eq!(hook(&memories, "hello", &[]).await, [""; 0], "a secret is held back");
    memories.cx.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extraction_neither_pins_a_topic_nor_releases_it() {
    let home = tempfile::tempdir().unwrap();
    let mut settings = Settings::at(home.path());
    settings.memory.extraction = "off".to_owned();
    let memories = start(settings, None).await;
    let id = session(&memories).await;
    say(&memories, id, &["From now on, use pnpm for installs.".into(), "Good.".into()]).await;
    let name = extract(&memories, id).await.memories[0].name.clone();
    let text = async || memories.memory(DIR, Scope::Private, &name).await.unwrap().text;
    let pinned = text().await.replacen("---\n", "---\nrecall: always\n", 1);
    put(&memories, &name, &pinned).await;
    let id = session(&memories).await;
    say(&memories, id, &["From now on, use yarn for installs.".into(), "Good.".into()]).await;
    extract(&memories, id).await;
    let replaced = text().await;
    assert!(replaced.contains("yarn") && replaced.contains("\nrecall: always\n"), "{replaced}");

    let project = memories.project(DIR).await.unwrap();
    let write = |by: MemoryAuthor, name: &str| MemoryWrite {
        scope: Scope::Private,
        file: DirectoryFile::Topic(Name::parse(name).unwrap()),
        text: Some("---\ndescription: new\nrecall: always\n---\n\nNew.\n".to_owned()),
        expected: Expected::Absent,
        author: Author { by, session: None, note: String::new() },
    };
    memories.write_memory(&project, write(MemoryAuthor::Extraction, "one")).await.unwrap();
    memories.write_memory(&project, write(MemoryAuthor::Person, "two")).await.unwrap();
    let listed = memories.memories(DIR, None, None, None).await.unwrap().memories;
    let recall = |name: &str| listed.iter().find(|one| one.name == name).unwrap().recall;
    assert_eq!((recall("one"), recall("two").is_some()), (None, true));
    memories.cx.stop().await;
}
