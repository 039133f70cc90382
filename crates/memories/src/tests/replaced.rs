//! Tests a directory that is moved away while it is in use.

use bethink_memdir::Scope;

use super::home::boot;
use crate::memory_write::Expected;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_was_replaced_has_the_new_topics_only() {
    let home = tempfile::tempdir().unwrap();
    let memories = boot(&home).await;
    let project = memories.project("/project").await.unwrap();
    let directory = project.directory(Scope::Private);
    for name in ["fog", "mist"] {
        let text = format!("---\ndescription: {name}\n---\n");
        let put = memories.put_memory("/project", Scope::Private, name, text, Expected::Absent);
        put.await.unwrap();
    }
    let names = || async {
        let shown = memories.snapshot_anew(directory).await.unwrap();
        shown.topics.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["fog", "mist"]);
    let away = directory.dir.with_file_name("away");
    std::fs::rename(&directory.dir, &away).unwrap();
    // A write makes the directory again before anything has looked at it.
    let text = "---\ndescription: rain\n---\n".to_owned();
    let put = memories.put_memory("/project", Scope::Private, "rain", text, Expected::Absent);
    put.await.unwrap();
    assert_eq!(names().await, ["rain"]);
    std::fs::remove_dir_all(&directory.dir).unwrap();
    assert_eq!(names().await, [""; 0]);
    std::fs::rename(&away, &directory.dir).unwrap();
    assert_eq!(names().await, ["fog", "mist"]);
    memories.cx.stop().await;
}
