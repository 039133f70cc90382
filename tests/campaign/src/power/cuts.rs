//! A recorded workload, and the power cuts in it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bethink_harness::writes::{Audit, Sent, Writer, send};
use bethink_harness::{Daemon, Home, Request, Rng};
use serde_json::json;
use tempfile::TempDir;

use super::control::ControlWriter;
use super::log_disk::{DiskLog, LogDisk};
use super::mounted::{MountedDisk, unmount};
use crate::limit::AttackLimit;
use crate::report::AttackResult;

/// Size of the disk. It is copied for each cut.
const DISK: usize = 64 << 20;
const WRITERS: usize = 4;
/// Number of cuts in one recording, before another one is made.
const CUTS_OF_A_RECORDING: u64 = 100;

/// A workload on a disk that logged it.
#[derive(Debug)]
pub struct Recording {
    dir: TempDir,
    log: DiskLog,
    /// The earliest moment of a cut: when the workload began.
    from: u64,
    writers: Vec<Writer>,
    control: ControlWriter,
}

/// The results of all cuts.
#[derive(Debug, Default)]
pub struct CutTally {
    pub cuts: u64,
    acknowledged: u64,
    audit: Audit,
    /// Number of cuts in which a control file lost lines.
    synced_lost: u64,
    unsynced_lost: u64,
    /// Cuts in which SQLite with `synchronous = OFF` lost rows, and those in which it had rows to lose.
    off_lost: u64,
    off_due: u64,
}

impl Recording {
    /// Runs the daemon and its clients on a new disk for this long.
    pub fn make(time: Duration, seed: u64) -> Self {
        let dir = TempDir::with_prefix("bethink-power-").expect("a temporary directory");
        let of = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(of("fuse")).expect("a directory");
        let disk = LogDisk::mount(&of("fuse"), DISK).expect("a disk that logs");
        let mounted = MountedDisk::make(&disk.file(), &of("disk")).expect("a file system");
        let mut control = ControlWriter::new(&of("disk")).expect("control files");
        sync_disk(&of("disk"));
        let base = disk.begin();
        let mut daemon = Home::at(&of("disk/home")).start();
        let mut rng = Rng::new(seed);
        let writer = |n| {
            let name = format!("w{n}");
            Writer::new(&name, &of("projects"), &mut daemon.client(), rng.draw(), &disk.clock)
        };
        let mut writers: Vec<Writer> = (0..WRITERS).map(writer).collect();
        let from = disk.clock.load(Ordering::SeqCst);
        workload(&daemon, &mut writers, &mut control, &disk, time);
        daemon.kill9();
        let log = disk.log(base);
        control.close();
        drop(mounted);
        unmount(&of("fuse"));
        Self { dir, log, from, writers, control }
    }

    /// Cuts the power at random moments.
    pub fn cut_power(&self, limit: AttackLimit, seed: u64, tally: &mut CutTally) {
        let mut rng = Rng::new(seed);
        let last = tally.cuts + CUTS_OF_A_RECORDING;
        tally.acknowledged += self.writers.iter().map(|w| w.acknowledged).sum::<u64>();
        let all = self.log.len().saturating_sub(self.from as usize);
        while tally.cuts < last && limit.allows(tally.cuts) {
            let moment = self.from + rng.below(all + 1) as u64;
            self.cut(moment, &mut rng, tally);
        }
    }

    fn cut(&self, moment: u64, rng: &mut Rng, tally: &mut CutTally) {
        let (image, disk) = (self.path("cut.img"), self.path("disk"));
        std::fs::write(&image, self.log.cut(moment as usize, rng)).expect("an image");
        tally.cuts += 1;
        let mounted = match MountedDisk::mount(&image, &disk) {
            Ok(mounted) => mounted,
            Err(why) => return tally.audit.wrong.push(format!("cut at {moment}: {why}")),
        };
        let loss = self.control.loss(&disk, moment);
        tally.synced_lost += u64::from(loss.synced);
        tally.unsynced_lost += u64::from(loss.unsynced);
        tally.off_lost += u64::from(loss.off);
        tally.off_due += u64::from(loss.is_due);
        match Home::at(&disk.join("home")).try_start() {
            Ok(daemon) => tally.audit.add(self.audit(daemon, moment)),
            Err(exit) => tally.audit.wrong.push(format!("cut at {moment}: {exit:?}")),
        }
        drop(mounted);
    }

    fn audit(&self, mut daemon: Daemon, moment: u64) -> Audit {
        let (mut audit, mut client) = (Audit::default(), daemon.client());
        for mut writer in self.writers.iter().cloned() {
            audit.add(writer.audit(&mut client, moment));
        }
        let body = json!({"project_dir": self.path("projects"), "model": {
            "name": "claude-sonnet-4-5", "context_window": 200_000, "max_output_tokens": 8000}});
        let new = send(&mut client, &Request::new("POST", "/v1/sessions").json(&body));
        if !matches!(new, Sent::Acknowledged(_)) {
            audit.wrong.push(format!("no write after the cut: {new:?}"));
        }
        daemon.kill9();
        audit.wrong.iter_mut().for_each(|wrong| wrong.insert_str(0, &format!("cut at {moment}: ")));
        audit
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn workload(
    daemon: &Daemon,
    writers: &mut [Writer],
    control: &mut ControlWriter,
    disk: &LogDisk,
    time: Duration,
) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in writers {
            let (mut client, over) = (daemon.client(), &over);
            scope.spawn(move || while !over.load(Ordering::Relaxed) && writer.step(&mut client) {});
        }
        let start = Instant::now();
        while start.elapsed() < time && control.line(&disk.clock).is_ok() {}
        over.store(true, Ordering::Relaxed);
    });
}

/// Writes everything to the disk, so that it contains the file system itself.
fn sync_disk(place: &std::path::Path) {
    let done = std::process::Command::new("sync").arg("-f").arg(place).status();
    assert!(done.is_ok_and(|status| status.success()), "could not sync {}", place.display());
}

impl CutTally {
    pub fn rows(self, took: Duration) -> Vec<AttackResult> {
        let cuts = self.cuts;
        let control = |attack: &str, cuts: u64, lost: u64, broken: Option<&str>| AttackResult {
            attack: attack.to_owned(),
            size: format!("{cuts} cuts"),
            checks: cuts,
            broken: broken.map(str::to_owned).into_iter().collect(),
            took: Duration::ZERO,
            note: format!("lost what was written in {lost} cuts"),
        };
        let kept = (self.synced_lost > 0).then_some("the disk lost what was synced");
        // Otherwise, the simulated disk would prove nothing.
        let lost = (self.unsynced_lost * 10 < cuts * 9)
            .then_some("the disk kept what was not synced in more than a tenth of the cuts");
        let off = (self.off_lost < self.off_due)
            .then_some("the disk kept what SQLite wrote with synchronous = OFF");
        vec![
            AttackResult {
                attack: "power cuts".to_owned(),
                size: format!("{cuts} cuts"),
                checks: self.audit.checks,
                broken: self.audit.wrong,
                took,
                note: format!("{} writes acknowledged", self.acknowledged),
            },
            control("  control, synced", cuts, self.synced_lost, kept),
            control("  control, not synced", cuts, self.unsynced_lost, lost),
            control("  control, SQLite OFF", self.off_due, self.off_lost, off),
        ]
    }
}
