//! Tests each step of undoing a write that came too late: whatever others do during it, their last save is kept.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use bethink_memdir::{Hash, Scope};

use crate::draft::FileDraft;
use crate::error::{FileError, UnusableReason};
use crate::file::DirectoryFile;
use crate::root::{Follow, MemoryRoot};

/// A file with the content "theirs", which our draft replaced with "mine".
struct Late {
    _dir: tempfile::TempDir,
    root: MemoryRoot,
}

impl Late {
    fn path(&self) -> PathBuf {
        self.root.path().join("fog.md")
    }

    /// Undoes the write after `meanwhile`. Returns the scene, and the contents that were returned to the caller.
    fn back(meanwhile: impl FnOnce(&Self)) -> (Self, Result<Vec<String>, FileError>) {
        let dir = tempfile::tempdir().unwrap();
        let root = MemoryRoot::create(dir.path(), Scope::Private, Follow::No).unwrap();
        fs::write(dir.path().join("fog.md"), "theirs").unwrap();
        let late = Self { root, _dir: dir };
        let place = late.root.find(&file()).unwrap().unwrap();
        let draft = FileDraft::write(&place, b"mine", 0o600).unwrap();
        assert!(late.root.abilities.exchange(&place.dir, &draft.name, &place.name).unwrap());
        meanwhile(&late);
        let displaced = late.root.give_back(&file(), &place, draft);
        let texts = |all: Vec<crate::FileContent>| {
            all.into_iter().map(|c| String::from_utf8(c.bytes).unwrap()).collect()
        };
        (late, displaced.map(texts))
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn rename_save(&self, text: &str) {
        let temp = self.root.path().join(".editor");
        fs::write(&temp, text).unwrap();
        fs::rename(temp, self.path()).unwrap();
    }
}

fn file() -> DirectoryFile {
    DirectoryFile::parse("fog.md").unwrap()
}

#[test]
fn what_was_saved_goes_back_as_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fog.md");
    fs::write(&path, "theirs").unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    let root = MemoryRoot::create(dir.path(), Scope::Private, Follow::No).unwrap();
    let replaced = root.put_over(&file(), Hash::of(b"what I had read"), b"mine").unwrap();
    let crate::WriteOutcome::Conflict(conflict) = replaced else { panic!("{replaced:?}") };
    assert_eq!((conflict.current.unwrap().bytes, conflict.displaced), (b"theirs".to_vec(), vec![]));
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    assert_eq!(root.settle(Duration::ZERO), []);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_save_over_ours_stays_and_the_one_before_is_handed_out() {
    let (late, displaced) = Late::back(|late| late.rename_save("newest"));
    assert_eq!((late.text().as_str(), displaced.unwrap()), ("newest", vec!["theirs".to_owned()]));
}

#[test]
fn a_save_into_our_own_file_is_one() {
    let (late, displaced) = Late::back(|late| fs::write(late.path(), "newest").unwrap());
    assert_eq!((late.text().as_str(), displaced.unwrap()), ("newest", vec!["theirs".to_owned()]));
}

#[test]
fn a_save_that_reaches_our_file_after_it_was_taken_back_is_told() {
    let mut editor = None;
    let (late, displaced) = Late::back(|late| {
        editor = Some(fs::OpenOptions::new().write(true).open(late.path()).unwrap());
    });
    assert_eq!((late.text().as_str(), displaced.unwrap().len()), ("theirs", 0));
    std::io::Write::write_all(&mut editor.unwrap(), b"late").unwrap();
    let settled = late.root.settle(Duration::ZERO);
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0].content.bytes, b"late");
}

#[test]
fn a_removal_stays_and_what_was_saved_before_is_handed_out() {
    let (late, displaced) = Late::back(|late| fs::remove_file(late.path()).unwrap());
    assert_eq!((late.path().exists(), displaced.unwrap()), (false, vec!["theirs".to_owned()]));
}

#[test]
fn what_is_no_file_stays_where_it_was_put() {
    let (late, displaced) = Late::back(|late| {
        fs::remove_file(late.path()).unwrap();
        fs::create_dir(late.path()).unwrap();
    });
    assert!(late.path().is_dir());
    assert_eq!(displaced.unwrap(), ["theirs"]);
}

#[test]
fn what_came_out_and_is_no_file_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fog.md");
    fs::create_dir(&path).unwrap();
    let root = MemoryRoot::create(dir.path(), Scope::Private, Follow::No).unwrap();
    let late = root.put_over(&file(), Hash::of(b"a file"), b"mine");
    assert!(
        matches!(late, Err(FileError::Strange { why: UnusableReason::NotAFile, .. })),
        "{late:?}"
    );
    assert!(path.is_dir());
}
