//! Tests that memory is never stored for a project that bethink does not list.

use bethink_memdir::{Hash, Scope};

use super::home::boot;
use crate::memory_write::Expected;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_is_noted_before_its_first_memory_is_written() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    // The write fails at the point where the process could be killed.
    let (text, expected) = ("Use pnpm.".to_owned(), Expected::Hash(Hash::of(b"another text")));
    let put = memories.put_memory("/project", Scope::Private, "pnpm", text, expected).await;
    put.unwrap_err();
    assert_eq!(memories.projects_except(Vec::new()).await.unwrap(), ["/project"]);
    memories.cx.stop().await;
}
