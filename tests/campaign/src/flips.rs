//! Flipped bits: one bit of a stopped daemon's files is changed. What the daemon serves afterwards must be what was written,
//! or the damage must be told.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bethink_harness::writes::{EVERYTHING, WriteClock, Writer};
use bethink_harness::{Daemon, Exit, Home, Rng};
use serde_json::Value;
use tempfile::TempDir;

use crate::report::AttackResult;

const WRITERS: usize = 3;
/// Writes before the daemon stops.
const STEPS: usize = 120;
/// Flips in one home, before another one is made.
const FLIPS_OF_A_HOME: usize = 25;

/// What became of a flip.
#[derive(Debug)]
enum Flip {
    /// Everything is as it was written.
    Harmless,
    /// Something is missing, and the daemon says so.
    Told,
    /// Something is missing or altered, and nothing says so.
    Silent(String),
}

#[derive(Debug, Default)]
struct FlipTally {
    flips: usize,
    harmless: usize,
    told: usize,
    silent: Vec<String>,
}

/// A stopped daemon's home, and what must be in it.
struct StoppedHome {
    dir: TempDir,
    writers: Vec<Writer>,
    how: &'static str,
}

/// Flips bits in homes of daemons that were stopped, and of daemons that were killed.
pub fn run(budget: Duration, seed: u64) -> Vec<AttackResult> {
    let (start, mut rng, mut tally) = (Instant::now(), Rng::new(seed), FlipTally::default());
    let mut killed = false;
    while start.elapsed() < budget {
        let stopped = StoppedHome::make(&mut rng, killed);
        for _ in 0..FLIPS_OF_A_HOME {
            if start.elapsed() < budget {
                tally.add(&stopped, &mut rng);
            }
        }
        killed = !killed;
    }
    vec![AttackResult {
        attack: "flipped bits".to_owned(),
        size: format!("{} flips", tally.flips),
        checks: tally.flips as u64,
        broken: tally.silent,
        took: start.elapsed(),
        note: format!("{} harmless, {} told", tally.harmless, tally.told),
    }]
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
        for writer in &mut writers {
            let mut client = daemon.client();
            for _ in 0..STEPS {
                assert!(writer.step(&mut client), "a daemon without trouble answers");
            }
            // Imports are finished, so that a flip meets no work under way.
            let audit = writer.audit(&mut client, EVERYTHING);
            assert!(audit.wrong.is_empty(), "{:?}", audit.wrong);
        }
        let how = if killed {
            daemon.kill9();
            "killed"
        } else {
            daemon.terminate();
            "stopped"
        };
        Self { dir, writers, how }
    }

    /// Flips a bit in a copy of the home.
    fn flip(&self, rng: &mut Rng) -> (String, Flip) {
        let (home, copy) = (self.dir.path().join("home"), self.dir.path().join("copy"));
        drop(fs::remove_dir_all(&copy));
        copy_tree(&home, &copy);
        let file = self.victim(&copy, rng);
        let mut bytes = fs::read(&file).expect("a file");
        let (at, bit) = (rng.below(bytes.len()), rng.below(8));
        bytes[at] ^= 1 << bit;
        fs::write(&file, bytes).expect("a file");
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let place = format!("{} {} byte {at} bit {bit}", self.how, name.unwrap_or_default());
        (place, self.consequence(Home::at(&copy).try_start()))
    }

    /// The database, or its log.
    fn victim(&self, home: &Path, rng: &mut Rng) -> PathBuf {
        let files = ["bethink.db", "bethink.db-wal"].map(|name| home.join(name));
        let is_there = |file: &&PathBuf| fs::metadata(file).is_ok_and(|meta| meta.len() > 0);
        let there: Vec<&PathBuf> = files.iter().filter(is_there).collect();
        (*rng.pick(&there)).clone()
    }

    fn consequence(&self, started: Result<Daemon, Exit>) -> Flip {
        // A daemon that does not start says why.
        let Ok(mut daemon) = started else { return Flip::Told };
        let mut client = daemon.client();
        let mut wrong = Vec::new();
        for mut writer in self.writers.iter().cloned() {
            wrong.extend(writer.audit(&mut client, EVERYTHING).wrong);
        }
        let Some(first) = wrong.first().cloned() else { return Flip::Harmless };
        let health = client.get("/health").json();
        let is_told = is_damage(&health) || daemon.home.log().contains("damage");
        daemon.kill9();
        if is_told { Flip::Told } else { Flip::Silent(first) }
    }
}

/// Whether the daemon says that its data is damaged.
fn is_damage(health: &Value) -> bool {
    health["status"] != "ok"
}

impl FlipTally {
    fn add(&mut self, stopped: &StoppedHome, rng: &mut Rng) {
        let (place, flip) = stopped.flip(rng);
        self.flips += 1;
        match flip {
            Flip::Harmless => self.harmless += 1,
            Flip::Told => self.told += 1,
            Flip::Silent(what) => self.silent.push(format!("{place}: {what:.200}")),
        }
    }
}

/// Copies regular files and folders. Sockets stay behind.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let kind = entry.file_type().expect("a kind");
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}
