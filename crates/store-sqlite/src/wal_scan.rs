//! Finds damage in the write-ahead log, and reads around it.
//!
//! SQLite uses a log up to the last transaction before the first frame whose checksum fails. This is the right thing to
//! do after a power cut, which may leave the last transaction half written. It is wrong if a byte changed on the disk:
//! all later transactions would be dropped, although each of them was answered.
//!
//! # What is damage, and what is a transaction that was being written
//!
//! Every commit is synced before the next transaction is written (`synchronous = FULL`). After a power cut, everything
//! up to the last synced commit is therefore intact. It is followed by any mixture of sectors of *one* transaction and
//! of the file's earlier content: zeros, frames with other salts, or, after a transaction that was rolled back, frames
//! with the same salts, none of which ends a transaction. So, after the first bad frame,
//!
//! * two ends of transactions prove damage: the first one was synced before the second one was written;
//! * one end proves nothing if a frame before it is lost: it may be the transaction that was being written. It is
//!   dropped, as SQLite does, and a warning says so;
//! * one end proves damage if every frame before it can be verified or repaired: then the transaction is complete.
//!
//! The end of a transaction counts if the frame's checksum is right, or if its header has the salts of this log and is
//! in one sector: then it was written as a whole, and no other frame of a transaction says that it is the last one.
//!
//! For this to hold, the next start must not find the end of a dropped transaction, nor that of a transaction whose commit
//! failed. The store ensures both: it empties the log once the database is open, and after a failed commit the writer
//! empties the log before it goes on.
//!
//! # What is read of a damaged log
//!
//! A frame's checksum continues from the one stored before it, so a frame after a damaged one can be verified. A frame
//! in which one byte changed is repaired if that byte can be found (see `wal_repair`), and is otherwise used as it is,
//! because the rows have checksums of their own. Other frames are lost, and their pages keep the older content.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::files;
use crate::options::PAGE_BYTES;
use crate::wal::{
    Checksum, FRAME_BYTES, FRAME_HEADER_BYTES, FrameHeader, HEADER_BYTES, WalHeader, frame_at,
    frame_checksum, is_in_one_sector,
};
use crate::wal_repair::{FrameDamage, repair};

/// Number of bytes of the log that are read at once.
const BUFFER_BYTES: usize = 1 << 16;

/// Number of frames that are compared to find the salts of a log whose header is damaged.
const FRAMES_TO_COMPARE: usize = 4;

/// The state in which a log was found.
#[derive(Debug)]
pub(crate) enum WalVerdict {
    Whole,
    /// The last transaction is incomplete; SQLite will drop it.
    Torn,
    Damaged(DamagedWal),
}

/// What can be read of a damaged log.
#[derive(Debug)]
pub(crate) struct DamagedWal {
    /// What is damaged.
    pub(crate) reason: String,
    big_endian: bool,
    frames: Vec<Frame>,
    /// Number of frames to use, from the beginning.
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    header: FrameHeader,
    /// The checksum of the preceding frame, or of the log's header.
    before: Checksum,
    state: FrameState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameState {
    Whole,
    /// The frame is damaged in one byte, or only in its checksum.
    Repairable,
    /// The frame is damaged in one byte, which cannot be located here. The checksums of the rows will detect it.
    Flawed,
    /// The frame has the salts of this log, but its checksum is wrong.
    Bad,
    /// The frame belongs to an earlier log, or is destroyed.
    Foreign,
}

impl Frame {
    fn is_usable(&self) -> bool {
        !matches!(self.state, FrameState::Bad | FrameState::Foreign)
    }

    fn is_end(&self, index: usize) -> bool {
        let is_known =
            self.is_usable() || (self.state == FrameState::Bad && is_in_one_sector(index));
        is_known && self.header.size > 0
    }
}

/// Reads the log of this database.
pub(crate) fn scan(database: &Path) -> io::Result<WalVerdict> {
    let path = files::beside(database, "-wal");
    let count = match files::size(&path)? {
        Some(size) if size >= frame_at(0) => (size - frame_at(0)) / FRAME_BYTES as u64,
        _ => return Ok(WalVerdict::Whole),
    };
    let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path)?);
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact(&mut bytes)?;
    let mut header = WalHeader::parse(&bytes);
    if !header.is_whole() {
        header.salts = common_salts(file.get_ref(), header.salts, count)?;
    } else if header.page_bytes as usize != PAGE_BYTES {
        // Not a log of this store; SQLite will report what is wrong.
        return Ok(WalVerdict::Whole);
    }
    let frames = read_frames(&mut file, &header, count)?;
    Ok(judge(&header, frames))
}

/// Returns the salts that occur twice in the header and the first frames.
fn common_salts(file: &File, of_header: [u8; 8], count: u64) -> io::Result<[u8; 8]> {
    let mut found = vec![of_header];
    for index in 0..usize::try_from(count).unwrap_or_default().min(FRAMES_TO_COMPARE) {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        file.read_exact_at(&mut bytes, frame_at(index))?;
        found.push(FrameHeader::parse(&bytes).salts);
    }
    let twice = |salts: &&[u8; 8]| found.iter().filter(|other| other == salts).count() > 1;
    Ok(found.iter().find(twice).or(found.last()).copied().unwrap_or(of_header))
}

fn read_frames(file: &mut BufReader<File>, log: &WalHeader, count: u64) -> io::Result<Vec<Frame>> {
    let big_endian = log.is_big_endian();
    // The candidates for the checksum before a frame: the stored one, or the computed one if the stored one is damaged.
    let mut before = vec![log.stored, log.computed];
    let mut frames: Vec<Frame> = Vec::new();
    let mut unbroken = true;
    let mut bytes = vec![0; FRAME_BYTES];
    for _ in 0..count {
        file.read_exact(&mut bytes[..FRAME_HEADER_BYTES])?;
        let header = FrameHeader::parse(&bytes);
        let is_ours = header.salts == log.salts;
        if !is_ours && !unbroken {
            file.seek_relative(PAGE_BYTES as i64)?;
            frames.push(Frame { header, before: before[0], state: FrameState::Foreign });
            before = vec![header.stored];
            continue;
        }
        file.read_exact(&mut bytes[FRAME_HEADER_BYTES..])?;
        let sum = |before: Checksum| frame_checksum(before, &bytes, big_endian);
        let follows = before.iter().position(|before| sum(*before) == header.stored);
        let state = match follows {
            Some(_) => FrameState::Whole,
            None if is_ours => FrameState::Bad,
            None => FrameState::Foreign,
        };
        if follows == Some(1)
            && let Some(previous) = frames.last_mut()
        {
            // Only its stored checksum is damaged.
            previous.state = FrameState::Repairable;
        }
        let from = before[follows.unwrap_or_default()];
        let mut frame = Frame { header, before: from, state };
        if state == FrameState::Bad {
            frame.state = match repair(from, header.stored, &mut bytes, big_endian) {
                FrameDamage::Repaired => FrameState::Repairable,
                FrameDamage::OneByte => FrameState::Flawed,
                FrameDamage::More => FrameState::Bad,
            };
            frame.header = FrameHeader::parse(&bytes);
        }
        frames.push(frame);
        before = vec![header.stored];
        if state != FrameState::Whole {
            before.push(frame_checksum(from, &bytes, big_endian));
            unbroken = false;
        }
    }
    Ok(frames)
}

fn judge(log: &WalHeader, frames: Vec<Frame>) -> WalVerdict {
    let is_sound =
        |frame: &Frame| frame.state == FrameState::Whole && frame.header.salts == log.salts;
    // The frames that SQLite would use, except for an incomplete last transaction.
    let sound = match log.is_whole() {
        true => frames.iter().take_while(|frame| is_sound(frame)).count(),
        false => 0,
    };
    let ends: Vec<usize> =
        (sound..frames.len()).filter(|index| frames[*index].is_end(*index)).collect();
    let Some(&last) = ends.last() else {
        let is_bad = |frame: &Frame| frame.state == FrameState::Bad;
        return if frames.iter().any(is_bad) { WalVerdict::Torn } else { WalVerdict::Whole };
    };
    let durable = ends.len().checked_sub(2).map(|before_last| ends[before_last] + 1);
    let is_complete = frames[durable.unwrap_or(sound)..=last].iter().all(Frame::is_usable);
    let used = match durable {
        _ if is_complete => last + 1,
        Some(durable) => durable,
        None => return WalVerdict::Torn,
    };
    let is_repaired =
        |frame: &&Frame| matches!(frame.state, FrameState::Whole | FrameState::Repairable);
    let lost = used - frames[..used].iter().filter(is_repaired).count();
    let place = match log.is_whole() {
        true => format!("frame {} of the write-ahead log", sound + 1),
        false => "the header of the write-ahead log".to_owned(),
    };
    let rest = match lost {
        0 => "all frames can be repaired".to_owned(),
        1 => "1 frame cannot be repaired".to_owned(),
        lost => format!("{lost} frames cannot be repaired"),
    };
    let reason = format!("{place} does not match its checksum; {rest}");
    WalVerdict::Damaged(DamagedWal { reason, big_endian: log.is_big_endian(), frames, used })
}

impl DamagedWal {
    /// Writes the usable pages to `target`, a copy of the database without its log.
    pub(crate) fn apply(&self, database: &Path, target: &Path) -> io::Result<()> {
        let log = File::open(files::beside(database, "-wal"))?;
        let target = OpenOptions::new().write(true).create(true).truncate(false).open(target)?;
        let mut bytes = vec![0; FRAME_BYTES];
        let usable = (0..self.used).filter(|index| self.frames[*index].is_usable());
        for index in usable {
            let Frame { header, before, state } = &self.frames[index];
            log.read_exact_at(&mut bytes, frame_at(index))?;
            if *state == FrameState::Repairable {
                repair(*before, header.stored, &mut bytes, self.big_endian);
            }
            let Some(page) = header.page.checked_sub(1) else { continue };
            let at = u64::from(page) * PAGE_BYTES as u64;
            target.write_all_at(&bytes[FRAME_HEADER_BYTES..], at)?;
            if header.size > 0 {
                target.set_len(u64::from(header.size) * PAGE_BYTES as u64)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
