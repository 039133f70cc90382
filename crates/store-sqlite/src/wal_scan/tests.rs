//! Tests with generated logs: cut at random sectors, as a power cut leaves them, and with random bytes changed.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;

const SECTOR: usize = 512;
const ROUNDS: u64 = 100;

/// Random numbers that are the same in each run (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

/// A log as SQLite writes it.
#[derive(Clone)]
struct Log {
    file: Vec<u8>,
    salts: [u8; 8],
    sum: Checksum,
    /// Number of frames that belong to the log.
    frames: usize,
}

impl Log {
    /// Restarts the log in a file that may contain older frames.
    fn start(mut file: Vec<u8>, random: &mut Random) -> Self {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&0x377f_0682_u32.to_be_bytes());
        header[4..8].copy_from_slice(&3_007_000_u32.to_be_bytes());
        header[8..12].copy_from_slice(&4096_u32.to_be_bytes());
        header[16..24].copy_from_slice(&random.bytes(8));
        let sum = Checksum::default().over(&header[..24], false);
        header[24..28].copy_from_slice(&sum.0.to_be_bytes());
        header[28..].copy_from_slice(&sum.1.to_be_bytes());
        put(&mut file, 0, &header);
        Self { file, salts: WalHeader::parse(&header).salts, sum, frames: 0 }
    }

    fn frame(&mut self, page: u32, size: u32, content: &[u8]) {
        let mut frame = vec![0; FRAME_BYTES];
        frame[..4].copy_from_slice(&page.to_be_bytes());
        frame[4..8].copy_from_slice(&size.to_be_bytes());
        frame[8..16].copy_from_slice(&self.salts);
        frame[FRAME_HEADER_BYTES..].copy_from_slice(content);
        self.sum = frame_checksum(self.sum, &frame, false);
        frame[16..20].copy_from_slice(&self.sum.0.to_be_bytes());
        frame[20..24].copy_from_slice(&self.sum.1.to_be_bytes());
        put(&mut self.file, offset(self.frames), &frame);
        self.frames += 1;
    }

    /// Adds a transaction of one to five pages.
    fn transaction(&mut self, random: &mut Random) {
        let pages = 1 + random.below(5);
        for left in (0..pages).rev() {
            let page = 1 + u32::try_from(random.below(9)).unwrap();
            let size = if left == 0 { 9 } else { 0 };
            self.frame(page, size, &random.bytes(PAGE_BYTES));
        }
    }

    /// Adds frames of a transaction that is rolled back: the next one overwrites them.
    fn rolled_back(&mut self, random: &mut Random) {
        let before = (self.sum, self.frames);
        for _ in 0..random.below(6) {
            self.frame(1, 0, &random.bytes(PAGE_BYTES));
        }
        (self.sum, self.frames) = before;
    }

    /// Creates a log with committed transactions, followed by older frames.
    fn used(random: &mut Random) -> Self {
        let mut older = Self::start(Vec::new(), random);
        for _ in 0..random.below(9) {
            older.transaction(random);
        }
        let mut log = Self::start(older.file, random);
        for _ in 0..2 + random.below(5) {
            log.rolled_back(random);
            log.transaction(random);
        }
        log
    }

    /// Returns the pages of the database after all frames are applied.
    fn pages(&self) -> BTreeMap<u32, Vec<u8>> {
        (0..self.frames)
            .map(|index| {
                let frame = &self.file[offset(index)..][..FRAME_BYTES];
                (FrameHeader::parse(frame).page, frame[FRAME_HEADER_BYTES..].to_vec())
            })
            .collect()
    }
}

fn offset(index: usize) -> usize {
    usize::try_from(frame_at(index)).unwrap()
}

fn put(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    file.resize(file.len().max(at + bytes.len()), 0);
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Scans a log, and applies it to an empty database if it is damaged.
fn scanned(file: &[u8]) -> (WalVerdict, BTreeMap<u32, Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let database: PathBuf = dir.path().join("db");
    std::fs::write(files::beside(&database, "-wal"), file).unwrap();
    let verdict = scan(&database).unwrap();
    let mut pages = BTreeMap::new();
    if let WalVerdict::Damaged(log) = &verdict {
        log.apply(&database, &database).unwrap();
        let applied = std::fs::read(&database).unwrap();
        pages = (1..).zip(applied.chunks(PAGE_BYTES).map(<[u8]>::to_vec)).collect();
    }
    (verdict, pages)
}

#[test]
fn an_intact_log_is_whole() {
    let mut random = Random(1);
    for _ in 0..ROUNDS {
        let older = Log::used(&mut random);
        let mut log = Log::start(older.file, &mut random);
        for _ in 0..random.below(5) {
            log.transaction(&mut random);
        }
        let (verdict, _) = scanned(&log.file);
        assert!(matches!(verdict, WalVerdict::Whole), "{verdict:?}");
    }
    assert!(matches!(scanned(&[]).0, WalVerdict::Whole));
    assert!(matches!(scanned(&[7; 31]).0, WalVerdict::Whole));
}

/// Any sectors of the last transaction may be missing.
#[test]
fn a_power_cut_is_not_damage() {
    let mut random = Random(2);
    let mut torn = 0;
    for round in 0..ROUNDS * 3 {
        let mut log = Log::used(&mut random);
        log.rolled_back(&mut random);
        let before = log.file.clone();
        log.transaction(&mut random);
        let mut cut = log.file.clone();
        for (at, sector) in (0..).step_by(SECTOR).zip(cut.chunks_mut(SECTOR)) {
            if random.below(3) > 0 {
                continue;
            }
            for (byte, at) in sector.iter_mut().zip(at..) {
                *byte = before.get(at).copied().unwrap_or_default();
            }
        }
        if random.below(2) == 0 {
            cut.truncate(before.len() + random.below(cut.len() - before.len() + 1));
        }
        let (verdict, _) = scanned(&cut);
        assert!(!matches!(verdict, WalVerdict::Damaged(_)), "round {round}: {verdict:?}");
        torn += usize::from(matches!(verdict, WalVerdict::Torn));
    }
    assert!(torn > 50, "{torn} logs were torn");
}

/// If a change may also be in the page number, the frame is lost, and with it the last transaction if the frame belongs
/// to it.
#[test]
fn one_changed_byte_is_damage_and_mostly_repaired() {
    let mut random = Random(3);
    let (mut flawed, mut lost, mut torn) = (0, 0, 0);
    for round in 0..ROUNDS * 3 {
        let log = Log::used(&mut random);
        let mut damaged = log.file.clone();
        let at = match round % 4 {
            0 => random.below(HEADER_BYTES),
            1 => offset(random.below(log.frames)) + random.below(FRAME_HEADER_BYTES),
            _ => random.below(offset(log.frames)),
        };
        damaged[at] ^= 1 + u8::try_from(random.below(255)).unwrap();
        let (verdict, pages) = scanned(&damaged);
        if !matches!(verdict, WalVerdict::Damaged(_)) {
            assert!(matches!(verdict, WalVerdict::Torn), "round {round}: byte {at}");
            torn += 1;
            continue;
        }
        for (page, content) in log.pages() {
            let differing = content.iter().zip(&pages[&page]).filter(|(a, b)| a != b).count();
            flawed += usize::from(differing == 1);
            lost += usize::from(differing > 1);
        }
    }
    assert!(flawed < 50, "in {flawed} of 300 frames, the byte was not found");
    assert!(lost < 20 && torn < 10, "{lost} frames of 300 were lost, {torn} last transactions");
}

/// A destroyed run of bytes costs the frames that it touches, and the frame after a destroyed header. In the last
/// transaction or at the end of the one before, it cannot be distinguished from a power cut.
#[test]
fn a_destroyed_run_of_bytes_is_damage_before_the_last_two_transactions() {
    let mut random = Random(4);
    for round in 0..ROUNDS * 3 {
        let mut log = Log::used(&mut random);
        let durable = log.frames;
        log.transaction(&mut random);
        log.transaction(&mut random);
        let length = [8, 64, 512][random.below(3)];
        let mut damaged = log.file.clone();
        let at = random.below(offset(durable) - length);
        damaged[at..at + length].copy_from_slice(&random.bytes(length));
        let (verdict, pages) = scanned(&damaged);
        assert!(matches!(verdict, WalVerdict::Damaged(_)), "round {round}: {at}: {verdict:?}");
        let is_hit = |index: usize| {
            at < offset(index) + FRAME_BYTES && at + length + FRAME_BYTES > offset(index)
        };
        let mut newest = BTreeMap::new();
        for index in 0..log.frames {
            newest.insert(FrameHeader::parse(&log.file[offset(index)..]).page, index);
        }
        for (page, content) in log.pages() {
            if !is_hit(newest[&page]) {
                assert!(pages[&page] == content, "round {round}: {at}: page {page}");
            }
        }
    }
}

#[test]
fn a_destroyed_last_transaction_counts_as_torn() {
    let mut random = Random(5);
    let mut log = Log::used(&mut random);
    let at = offset(log.frames - 1) + 100;
    let destroyed = random.bytes(64);
    put(&mut log.file, at, &destroyed);
    assert!(matches!(scanned(&log.file).0, WalVerdict::Torn));
}
