//! Tests which changes are noticed: on a system that works, on one without watches, and on one that loses events.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bethink_memdir::Scope;
use notify::event::{CreateKind, Flag};
use notify::{Event, EventKind, RecursiveMode};

use super::{System, Watch, WatchState, system};
use crate::dirty::Dirty;
use crate::file::DirectoryFile;
use crate::root::Follow;

/// Far longer than noticing a change takes, and far shorter than a person would wait.
const PATIENCE: Duration = Duration::from_secs(10);

struct Scene {
    dir: tempfile::TempDir,
    watch: Watch,
    changes: Receiver<(PathBuf, Dirty)>,
    shared: Arc<Mutex<Option<Arc<WatchState>>>>,
}

impl Scene {
    fn new() -> Self {
        Self::on(system)
    }

    fn on(system: impl FnOnce(Arc<WatchState>) -> notify::Result<System>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("memory")).unwrap();
        let (send, changes) = channel();
        let shared = Arc::new(Mutex::new(None));
        let handed = Arc::clone(&shared);
        let system = move |shared: Arc<WatchState>| {
            *handed.lock().unwrap() = Some(Arc::clone(&shared));
            system(shared)
        };
        let tell = move |path: &Path, dirty| drop(send.send((path.to_owned(), dirty)));
        let watch = Watch::start_on(system, tell).unwrap();
        Self { dir, watch, changes, shared }
    }

    fn path(&self, within: &str) -> PathBuf {
        self.dir.path().join("memory").join(within)
    }

    /// Starts the watch, and waits until it is active.
    fn watched(self) -> Self {
        let path = self.dir.path().join("memory");
        self.watch.add(&path, Scope::Private, Follow::No);
        self.until(|dirty| *dirty == Dirty::Everything);
        self
    }

    fn save(&self, within: &str) {
        fs::write(self.path(within), within).unwrap();
    }

    fn until(&self, met: impl Fn(&Dirty) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.changes.recv_timeout(left) {
                Ok((_, dirty)) if met(&dirty) => return,
                Ok(_) => {}
                Err(error) => panic!("not noticed: {error}"),
            }
        }
    }

    fn until_file(&self, path: &str) {
        let file = DirectoryFile::parse(path).unwrap();
        self.until(|dirty| matches!(dirty, Dirty::Files(files) if files.contains(&file)));
    }

    fn until_touched(&self, path: &str) {
        let file = DirectoryFile::parse(path).unwrap();
        self.until(|dirty| match dirty {
            Dirty::Everything => true,
            Dirty::Files(files) => files.contains(&file),
        });
    }

    /// Returns every reported change before the change of `last`.
    fn all_before(&self, last: &str) -> BTreeSet<String> {
        self.save(last);
        let last = DirectoryFile::parse(last).unwrap();
        let mut told = BTreeSet::new();
        loop {
            match self.changes.recv_timeout(PATIENCE).unwrap().1 {
                Dirty::Everything => drop(told.insert("everything".to_owned())),
                Dirty::Files(files) => {
                    told.extend(files.iter().filter(|f| **f != last).map(ToString::to_string));
                    if files.contains(&last) {
                        return told;
                    }
                }
            }
        }
    }
}

#[test]
fn a_save_of_every_kind_is_noticed_by_name() {
    let scene = Scene::new().watched();
    scene.save("fog.md");
    scene.until_file("fog.md");
    fs::write(scene.path(".fog.md.swp"), "new").unwrap();
    fs::rename(scene.path(".fog.md.swp"), scene.path("fog.md")).unwrap();
    scene.until_file("fog.md");
    fs::rename(scene.path("fog.md"), scene.path("fog.md~")).unwrap();
    scene.save("MEMORY.md");
    scene.until_file("MEMORY.md");
    fs::remove_file(scene.path("MEMORY.md")).unwrap();
    scene.until_file("MEMORY.md");
}

#[test]
fn reading_hidden_files_other_files_and_the_teams_directory_are_no_change() {
    let scene = Scene::new();
    fs::create_dir(scene.path("team")).unwrap();
    scene.save("fog.md");
    let scene = scene.watched();
    fs::read(scene.path("fog.md")).unwrap();
    scene.save(".bethink-0123456789abcdef-fog.md.tmp");
    scene.save("picture.png");
    scene.save("team/theirs.md");
    assert_eq!(scene.all_before("last.md"), BTreeSet::new());
}

#[test]
fn what_lies_in_a_folder_that_was_just_made_is_told() {
    let scene = Scene::new().watched();
    fs::create_dir_all(scene.path("a/b")).unwrap();
    scene.save("a/b/fog.md");
    scene.until(|dirty| *dirty == Dirty::Everything);
    scene.save("a/b/rain.md");
    scene.until_file("a/b/rain.md");
    fs::rename(scene.path("a/b"), scene.path("c")).unwrap();
    scene.until(|dirty| *dirty == Dirty::Everything);
    scene.save("c/rain.md");
    scene.until_file("c/rain.md");
}

#[test]
fn a_directory_that_goes_and_comes_back_is_watched_again() {
    let scene = Scene::new().watched();
    fs::remove_dir(scene.path("")).unwrap();
    scene.until(|dirty| *dirty == Dirty::Everything);
    fs::create_dir(scene.path("")).unwrap();
    scene.until(|dirty| *dirty == Dirty::Everything);
    // A change before the new watch is reported as `Everything`, and a change after it by the file's name.
    scene.save("fog.md");
    scene.until_touched("fog.md");
    scene.save("rain.md");
    scene.until_touched("rain.md");
}

#[test]
fn a_link_upwards_leads_the_watch_nowhere() {
    let scene = Scene::new();
    symlink("..", scene.path("up")).unwrap();
    let scene = scene.watched();
    fs::write(scene.dir.path().join("outside.md"), "").unwrap();
    assert_eq!(scene.all_before("last.md"), BTreeSet::new());
}

#[test]
fn many_names_at_once_are_everything() {
    let scene = Scene::new().watched();
    let shared = scene.shared.lock().unwrap().clone().unwrap();
    for n in 0..1_000 {
        let path = scene.path(&format!("topic-{n}.md"));
        shared.take_in(Ok(Event::new(EventKind::Create(CreateKind::File)).add_path(path)));
    }
    scene.until(|dirty| *dirty == Dirty::Everything);
}

#[test]
fn lost_events_and_errors_are_everything() {
    let scene = Scene::new().watched();
    let shared = scene.shared.lock().unwrap().clone().unwrap();
    shared.take_in(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    scene.until(|dirty| *dirty == Dirty::Everything);
    shared.take_in(Err(notify::Error::generic("the queue broke")));
    scene.until(|dirty| *dirty == Dirty::Everything);
}

#[test]
fn without_watches_the_directory_is_looked_through() {
    let none = |_| Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch));
    let full = |_| Ok(Box::new(Full) as System);
    let scenes = [Scene::on(none), Scene::on(full)].map(Scene::watched);
    for scene in scenes {
        assert!(scene.watch.is_polled(&scene.dir.path().join("memory")));
        scene.until(|dirty| *dirty == Dirty::Everything);
    }
    let scene = Scene::new().watched();
    assert!(!scene.watch.is_polled(&scene.dir.path().join("memory")));
}

#[test]
fn what_is_removed_is_watched_no_more_and_a_quiet_watch_says_nothing() {
    let scene = Scene::new().watched();
    let other = scene.dir.path().join("elsewhere/other");
    fs::create_dir_all(&other).unwrap();
    scene.watch.add(&other, Scope::Team, Follow::No);
    scene.until(|dirty| *dirty == Dirty::Everything);
    scene.watch.remove(&other);
    fs::write(other.join("fog.md"), "").unwrap();
    scene.save("last.md");
    scene.until_file("last.md");
    let quiet = scene.changes.recv_timeout(Duration::from_millis(200));
    assert_eq!(quiet.unwrap_err(), RecvTimeoutError::Timeout);
}

/// A system that cannot watch any more paths.
struct Full;

impl notify::Watcher for Full {
    fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
        Ok(Self)
    }

    fn watch(&mut self, _: &Path, _: RecursiveMode) -> notify::Result<()> {
        Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch))
    }

    fn unwatch(&mut self, _: &Path) -> notify::Result<()> {
        Ok(())
    }

    fn kind() -> notify::WatcherKind {
        notify::WatcherKind::NullWatcher
    }
}
