//! Tests with one writer at a time: what is read, written, listed, removed and refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use bethink_memdir::{Hash, Name, Scope};
use bethink_memdir_fs::limits::MOST_BYTES;
use bethink_memdir_fs::{
    Conflict, DirectoryFile, Expected, FileError, Follow, MemoryRoot, RootError, UnusableReason,
    WriteOutcome,
};

struct Place {
    _dir: tempfile::TempDir,
    root: MemoryRoot,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = MemoryRoot::create(&dir.path().join("memory"), Scope::Private, Follow::No);
        Self { root: root.unwrap(), _dir: dir }
    }

    fn path(&self) -> &Path {
        self.root.path()
    }

    fn save(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap()
    }

    fn read(&self, path: &str) -> Result<Option<String>, FileError> {
        let content = self.root.read(&file(path))?;
        Ok(content.map(|content| content.text().unwrap().to_owned()))
    }

    fn why(&self, path: &str) -> UnusableReason {
        match self.root.read(&file(path)) {
            Err(FileError::Strange { why, .. }) => why,
            other => panic!("{path}: {other:?}"),
        }
    }

    fn put(&self, path: &str, before: &str, text: &str) -> Result<WriteOutcome, FileError> {
        self.root.replace(&file(path), Expected::Hash(hash(before)), text.as_bytes())
    }

    fn add(&self, path: &str, text: &str) -> Result<WriteOutcome, FileError> {
        self.root.replace(&file(path), Expected::Absent, text.as_bytes())
    }

    fn hidden(&self) -> Vec<String> {
        let names = fs::read_dir(self.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with('.')).collect()
    }
}

fn file(path: &str) -> DirectoryFile {
    DirectoryFile::parse(path).unwrap()
}

fn hash(text: &str) -> Hash {
    Hash::of(text.as_bytes())
}

#[track_caller]
fn conflict(replaced: WriteOutcome) -> Conflict {
    match replaced {
        WriteOutcome::Conflict(conflict) => conflict,
        other => panic!("no conflict: {other:?}"),
    }
}

#[track_caller]
fn done(replaced: WriteOutcome) -> Option<String> {
    match replaced {
        WriteOutcome::Done { before, .. } => before.map(|c| c.text().unwrap().to_owned()),
        other => panic!("not written: {other:?}"),
    }
}

#[test]
fn what_is_written_is_read_listed_and_removed() {
    let place = Place::new();
    assert_eq!(done(place.add("plans/fog.md", "a").unwrap()), None);
    assert_eq!(done(place.add("MEMORY.md", "index").unwrap()), None);
    assert_eq!(done(place.put("plans/fog.md", "a", "b").unwrap()).as_deref(), Some("a"));
    assert_eq!(place.read("plans/fog.md").unwrap().as_deref(), Some("b"));
    let listing = place.root.list().unwrap();
    assert_eq!(listing.index.unwrap().bytes, 5);
    assert_eq!(listing.topics.len(), 1);
    assert_eq!(listing.topics[0].0, Name::parse("plans/fog").unwrap());
    assert_eq!(listing.strange, []);

    let removed = place.root.remove(&file("plans/fog.md"), hash("b")).unwrap();
    assert!(matches!(removed, WriteOutcome::Removed { before } if before.bytes == b"b"));
    assert_eq!(place.read("plans/fog.md").unwrap(), None);
    let again = place.root.remove(&file("plans/fog.md"), hash("b")).unwrap();
    assert!(matches!(again, WriteOutcome::Absent));
}

#[test]
fn a_stat_that_a_write_returns_is_the_one_that_is_listed() {
    let place = Place::new();
    let WriteOutcome::Done { stat, .. } = place.add("fog.md", "a").unwrap() else {
        panic!("not done")
    };
    assert_eq!(place.root.list().unwrap().topics[0].1, stat);
    let WriteOutcome::Done { stat, .. } = place.put("fog.md", "a", "b").unwrap() else {
        panic!("not done")
    };
    assert_eq!(place.root.list().unwrap().topics[0].1, stat);
}

#[test]
fn a_write_that_saw_something_else_is_a_conflict() {
    let place = Place::new();
    place.save("fog.md", "theirs");
    assert_eq!(
        conflict(place.put("fog.md", "old", "mine").unwrap()).current.unwrap().bytes,
        b"theirs"
    );
    assert_eq!(conflict(place.add("fog.md", "mine").unwrap()).current.unwrap().bytes, b"theirs");
    assert!(conflict(place.put("rain.md", "old", "mine").unwrap()).current.is_none());
    assert!(matches!(
        place.root.remove(&file("fog.md"), hash("old")).unwrap(),
        WriteOutcome::Conflict(Conflict { current: Some(now), .. }) if now.bytes == b"theirs"
    ));
    assert_eq!(place.text("fog.md"), "theirs");
    assert_eq!(place.hidden(), [] as [String; 0]);
}

#[test]
fn equal_content_is_success_without_a_write() {
    let place = Place::new();
    place.save("fog.md", "same");
    let before = fs::metadata(place.path().join("fog.md")).unwrap();
    assert!(matches!(place.put("fog.md", "old", "same").unwrap(), WriteOutcome::Same { .. }));
    assert!(matches!(place.add("fog.md", "same").unwrap(), WriteOutcome::Same { .. }));
    let after = fs::metadata(place.path().join("fog.md")).unwrap();
    assert_eq!((before.ino(), before.ctime_nsec()), (after.ino(), after.ctime_nsec()));
}

#[test]
fn what_an_editor_writes_into_a_displaced_file_is_told() {
    let place = Place::new();
    place.save("fog.md", "old");
    let editor = fs::OpenOptions::new().write(true).open(place.path().join("fog.md")).unwrap();
    done(place.put("fog.md", "old", "new").unwrap());
    std::io::Write::write_all(&mut &editor, b"late").unwrap();

    assert_eq!(place.root.settle(Duration::from_secs(60)), [], "within its grace");
    let settled = place.root.settle(Duration::ZERO);
    assert_eq!(settled.len(), 1);
    assert_eq!((&settled[0].file, &settled[0].content.bytes[..]), (&file("fog.md"), &b"late"[..]));
    assert_eq!(place.root.settle(Duration::ZERO), settled, "returned until it is released");
    place.root.release(&settled);
    assert_eq!(place.root.settle(Duration::ZERO), []);
    assert_eq!(place.hidden(), [] as [String; 0]);
    assert_eq!(place.text("fog.md"), "new");
}

#[test]
fn what_is_displaced_and_left_alone_goes_in_silence() {
    let place = Place::new();
    place.save("fog.md", "old");
    done(place.put("fog.md", "old", "new").unwrap());
    assert_eq!(place.root.unsettled(), 1);
    assert_eq!(place.root.settle(Duration::ZERO), []);
    assert_eq!((place.root.unsettled(), place.hidden().len()), (0, 0));
}

#[test]
fn modes_are_private_whatever_the_umask_and_kept_where_a_person_chose_others() {
    let place = Place::new();
    done(place.add("plans/fog.md", "a").unwrap());
    let mode = |path: &str| fs::metadata(place.path().join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode(""), mode("plans"), mode("plans/fog.md")), (0o700, 0o700, 0o600));
    fs::set_permissions(place.path().join("plans/fog.md"), PermissionsExt::from_mode(0o664))
        .unwrap();
    done(place.put("plans/fog.md", "a", "b").unwrap());
    assert_eq!(mode("plans/fog.md"), 0o664);
    fs::set_permissions(place.path().join("plans/fog.md"), PermissionsExt::from_mode(0o444))
        .unwrap();
    assert!(matches!(place.put("plans/fog.md", "b", "c"), Err(FileError::ReadOnly { .. })));
    assert_eq!(place.text("plans/fog.md"), "b");
}

#[test]
fn a_linked_directory_is_opened_only_when_a_person_said_so() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("real")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    symlink("real", dir.path().join("link")).unwrap();
    let open =
        |name: &str, follow| MemoryRoot::open(&dir.path().join(name), Scope::Private, follow);
    assert!(matches!(open("link", Follow::No), Err(RootError::Linked { .. })));
    assert!(open("link", Follow::Yes).unwrap().is_some_and(|root| root.is_current()));
    assert!(matches!(open("file", Follow::No), Err(RootError::NotADirectory { .. })));
    assert!(open("nowhere", Follow::No).unwrap().is_none());
}

#[test]
fn a_directory_that_is_another_one_now_is_not_written() {
    for replace in [true, false] {
        let place = Place::new();
        place.save("fog.md", "old");
        fs::rename(place.path(), place.path().with_extension("moved")).unwrap();
        if replace {
            place.save("fog.md", "other");
        }
        assert!(!place.root.is_current());
        assert!(matches!(place.put("fog.md", "old", "new"), Err(FileError::Moved { .. })));
        assert!(matches!(place.root.list(), Err(FileError::Moved { .. })));
        assert!(matches!(place.root.read(&file("fog.md")), Err(FileError::Moved { .. })));
    }
}

#[test]
fn links_are_read_where_they_stay_inside() {
    let place = Place::new();
    place.save("archive/real.md", "inside");
    place.save("../outside.md", "secret");
    place.save(".git/config", "token");
    place.save("team/theirs.md", "theirs");
    let link = |target: &str, name: &str| symlink(target, place.path().join(name)).unwrap();
    link("archive/real.md", "good.md");
    link("../archive/../good.md", "archive/round.md");
    link("../outside.md", "out.md");
    link("/etc/hostname", "etc.md");
    link(".git/config", "git.md");
    link("team/theirs.md", "promoted.md");
    link("nothing.md", "dangling.md");
    link("circle.md", "circle.md");
    link("..", "archive/up");
    link("archive/up/archive/real.md", "behind.md");

    assert_eq!(place.read("good.md").unwrap().as_deref(), Some("inside"));
    assert_eq!(place.read("archive/round.md").unwrap().as_deref(), Some("inside"));
    assert_eq!(place.why("out.md"), UnusableReason::Outside);
    assert_eq!(place.why("etc.md"), UnusableReason::Outside);
    assert_eq!(place.why("git.md"), UnusableReason::Hidden);
    assert_eq!(place.why("promoted.md"), UnusableReason::Team);
    assert_eq!(place.why("dangling.md"), UnusableReason::Dangling);
    assert_eq!(place.why("circle.md"), UnusableReason::Dangling);
    assert_eq!(place.why("behind.md"), UnusableReason::LinkedFolder);
    assert_eq!(place.why("archive/up/good.md"), UnusableReason::LinkedFolder);
    assert_eq!(place.why("team/theirs.md"), UnusableReason::OfTheTeam);

    let listing = place.root.list().unwrap();
    let topics: Vec<&str> = listing.topics.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(topics, ["archive/real", "archive/round", "good"]);
    let strange: Vec<&str> = listing.strange.iter().map(|s| s.path.as_str()).collect();
    let expected = ["behind", "circle", "dangling", "etc", "git", "out", "promoted"];
    assert_eq!(strange, expected.map(|name| format!("{name}.md")));
}

#[test]
fn a_write_through_a_link_writes_its_file_and_keeps_the_link() {
    let place = Place::new();
    place.save("archive/real.md", "old");
    symlink("archive/real.md", place.path().join("good.md")).unwrap();
    done(place.put("good.md", "old", "new").unwrap());
    assert_eq!(place.text("archive/real.md"), "new");
    assert!(fs::symlink_metadata(place.path().join("good.md")).unwrap().is_symlink());
    let removed = place.root.remove(&file("good.md"), hash("new"));
    assert!(matches!(removed, Err(FileError::Strange { why: UnusableReason::Linked, .. })));
    symlink("/etc/hostname", place.path().join("etc.md")).unwrap();
    assert!(place.add("etc.md", "mine").is_err());
    assert!(fs::symlink_metadata(place.path().join("etc.md")).unwrap().is_symlink());
}

#[test]
fn pipes_devices_sockets_and_folders_are_named_and_never_waited_for() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe.md"), pipe, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.md")).unwrap();
    fs::create_dir(at("folder.md")).unwrap();
    symlink("/proc/self/mem", at("memory-of-process.md")).unwrap();
    symlink("/dev/zero", at("zero.md")).unwrap();

    let began = Instant::now();
    for name in ["pipe.md", "socket.md", "folder.md"] {
        assert_eq!(place.why(name), UnusableReason::NotAFile, "{name}");
        assert!(place.add(name, "mine").is_err(), "{name}");
    }
    for name in ["memory-of-process.md", "zero.md"] {
        assert_eq!(place.why(name), UnusableReason::Outside, "{name}");
    }
    assert_eq!(place.root.list().unwrap().strange.len(), 4);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[test]
fn hard_links_are_read_and_a_write_leaves_the_other_name_alone() {
    let place = Place::new();
    place.save("../outside.md", "shared");
    fs::hard_link(place.path().join("../outside.md"), place.path().join("fog.md")).unwrap();
    assert_eq!(place.read("fog.md").unwrap().as_deref(), Some("shared"));
    done(place.put("fog.md", "shared", "mine").unwrap());
    assert_eq!(place.text("../outside.md"), "shared");
}

#[test]
fn what_is_too_large_is_listed_and_never_read_whole() {
    let place = Place::new();
    let sparse = fs::File::create(place.path().join("huge.md")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert_eq!(place.why("huge.md"), UnusableReason::TooLarge { bytes: 1 << 40 });
    let listing = place.root.list().unwrap();
    assert_eq!(listing.strange[0].why, UnusableReason::TooLarge { bytes: 1 << 40 });
    let large = "x".repeat(usize::try_from(MOST_BYTES).unwrap() + 1);
    let refused = place.add("large.md", &large).unwrap_err();
    assert!(matches!(refused, FileError::Strange { why: UnusableReason::TooLarge { .. }, .. }));
}

#[test]
fn bytes_that_are_no_text_are_read_as_bytes() {
    let place = Place::new();
    fs::write(place.path().join("latin.md"), b"caf\xe9").unwrap();
    let content = place.root.read(&file("latin.md")).unwrap().unwrap();
    assert_eq!((content.text(), &content.bytes[..]), (None, &b"caf\xe9"[..]));
}

#[test]
fn names_that_some_system_takes_for_one_are_not_made_twice() {
    let place = Place::new();
    place.save("Fog.md", "a");
    place.save("Plans/x.md", "a");
    place.save("caf\u{e9}.md", "a");
    for twin in ["fog.md", "FOG.md", "plans/y.md", "cafe\u{301}.md"] {
        assert!(matches!(place.add(twin, "b"), Err(FileError::Twin { .. })), "{twin}");
    }
    done(place.add("Plans/y.md", "b").unwrap());
}

#[test]
fn what_a_broken_off_write_left_is_handed_out_before_it_goes() {
    let place = Place::new();
    place.save("plans/.bethink-0123456789abcdef-fog.md.tmp", "left");
    place.save("plans/.bethink-0123456789abcdef-..tmp", "no topic of ours");
    place.save("plans/fog.md", "now");
    let listing = place.root.list().unwrap();
    let changed = i64::try_from(listing.left[0].stat.stamp.ctime / 1_000).unwrap();
    let at = |seconds: i64| bethink_transcript::UnixMicros(changed + seconds * 1_000_000);
    assert_eq!(place.root.sweep(&listing, at(5)), [], "another daemon may be using it");
    let swept = place.root.sweep(&listing, at(3_600));
    assert_eq!(swept.len(), 1);
    assert_eq!(
        (&swept[0].file, &swept[0].content.bytes[..]),
        (&file("plans/fog.md"), &b"left"[..])
    );
    assert_eq!(place.root.sweep(&listing, at(3_600)), [], "already collected");
    assert_eq!(place.root.settle(Duration::from_secs(60)), swept, "returned until it is released");
    place.root.release(&swept);
    assert_eq!(place.root.settle(Duration::from_secs(60)), []);
    assert_eq!(fs::read_dir(place.path().join("plans")).unwrap().count(), 2);
    assert_eq!(place.text("plans/fog.md"), "now");
}
