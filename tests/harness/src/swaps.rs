//! Checks that access to a memory directory never leaves it, while its files and folders are swapped for links
//! to a tree outside, pipes, and each other.
//!
//! The tree outside has the same names. Each file there has a unique word, and each entry's inode and times are
//! known, so that reading one byte, creating one file, or changing one mode is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::rng::Rng;

/// The code under test.
pub trait Memory: Sync {
    fn act(&self, act: Act, path: &str) -> Seen;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Read,
    /// Creates the file or replaces it.
    Write,
    Remove,
    List,
    /// Opens the directory anew by its path, and reads.
    Open,
}

/// Everything from the disk that an act returned.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub contents: Vec<Vec<u8>>,
    pub inodes: Vec<u64>,
    pub refused: bool,
}

#[derive(Debug, Default)]
pub struct Race {
    pub operations: u64,
    pub refused: u64,
    pub contents: u64,
    pub swaps: u64,
    /// What was read or changed outside.
    pub escapes: BTreeSet<String>,
}

/// Is in every file outside, and in none inside.
const WORD: &str = "canary of the tree outside";
const THREADS: u64 = 8;
/// The same in the directory and outside.
const FILES: [&str; 5] = ["MEMORY.md", "fog.md", "plans/fog.md", "deep/x/fog.md", "link.md"];
const FOLDERS: [&str; 3] = ["plans", "deep", "deep/x"];

/// Runs the race in `dir`; `open` gets the memory directory.
pub fn race<M: Memory>(dir: &Path, open: impl FnOnce(&Path) -> M, most: u64, seed: u64) -> Race {
    let scene = Scene::new(dir);
    let before = scene.outside();
    let inodes: BTreeSet<u64> = before.values().map(|entry| entry.inode).collect();
    let memory = open(&scene.memory);
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let race = Mutex::new(Race::default());
    std::thread::scope(|threads| {
        let workers: Vec<_> = (0..THREADS)
            .map(|n| {
                let (memory, done, inodes, race) = (&memory, &done, &inodes, &race);
                let rng = Rng::new(seed.wrapping_mul(1_000).wrapping_add(n));
                threads.spawn(move || work(memory, rng, done, most, inodes, race))
            })
            .collect();
        let (scene, stop) = (&scene, &over);
        let swapper = threads.spawn(move || scene.swap(Rng::new(seed ^ 0x5eed), stop));
        for worker in workers {
            worker.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
        race.lock().unwrap().swaps = swapper.join().unwrap();
    });
    let mut race = race.into_inner().unwrap();
    race.escapes.extend(changed(&before, &scene.outside()));
    race
}

fn work<M: Memory>(
    memory: &M,
    mut rng: Rng,
    done: &AtomicU64,
    most: u64,
    inodes: &BTreeSet<u64>,
    race: &Mutex<Race>,
) {
    let mut own = Race::default();
    while done.fetch_add(1, Ordering::Relaxed) < most {
        let act = match rng.below(20) {
            0..=7 => Act::Read,
            8..=13 => Act::Write,
            14..=16 => Act::Remove,
            17 | 18 => Act::List,
            _ => Act::Open,
        };
        let path = *rng.pick(&FILES);
        let seen = memory.act(act, path);
        own.operations += 1;
        own.refused += u64::from(seen.refused);
        own.contents += seen.contents.len() as u64;
        let read = |content: &Vec<u8>| content.windows(WORD.len()).any(|w| w == WORD.as_bytes());
        if seen.contents.iter().any(read) {
            own.escapes.insert(format!("{act:?} of {path} brought a text from outside"));
        }
        if seen.inodes.iter().any(|inode| inodes.contains(inode)) {
            own.escapes.insert(format!("{act:?} of {path} brought an entry from outside"));
        }
    }
    let mut race = race.lock().unwrap();
    race.operations += own.operations;
    race.refused += own.refused;
    race.contents += own.contents;
    race.escapes.append(&mut own.escapes);
}

struct Scene {
    memory: PathBuf,
    outside: PathBuf,
    stage: PathBuf,
}

impl Scene {
    fn new(dir: &Path) -> Self {
        let of = |name: &str| dir.join(name);
        let scene = Self { memory: of("memory"), outside: of("outside"), stage: of("stage") };
        fs::create_dir_all(&scene.stage).unwrap();
        for (root, text) in [(&scene.memory, "inside"), (&scene.outside, WORD)] {
            for folder in FOLDERS {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            for file in FILES {
                fs::write(root.join(file), format!("{text}: {file}")).unwrap();
            }
        }
        fs::remove_file(scene.memory.join("link.md")).unwrap();
        symlink("plans/fog.md", scene.memory.join("link.md")).unwrap();
        scene
    }

    /// Swaps and undoes each swap, until `over`.
    fn swap(&self, mut rng: Rng, over: &AtomicBool) -> u64 {
        let mut swaps = 0;
        while !over.load(Ordering::Relaxed) {
            let stage = self.stage.join(swaps.to_string());
            // Rarely the directory itself, because everything is refused while it is away.
            let within = match rng.below(100) {
                0 => "",
                1..=50 => *rng.pick(&FILES),
                _ => *rng.pick(&FOLDERS),
            };
            // Without a slash at the end, which would follow a link.
            let target: PathBuf = self.memory.join(within).components().collect();
            self.prop(&stage, within, &mut rng);
            let exchanged = exchange(&stage, &target);
            let placed = !exchanged && place(&stage, &target);
            for _ in 0..rng.below(4) {
                std::thread::yield_now();
            }
            if exchanged && !exchange(&stage, &target) {
                place(&stage, &target);
            } else if placed {
                place(&target, &stage);
            }
            clear(&stage);
            swaps += 1;
        }
        swaps
    }

    /// Creates what replaces the target.
    fn prop(&self, stage: &Path, within: &str, rng: &mut Rng) {
        let up = "../".repeat(if within.is_empty() { 0 } else { within.split('/').count() });
        match rng.below(6) {
            0 | 1 => symlink(self.outside.join(within), stage).unwrap(),
            2 | 3 => symlink(format!("{up}outside/{within}"), stage).unwrap(),
            4 if FOLDERS.contains(&within) || within.is_empty() => fs::create_dir(stage).unwrap(),
            4 => mknodat(CWD, stage, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            _ => fs::write(stage, "inside: a file instead").unwrap(),
        }
    }

    fn outside(&self) -> BTreeMap<PathBuf, Entry> {
        let mut found = BTreeMap::new();
        let mut next = vec![self.outside.clone()];
        while let Some(path) = next.pop() {
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                next.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
            let text = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
            found.insert(path, Entry { inode: meta.ino(), mode: meta.mode(), times, text });
        }
        found
    }
}

#[derive(PartialEq, Eq)]
struct Entry {
    inode: u64,
    mode: u32,
    times: [i64; 4],
    text: Vec<u8>,
}

fn changed(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    changed.map(|path| format!("{} was changed", path.display())).collect()
}

fn exchange(one: &Path, other: &Path) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

fn place(from: &Path, to: &Path) -> bool {
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).is_ok()
}

/// Removes what is there, but not a link's target. Others may still be writing in it.
fn clear(path: &Path) {
    while let Ok(meta) = fs::symlink_metadata(path) {
        let _ = if meta.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}
