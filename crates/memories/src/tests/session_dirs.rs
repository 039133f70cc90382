//! Tests which directories with sessions belong to a project.

use std::fs;

use bethink_config::Settings;

use super::home::{git, session_in, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worktrees_and_folders_belong_to_their_project_and_other_repositories_do_not() {
    let home = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(home.path()).unwrap();
    let memories = start(Settings::at(base.join("home")), None).await;
    let dir = |name: &str| base.join(name).display().to_string();
    let inside = ["mill", "mill/src", "mill-fix", "mill-fix/src", "mill/gone"];
    let outside = ["mill/vendored", "mill-2", "mill-gone", "."];
    for name in ["mill/src", "mill/vendored", "mill-2"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    for (name, words) in [
        ("mill", &["init", "-q"][..]),
        ("mill", &["commit", "-q", "--allow-empty", "-m", "begin"]),
        ("mill", &["worktree", "add", "-q", "../mill-fix"]),
        ("mill/vendored", &["init", "-q"]),
        ("mill-2", &["init", "-q"]),
    ] {
        git(&base.join(name), words);
    }
    for name in inside.iter().chain(&outside) {
        session_in(&memories, &dir(name)).await;
    }
    let mut expected = inside.map(dir);
    expected.sort();
    for name in inside {
        let mut found = memories.session_dirs(&dir(name)).await.unwrap();
        found.sort();
        assert_eq!(found, expected, "{name}");
    }
    for name in outside {
        assert_eq!(memories.session_dirs(&dir(name)).await.unwrap(), [dir(name)], "{name}");
    }
    assert_eq!(memories.session_dirs(&dir("none")).await.unwrap(), [""; 0]);
    assert_eq!(memories.session_dirs("relative").await.unwrap(), ["relative"]);
    memories.cx.stop().await;
}
