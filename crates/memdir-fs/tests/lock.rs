//! Tests that only one process at a time holds a directory's lock.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bethink_memdir::Scope;
use bethink_memdir_fs::{Follow, Holder, LockOutcome, MemoryRoot};
use bethink_transcript::UnixMicros;

const HOUR: Duration = Duration::from_secs(3_600);
const FILE: &str = ".bethink.lock";

fn root(dir: &std::path::Path) -> MemoryRoot {
    MemoryRoot::create(dir, Scope::Private, Follow::No).unwrap()
}

fn minutes(count: i64) -> UnixMicros {
    UnixMicros(count * 60_000_000)
}

#[test]
fn a_lock_is_held_while_it_is_heard_of() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (root(dir.path()), root(dir.path()));
    let free = LockOutcome::Ours { after: None };
    assert_eq!(one.lock("one", minutes(0), HOUR).unwrap(), free);
    assert_eq!(one.lock("one", minutes(1), HOUR).unwrap(), free, "held already");
    let held = LockOutcome::Held(Holder { owner: "one".to_owned(), heard: minutes(1) });
    assert_eq!(other.lock("other", minutes(59), HOUR).unwrap(), held);
    assert!(one.keep_lock("one", minutes(59)).unwrap());
    assert!(matches!(other.lock("other", minutes(118), HOUR).unwrap(), LockOutcome::Held(_)));
    assert!(one.unlock("one").unwrap());
    assert!(!dir.path().join(FILE).exists(), "nothing is left behind");
    assert_eq!(other.lock("other", minutes(118), HOUR).unwrap(), free);
}

#[test]
fn who_is_silent_for_too_long_is_followed_by_another() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (root(dir.path()), root(dir.path()));
    assert_eq!(one.lock("one", minutes(0), HOUR).unwrap(), LockOutcome::Ours { after: None });
    let before = Holder { owner: "one".to_owned(), heard: minutes(0) };
    assert_eq!(
        other.lock("other", minutes(60), HOUR).unwrap(),
        LockOutcome::Ours { after: Some(before) }
    );
    assert!(
        !one.keep_lock("one", minutes(61)).unwrap(),
        "the old holder notices that it lost the lock"
    );
    assert!(one.unlock("one").unwrap());
    assert!(
        other.keep_lock("other", minutes(61)).unwrap(),
        "the old holder's `unlock` does not release the new lock"
    );
}

#[test]
fn what_is_no_lock_is_nobodys() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    for broken in ["", "12", "12 someone", "never someone\n", "\u{0}\u{0}"] {
        std::fs::write(dir.path().join(FILE), broken).unwrap();
        assert_eq!(
            root.lock("one", minutes(0), HOUR).unwrap(),
            LockOutcome::Ours { after: None },
            "{broken:?}"
        );
    }
    // A heartbeat from a clock that was far ahead does not block the lock for years.
    std::fs::write(dir.path().join(FILE), format!("{} someone\n", minutes(1_000_000).0)).unwrap();
    assert!(matches!(
        root.lock("one", minutes(0), HOUR).unwrap(),
        LockOutcome::Ours { after: Some(_) }
    ));
}

#[test]
fn a_lock_is_no_way_out_of_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("outside");
    std::fs::write(&outside, "precious").unwrap();
    let inside = dir.path().join("memory");
    let root = root(&inside);
    symlink(&outside, inside.join(FILE)).unwrap();
    assert!(root.lock("one", minutes(0), HOUR).is_err());
    assert!(root.unlock("one").is_err());
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "precious");
    std::fs::remove_file(inside.join(FILE)).unwrap();
    std::fs::create_dir(inside.join(FILE)).unwrap();
    assert!(root.lock("one", minutes(0), HOUR).is_err());
}

#[test]
fn a_lock_is_no_memory() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    assert_eq!(root.lock("one", minutes(0), HOUR).unwrap(), LockOutcome::Ours { after: None });
    let listing = root.list().unwrap();
    assert!(listing.topics.is_empty() && listing.strange.is_empty() && listing.left.is_empty());
}

/// Many threads take the lock again and again; two never hold it at the same time.
#[test]
fn two_never_hold_it() {
    let dir = tempfile::tempdir().unwrap();
    drop(root(dir.path()));
    let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (inside, taken, dir) = (&inside, &taken, dir.path());
            scope.spawn(move || {
                let (root, owner) = (root(dir), format!("thread {thread}"));
                for _ in 0..200 {
                    if let LockOutcome::Ours { .. } = root.lock(&owner, minutes(0), HOUR).unwrap() {
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        assert!(root.keep_lock(&owner, minutes(0)).unwrap());
                        inside.fetch_sub(1, Ordering::SeqCst);
                        taken.fetch_add(1, Ordering::SeqCst);
                        while !root.unlock(&owner).unwrap() {}
                    }
                }
            });
        }
    });
    assert!(taken.load(Ordering::SeqCst) > 0);
}
