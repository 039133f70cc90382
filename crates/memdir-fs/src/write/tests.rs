//! Tests full and read-only disks, and file systems that support fewer operations.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod trial;

use std::fs;
use std::time::Duration;

use bethink_harness::disk::Disk;
use bethink_memdir::{Hash, Scope};

use super::{Expected, WriteOutcome};
use crate::draft::FileDraft;
use crate::error::FileError;
use crate::file::DirectoryFile;
use crate::rename::Abilities;
use crate::root::{Follow, MemoryRoot};

fn file() -> DirectoryFile {
    DirectoryFile::parse("fog.md").unwrap()
}

fn over(root: &MemoryRoot, before: &str, text: &str) -> Result<WriteOutcome, FileError> {
    root.replace(&file(), Expected::Hash(Hash::of(before.as_bytes())), text.as_bytes())
}

#[test]
fn a_full_disk_leaves_the_old_file_and_heals() {
    let Some(disk) = Disk::mount(64) else {
        return println!("skipped: mounting is not allowed here");
    };
    let root = MemoryRoot::create(&disk.path().join("memory"), Scope::Private, Follow::No).unwrap();
    let _ = root.replace(&file(), Expected::Absent, b"old").unwrap();
    let large = "x".repeat(128 << 10);
    assert!(matches!(over(&root, "old", &large), Err(FileError::NoRoom { .. })));
    let new = root.replace(&DirectoryFile::Index, Expected::Absent, large.as_bytes());
    assert!(matches!(new, Err(FileError::NoRoom { .. })));
    assert_eq!(root.read(&file()).unwrap().unwrap().bytes, b"old");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "no draft is left");
    assert!(matches!(over(&root, "old", "new").unwrap(), WriteOutcome::Done { .. }));
}

#[test]
fn a_read_only_disk_is_read_and_says_no() {
    let Some(disk) = Disk::mount(64) else {
        return println!("skipped: mounting is not allowed here");
    };
    let root = MemoryRoot::create(&disk.path().join("memory"), Scope::Private, Follow::No).unwrap();
    let _ = root.replace(&file(), Expected::Absent, b"old").unwrap();
    assert!(disk.remount("ro"));
    assert!(matches!(over(&root, "old", "new"), Err(FileError::Denied { .. })));
    let removed = root.remove(&file(), Hash::of(b"old"));
    assert!(matches!(removed, Err(FileError::Denied { .. })), "{removed:?}");
    assert_eq!(root.read(&file()).unwrap().unwrap().bytes, b"old");
    assert_eq!(root.list().unwrap().topics.len(), 1);
}

/// A write into a directory that is being moved is not acknowledged.
#[test]
fn a_directory_that_goes_during_a_write_is_noticed() {
    for moved in ["", "plans"] {
        let dir = tempfile::tempdir().unwrap();
        let memory = dir.path().join("memory");
        let root = MemoryRoot::create(&memory, Scope::Private, Follow::No).unwrap();
        let file = DirectoryFile::parse("plans/fog.md").unwrap();
        let place = root.find_or_make(&file).unwrap();
        let draft = FileDraft::write(&place, b"mine", 0o600).unwrap();
        root.abilities.place(&place.dir, &draft.name, &place.name).unwrap();
        assert!(matches!(root.done(&place, &draft, None), Ok(WriteOutcome::Done { .. })));
        let moved: std::path::PathBuf = memory.join(moved).components().collect();
        fs::rename(&moved, dir.path().join("elsewhere")).unwrap();
        fs::create_dir_all(memory.join("plans")).unwrap();
        let done = root.done(&place, &draft, None);
        assert!(matches!(done, Err(FileError::Moved { .. })), "{moved:?}: {done:?}");
    }
}

/// Tests file systems with fewer and fewer operations: exchange, rename without overwriting, hard links, none of them.
#[test]
fn every_file_system_compares_and_swaps() {
    for able in
        [(true, true, true), (false, true, true), (false, false, true), (false, false, false)]
    {
        let dir = tempfile::tempdir().unwrap();
        let mut root = MemoryRoot::create(dir.path(), Scope::Private, Follow::No).unwrap();
        root.abilities = Abilities::of(able.0, able.1, able.2);
        let path = dir.path().join("fog.md");

        assert!(matches!(
            root.replace(&file(), Expected::Absent, b"one").unwrap(),
            WriteOutcome::Done { before: None, .. }
        ));
        assert!(matches!(
            over(&root, "one", "two").unwrap(),
            WriteOutcome::Done { before: Some(before), .. } if before.bytes == b"one"
        ));
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(over(&root, "two", "three").unwrap(), WriteOutcome::Conflict(_)));
        let late = root.put_over(&file(), Hash::of(b"two"), b"three").unwrap();
        assert!(matches!(late, WriteOutcome::Conflict(_)), "{able:?}: {late:?}");
        let late = root.put_new(&file(), b"three").unwrap();
        assert!(matches!(late, WriteOutcome::Conflict(_)), "{able:?}: {late:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");

        let editor = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let removed = root.remove(&file(), Hash::of(b"theirs")).unwrap();
        assert!(matches!(removed, WriteOutcome::Removed { before } if before.bytes == b"theirs"));
        std::io::Write::write_all(&mut &editor, b"late").unwrap();
        let settled = root.settle(Duration::ZERO);
        assert_eq!(settled.len(), 1, "{able:?}");
        root.release(&settled);
        assert_eq!(root.settle(Duration::ZERO), []);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{able:?}");
    }
}
