//! Checks that no save is lost while some writers compare before they write, and others save the same files
//! directly, as different editors do.
//!
//! Every text is unique. An acknowledged text must be found: in its file, in the writers' history, or among
//! the texts that a direct save overwrote. Direct saves of a file are made one after the other, so that what
//! each overwrote is known exactly; the writers wait for nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use crate::checkouts;
use crate::rng::Rng;

/// The interface through which the comparing writers write.
pub trait Door: Sync {
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    /// `before`: what was read; `None` if the file did not exist.
    fn write(&self, path: &str, before: Option<&[u8]>, text: &[u8]) -> Answer;
    /// Called regularly, and a last time when everybody has finished.
    fn settle(&self, last: bool);
    /// The tags of all kept versions of a file, in any order.
    fn history(&self, path: &str) -> BTreeSet<String>;
    /// The tag of a text in the history.
    fn tag(&self, text: &[u8]) -> String;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Written,
    /// The file has another text than expected.
    Conflict,
    Refused(String),
}

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub files: usize,
    /// Eight of twenty save directly.
    pub writers: usize,
    pub edits: usize,
    /// One of the eight checks out all files at once, with git itself.
    pub git: bool,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub written: usize,
    pub conflicts: usize,
    pub saved: usize,
    pub refused: BTreeMap<String, usize>,
    /// Texts that were acknowledged and not found.
    pub lost: Vec<String>,
}

/// How often [`Door::settle`] is called.
const SETTLE_EVERY: Duration = Duration::from_millis(50);

/// `dir` is the directory that `door` writes in.
pub fn run<D: Door>(dir: &Path, door: &D, size: Size, seed: u64) -> Tally {
    let desk = Desk::new(dir, size);
    if size.git {
        checkouts::prepare(dir, size.files);
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let workers: Vec<_> = (0..size.writers)
            .map(|n| {
                let (desk, rng) = (&desk, Rng::new(seed.wrapping_mul(1_000) + n as u64));
                threads.spawn(move || match n % 20 {
                    0..=3 => desk.save(n, rng, &Desk::rename),
                    4..=6 => desk.save(n, rng, &Desk::overwrite),
                    7 if size.git => desk.check_out_all(),
                    7 => desk.save(n, rng, &Desk::check_out),
                    _ => desk.write(n, rng, door),
                })
            })
            .collect();
        let over = &over;
        let settler = threads.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                door.settle(false);
                std::thread::park_timeout(SETTLE_EVERY);
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
        settler.thread().unpark();
        settler.join().unwrap();
    });
    door.settle(true);
    desk.judge(door)
}

struct Desk {
    dir: PathBuf,
    size: Size,
    files: Vec<Known>,
    tally: Mutex<Tally>,
}

/// What the direct savers know about a file.
#[derive(Default)]
struct Known {
    turn: Mutex<()>,
    acknowledged: Mutex<Vec<Vec<u8>>>,
    overwritten: Mutex<BTreeSet<Vec<u8>>>,
}

type Save = dyn Fn(&Desk, &Path, &Path, &[u8]) -> Vec<Vec<u8>> + Sync;

impl Desk {
    fn new(dir: &Path, size: Size) -> Self {
        let files = (0..size.files).map(|_| Known::default()).collect();
        Self { dir: dir.to_owned(), size, files, tally: Mutex::default() }
    }

    fn write(&self, writer: usize, mut rng: Rng, door: &dyn Door) {
        for edit in 0..self.size.edits {
            let file = rng.below(self.size.files);
            let (name, text) = (name(file), text(writer, edit, &mut rng));
            let before = door.read(&name);
            let answer = door.write(&name, before.as_deref(), &text);
            let mut tally = lock(&self.tally);
            match answer {
                Answer::Written => {
                    tally.written += 1;
                    lock(&self.files[file].acknowledged).push(text);
                }
                Answer::Conflict => tally.conflicts += 1,
                Answer::Refused(why) => *tally.refused.entry(why).or_default() += 1,
            }
        }
    }

    fn save(&self, writer: usize, mut rng: Rng, how: &Save) {
        for edit in 0..self.size.edits {
            let file = rng.below(self.size.files);
            let (path, text) = (self.dir.join(name(file)), text(writer, edit, &mut rng));
            let aside = self.dir.join(format!(".editor-{writer}-{edit}"));
            let known = &self.files[file];
            let turn = lock(&known.turn);
            lock(&known.overwritten).extend(how(self, &path, &aside, &text));
            lock(&known.acknowledged).push(text);
            drop(turn);
            lock(&self.tally).saved += 1;
        }
    }

    /// As most editors: a new file, renamed over the old one.
    fn rename(&self, path: &Path, aside: &Path, text: &[u8]) -> Vec<Vec<u8>> {
        fs::write(aside, text).unwrap();
        loop {
            // An exchange instead of a replacement shows what was replaced.
            if renameat_with(CWD, aside, CWD, path, RenameFlags::EXCHANGE).is_ok() {
                let before = fs::read(aside).unwrap();
                fs::remove_file(aside).unwrap();
                return vec![before];
            }
            if renameat_with(CWD, aside, CWD, path, RenameFlags::NOREPLACE).is_ok() {
                return Vec::new();
            }
        }
    }

    /// As `echo > file`: the same file, emptied and filled again.
    fn overwrite(&self, path: &Path, _: &Path, text: &[u8]) -> Vec<Vec<u8>> {
        let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap();
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).custom_flags(no_follow);
        let mut file = options.open(path).unwrap();
        let mut before = Vec::new();
        file.read_to_end(&mut before).unwrap();
        std::thread::yield_now();
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        std::thread::yield_now();
        let (first, rest) = text.split_at(text.len() / 2);
        file.write_all(first).unwrap();
        std::thread::yield_now();
        file.write_all(rest).unwrap();
        vec![before]
    }

    /// As `git checkout`: the old file is removed, then a new one is created.
    fn check_out(&self, path: &Path, aside: &Path, text: &[u8]) -> Vec<Vec<u8>> {
        let mut before = Vec::new();
        loop {
            if renameat_with(CWD, path, CWD, aside, RenameFlags::NOREPLACE).is_ok() {
                before.push(fs::read(aside).unwrap());
                fs::remove_file(aside).unwrap();
            }
            std::thread::yield_now();
            let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
            if let Ok(mut made) = made {
                made.write_all(text).unwrap();
                return before;
            }
        }
    }

    /// All other direct savers wait, so that the texts that git will overwrite can be read before. Its own
    /// texts need no history, because git has them.
    fn check_out_all(&self) {
        for edit in 0..self.size.edits.div_ceil(self.size.files) {
            let turns: Vec<_> = self.files.iter().map(|known| lock(&known.turn)).collect();
            for (n, known) in self.files.iter().enumerate() {
                lock(&known.overwritten).extend(fs::read(self.dir.join(name(n))).ok());
            }
            checkouts::check_out(&self.dir, edit);
            drop(turns);
            lock(&self.tally).saved += self.size.files;
        }
    }

    fn judge(self, door: &dyn Door) -> Tally {
        let mut tally = self.tally.into_inner().unwrap();
        for (n, known) in self.files.into_iter().enumerate() {
            let name = name(n);
            let mut found = known.overwritten.into_inner().unwrap();
            found.extend(fs::read(self.dir.join(&name)).ok());
            let history = door.history(&name);
            let is_found =
                |text: &Vec<u8>| found.contains(text) || history.contains(&door.tag(text));
            let acknowledged = known.acknowledged.into_inner().unwrap();
            let lost = acknowledged.iter().filter(|text| !is_found(text));
            tally.lost.extend(lost.map(|text| format!("{name}: {}", first_line(text))));
        }
        tally
    }
}

pub(crate) fn name(file: usize) -> String {
    format!("topic-{file:02}.md")
}

/// A unique text of random size.
fn text(writer: usize, edit: usize, rng: &mut Rng) -> Vec<u8> {
    let more = "and what else there is to say\n".repeat(rng.below(100));
    format!("writer {writer}, edit {edit}\n{more}").into_bytes()
}

fn first_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().next().unwrap_or_default().to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
