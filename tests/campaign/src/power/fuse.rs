//! The messages of FUSE that a file system with one file needs (`linux/fuse.h`, protocol 7.31).

/// A request's head, and the rest of it.
pub(super) struct FuseRequest<'a> {
    pub(super) opcode: u32,
    pub(super) unique: u64,
    pub(super) node: u64,
    pub(super) body: &'a [u8],
}

pub(super) const LOOKUP: u32 = 1;
pub(super) const FORGET: u32 = 2;
pub(super) const GETATTR: u32 = 3;
pub(super) const SETATTR: u32 = 4;
pub(super) const OPEN: u32 = 14;
pub(super) const READ: u32 = 15;
pub(super) const WRITE: u32 = 16;
pub(super) const RELEASE: u32 = 18;
pub(super) const FSYNC: u32 = 20;
pub(super) const FLUSH: u32 = 25;
pub(super) const INIT: u32 = 26;
pub(super) const INTERRUPT: u32 = 36;
pub(super) const BATCH_FORGET: u32 = 42;

/// The root directory, and its only file.
pub(super) const ROOT: u64 = 1;
pub(super) const DISK: u64 = 2;

/// The largest write, in bytes.
pub(super) const MAX_WRITE: usize = 128 << 10;
/// Size of the head of a request.
const HEAD: usize = 40;
/// A request is at most this long.
pub(super) const MAX_REQUEST: usize = MAX_WRITE + 4096;

/// `FUSE_BIG_WRITES` and `FUSE_MAX_PAGES`.
const FLAGS: u32 = 1 << 5 | 1 << 22;
/// Pages of the largest write.
const MAX_PAGES: u16 = 32;
/// `FOPEN_DIRECT_IO`: nothing is cached, so each write arrives.
const DIRECT: u32 = 1;
/// How long the kernel may remember attributes, in seconds: nothing changes them.
const VALID: u64 = 1000;

pub(super) fn number32(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    u32::from_le_bytes(four.unwrap_or_default())
}

pub(super) fn number64(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok());
    u64::from_le_bytes(eight.unwrap_or_default())
}

impl<'a> FuseRequest<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Self {
        Self {
            opcode: number32(bytes, 4),
            unique: number64(bytes, 8),
            node: number64(bytes, 16),
            body: bytes.get(HEAD..).unwrap_or_default(),
        }
    }
}

/// An answer: a negative error number, or data.
pub(super) fn answer(unique: u64, result: Result<Vec<u8>, i32>) -> Vec<u8> {
    let (error, data) = match result {
        Ok(data) => (0, data),
        Err(number) => (-number, Vec::new()),
    };
    let length = u32::try_from(16 + data.len()).unwrap_or_default();
    let mut out = [&length.to_le_bytes()[..], &error.to_le_bytes(), &unique.to_le_bytes()].concat();
    out.extend(data);
    out
}

pub(super) fn init() -> Vec<u8> {
    let mut out = Vec::new();
    for number in [7, 31, 0, FLAGS] {
        out.extend(u32::to_le_bytes(number));
    }
    // Most requests in the background, and from how many on the kernel waits.
    out.extend([64_u16, 48].map(u16::to_le_bytes).concat());
    out.extend(u32::try_from(MAX_WRITE).unwrap_or_default().to_le_bytes());
    // The granularity of times, in nanoseconds.
    out.extend(1_u32.to_le_bytes());
    out.extend(MAX_PAGES.to_le_bytes());
    out.resize(64, 0);
    out
}

/// What the kernel knows of a node: `fuse_attr`.
fn attributes(node: u64, size: u64) -> Vec<u8> {
    let (mode, size) = if node == ROOT { (0o040_755_u32, 0) } else { (0o100_600, size) };
    let mut out: Vec<u8> =
        [node, size, size / 512, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    let links = 1;
    for number in [0, 0, 0, mode, links, 0, 0, 0, 4096, 0] {
        out.extend(number.to_le_bytes());
    }
    out
}

pub(super) fn entry(size: u64) -> Vec<u8> {
    let mut out: Vec<u8> =
        [DISK, 0, VALID, VALID, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    out.extend(attributes(DISK, size));
    out
}

pub(super) fn attr(node: u64, size: u64) -> Vec<u8> {
    [&VALID.to_le_bytes()[..], &[0; 8], &attributes(node, size)].concat()
}

pub(super) fn opened() -> Vec<u8> {
    [&[0; 8][..], &DIRECT.to_le_bytes(), &[0; 4]].concat()
}
