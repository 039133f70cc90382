//! Flipped bits: one bit of a stopped daemon's files is changed. Afterwards, the daemon must serve what was written, or
//! report the damage.
//!
//! The files are the database, its log, and Markdown memories. There are no vectors: search and recall work with words, and
//! their index is in the database.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use bethink_harness::wait::PATIENCE;
use bethink_harness::writes::{EVERYTHING, WriteClock, Writer};
use bethink_harness::{Client, Daemon, Exit, Home, Rng, until};
use tempfile::TempDir;

use crate::limit::AttackLimit;
use crate::report::AttackResult;

const WRITERS: usize = 3;
/// Number of writes before the daemon stops.
const STEPS: usize = 120;
/// Number of flips in one home, before another one is created.
const FLIPS_OF_A_HOME: usize = 25;
/// One flip in this many hits a memory.
const MEMORIES_EVERY: usize = 4;

/// The effect of a flip.
#[derive(Debug)]
enum Flip {
    /// Everything is as it was written.
    Harmless,
    /// Something is missing, and the daemon reports it.
    Told,
    /// Something is missing or altered, and the daemon does not report it.
    Silent(String),
}

#[derive(Debug, Default)]
struct FlipTally {
    flips: u64,
    harmless: u64,
    told: u64,
    silent: Vec<String>,
}

/// The files whose bits are flipped.
#[derive(Clone, Copy, Debug)]
enum FlippedFiles {
    /// The database, or its log.
    Database,
    /// Topics, and the index of them.
    Memories,
}

/// A stopped daemon's home, and its expected content.
struct StoppedHome {
    dir: TempDir,
    writers: Vec<Writer>,
    memories: Vec<KnownMemory>,
    how: &'static str,
}

/// A memory file, and the text that it had when the daemon stopped.
#[derive(Debug)]
struct KnownMemory {
    file: PathBuf,
    /// Its address in the API.
    path: String,
    text: String,
}

/// Flips bits in homes of daemons that were stopped, and of daemons that were killed.
pub fn run(limit: AttackLimit, seed: u64) -> Vec<AttackResult> {
    let (start, mut rng, mut killed) = (Instant::now(), Rng::new(seed), false);
    let (mut database, mut memories) = (FlipTally::default(), FlipTally::default());
    let done = |tallies: [&FlipTally; 2]| tallies.iter().map(|tally| tally.flips).sum();
    while limit.allows(done([&database, &memories])) {
        let stopped = StoppedHome::make(&mut rng, killed);
        for number in 0..FLIPS_OF_A_HOME {
            if !limit.allows(done([&database, &memories])) {
                break;
            }
            match number % MEMORIES_EVERY {
                0 if !stopped.memories.is_empty() => {
                    memories.add(&stopped, FlippedFiles::Memories, &mut rng);
                }
                _ => database.add(&stopped, FlippedFiles::Database, &mut rng),
            }
        }
        killed = !killed;
    }
    let took = start.elapsed();
    vec![database.row("flipped bits, database", took), memories.row("flipped bits, Markdown", took)]
}

impl StoppedHome {
    fn make(rng: &mut Rng, killed: bool) -> Self {
        let dir = TempDir::with_prefix("bethink-flips-").expect("a temporary directory");
        let mut daemon = Home::at(&dir.path().join("home")).start();
        let clock = WriteClock::default();
        let writer = |n| {
            let (name, projects) = (format!("w{n}"), dir.path().join("projects"));
            Writer::new(&name, &projects, &mut daemon.client(), rng.draw(), &clock)
        };
        let mut writers: Vec<Writer> = (0..WRITERS).map(writer).collect();
        let mut memories = Vec::new();
        for writer in &mut writers {
            let mut client = daemon.client();
            for _ in 0..STEPS {
                assert!(writer.step(&mut client), "a daemon without trouble answers");
            }
            // Imports are finished first, so that no job is running when a bit is flipped.
            let audit = writer.audit(&mut client, EVERYTHING);
            assert!(audit.wrong.is_empty(), "{:?}", audit.wrong);
        }
        for n in 0..WRITERS {
            let project = dir.path().join("projects").join(format!("w{n}"));
            memories.extend(KnownMemory::all(&project, &mut daemon.client()));
        }
        let how = if killed {
            daemon.kill9();
            "killed"
        } else {
            daemon.terminate();
            "stopped"
        };
        Self { dir, writers, memories, how }
    }

    /// Flips a bit in a copy of the home.
    fn flip(&self, files: FlippedFiles, rng: &mut Rng) -> (String, Flip) {
        let (home, copy) = (self.dir.path().join("home"), self.dir.path().join("copy"));
        drop(fs::remove_dir_all(&copy));
        copy_tree(&home, &copy);
        let file = match files {
            FlippedFiles::Database => victim(&copy, rng),
            FlippedFiles::Memories => {
                let file = &rng.pick(&self.memories).file;
                copy.join(file.strip_prefix(&home).expect("a file of the home"))
            }
        };
        let mut bytes = fs::read(&file).expect("a file");
        let (at, bit) = (rng.below(bytes.len()), rng.below(8));
        bytes[at] ^= 1 << bit;
        // A failing disk does not change the modification time.
        let modified = modified(&file);
        fs::write(&file, bytes).expect("a file");
        set_modified(&file, modified);
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let place = format!("{} {} byte {at} bit {bit}", self.how, name.unwrap_or_default());
        (place, self.consequence(Home::at(&copy).try_start()))
    }

    fn consequence(&self, started: Result<Daemon, Exit>) -> Flip {
        // A daemon that does not start says why.
        let Ok(mut daemon) = started else { return Flip::Told };
        let mut client = daemon.client();
        let mut wrong = Vec::new();
        for mut writer in self.writers.iter().cloned() {
            wrong.extend(writer.audit(&mut client, EVERYTHING).wrong);
        }
        wrong.extend(self.memories.iter().filter_map(|memory| memory.fault(&mut client)));
        let Some(first) = wrong.first().cloned() else { return Flip::Harmless };
        // Some damage is only found by checks in the background.
        let told = until(PATIENCE, || is_told(&daemon, &mut client).then_some(()));
        daemon.kill9();
        if told.is_some() { Flip::Told } else { Flip::Silent(first) }
    }
}

/// The database, or its log.
fn victim(home: &Path, rng: &mut Rng) -> PathBuf {
    let files = ["bethink.db", "bethink.db-wal"].map(|name| home.join(name));
    let is_there = |file: &&PathBuf| fs::metadata(file).is_ok_and(|meta| meta.len() > 0);
    let there: Vec<&PathBuf> = files.iter().filter(is_there).collect();
    (*rng.pick(&there)).clone()
}

/// Whether the daemon says that its data is damaged.
fn is_told(daemon: &Daemon, client: &mut Client) -> bool {
    client.get("/health").json()["status"] != "ok" || daemon.home.log().contains("damage")
}

impl KnownMemory {
    /// The memories of a project.
    fn all(project: &Path, client: &mut Client) -> Vec<Self> {
        let query = format!("project_dir={}", project.display());
        let index = client.get(&format!("/v1/memories/index?{query}")).ok();
        let dir = PathBuf::from(index["dir"].as_str().expect("a directory"));
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let files = entries
            .map(|entry| entry.path())
            .filter(|file| file.extension().is_some_and(|end| end == "md"));
        files
            .map(|file| {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                let path = format!("/v1/memories/private/{name}?{query}");
                let text = client.get(&path).text();
                Self { file, path, text }
            })
            // An index without topics is empty.
            .filter(|memory| !memory.text.is_empty())
            .collect()
    }

    /// Returns how the memory differs from its earlier text.
    fn fault(&self, client: &mut Client) -> Option<String> {
        let answer = client.get(&self.path);
        (answer.text() != self.text).then(|| format!("{}: {}", self.path, answer.brief()))
    }
}

impl FlipTally {
    fn add(&mut self, stopped: &StoppedHome, files: FlippedFiles, rng: &mut Rng) {
        let (place, flip) = stopped.flip(files, rng);
        self.flips += 1;
        match flip {
            Flip::Harmless => self.harmless += 1,
            Flip::Told => self.told += 1,
            Flip::Silent(what) => self.silent.push(format!("{place}: {what:.200}")),
        }
    }

    fn row(self, attack: &str, took: Duration) -> AttackResult {
        AttackResult {
            attack: attack.to_owned(),
            size: format!("{} flips", self.flips),
            checks: self.flips,
            broken: self.silent,
            took,
            note: format!("{} harmless, {} told", self.harmless, self.told),
        }
    }
}

fn modified(file: &Path) -> SystemTime {
    fs::metadata(file).and_then(|meta| meta.modified()).expect("a time")
}

fn set_modified(file: &Path, time: SystemTime) {
    File::options()
        .write(true)
        .open(file)
        .and_then(|file| file.set_modified(time))
        .expect("a file");
}

/// Copies regular files and folders, with their times, by which a daemon recognizes that a database has not changed.
/// Sockets are not copied.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let kind = entry.file_type().expect("a kind");
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), &target).expect("a copy");
            set_modified(&target, modified(&entry.path()));
        }
    }
}
