//! The format of SQLite's write-ahead log (<https://www.sqlite.org/fileformat2.html#walformat>).
//!
//! A log is a header and frames; a frame is a header and the new content of one page. Both kinds of header end with a
//! running checksum, which continues from the previous checksum. The last frame of a transaction contains the size of
//! the database. The salts in the header and in each frame change each time the log is restarted, so older frames have
//! other salts.

use crate::options::PAGE_BYTES;

pub(crate) const HEADER_BYTES: usize = 32;
pub(crate) const FRAME_HEADER_BYTES: usize = 24;
pub(crate) const FRAME_BYTES: usize = FRAME_HEADER_BYTES + PAGE_BYTES;

/// If the lowest bit is set, checksums are computed from big-endian words.
const MAGIC: u32 = 0x377f_0682;
/// Number of bytes of a header that its checksum covers.
const CHECKED_OF_HEADER: usize = 24;
/// Number of bytes of a frame's header that its checksum covers: the page and the size.
const CHECKED_OF_FRAME: usize = 8;
/// Minimum number of bytes that a disk writes as a whole.
const SECTOR_BYTES: u64 = 512;

/// A running checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum(pub(crate) u32, pub(crate) u32);

impl Checksum {
    fn read(bytes: &[u8]) -> Self {
        Self(word(bytes, true), word(&bytes[4..], true))
    }

    /// Continues the checksum over `bytes`. The number of bytes must be divisible by eight.
    pub(crate) fn over(mut self, bytes: &[u8], big_endian: bool) -> Self {
        for pair in bytes.chunks_exact(8) {
            self.0 = self.0.wrapping_add(word(pair, big_endian)).wrapping_add(self.1);
            self.1 = self.1.wrapping_add(word(&pair[4..], big_endian)).wrapping_add(self.0);
        }
        self
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WalHeader {
    magic: u32,
    pub(crate) page_bytes: u32,
    pub(crate) salts: [u8; 8],
    pub(crate) stored: Checksum,
    pub(crate) computed: Checksum,
}

impl WalHeader {
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let magic = word(bytes, true);
        Self {
            magic,
            page_bytes: word(&bytes[8..], true),
            salts: salts(&bytes[16..]),
            stored: Checksum::read(&bytes[24..]),
            computed: Checksum::default().over(&bytes[..CHECKED_OF_HEADER], is_big_endian(magic)),
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.magic & !1 == MAGIC && self.stored == self.computed
    }

    pub(crate) fn is_big_endian(&self) -> bool {
        is_big_endian(self.magic)
    }
}

/// Returns whether the checksums use big-endian words. SQLite writes logs in the machine's own byte order, which is
/// assumed if the magic number is damaged.
fn is_big_endian(magic: u32) -> bool {
    match magic {
        MAGIC => false,
        magic if magic == MAGIC | 1 => true,
        _ => cfg!(target_endian = "big"),
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameHeader {
    pub(crate) page: u32,
    /// Size of the database after the transaction, in pages. Zero in all but the last frame of a transaction.
    pub(crate) size: u32,
    pub(crate) salts: [u8; 8],
    pub(crate) stored: Checksum,
}

impl FrameHeader {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        Self {
            page: word(bytes, true),
            size: word(&bytes[4..], true),
            salts: salts(&bytes[8..]),
            stored: Checksum::read(&bytes[16..]),
        }
    }
}

/// Returns the checksum of a frame that follows one with the checksum `before`.
pub(crate) fn frame_checksum(before: Checksum, frame: &[u8], big_endian: bool) -> Checksum {
    before
        .over(&frame[..CHECKED_OF_FRAME], big_endian)
        .over(&frame[FRAME_HEADER_BYTES..], big_endian)
}

pub(crate) fn frame_at(index: usize) -> u64 {
    HEADER_BYTES as u64 + index as u64 * FRAME_BYTES as u64
}

/// Returns whether the header of this frame is in one sector of the disk, so that it was written as a whole.
pub(crate) fn is_in_one_sector(index: usize) -> bool {
    frame_at(index) % SECTOR_BYTES <= SECTOR_BYTES - FRAME_HEADER_BYTES as u64
}

fn salts(bytes: &[u8]) -> [u8; 8] {
    let mut salts = [0; 8];
    salts.copy_from_slice(&bytes[..8]);
    salts
}

pub(crate) fn word(bytes: &[u8], big_endian: bool) -> u32 {
    let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}
