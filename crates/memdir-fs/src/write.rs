//! Writing by comparing: what is replaced is what was expected, or it is put back.
//!
//! The new text stands in a hidden file, on the disk, before anything changes. Then both change places in one
//! step, so that what stood there is in hand and can be compared. Had somebody saved something else meanwhile,
//! it goes back and the writer is told. The road not taken, comparing and then renaming, overwrites what is
//! saved in between.

pub use bethink_memdir::Expected;
use bethink_memdir::Hash;
use cap_std::fs::PermissionsExt;

use crate::draft::{FileDraft, sync};
use crate::error::{FileError, UnusableReason};
use crate::file::{DirectoryFile, FileContent, Stat};
use crate::limits::{FILE_MODE, MOST_BYTES};
use crate::place::{Missing, Place, twin};
use crate::read::content;
use crate::root::MemoryRoot;
use crate::undo::MovedAside;

/// How a write or a removal ended.
#[derive(Debug)]
#[must_use = "a conflict is no error, and nothing was written"]
pub enum Replaced {
    /// The file holds these bytes already, whatever was expected.
    Same {
        hash: Hash,
        stat: Stat,
    },
    /// Written, and on the disk. `before` is what stood there.
    Done {
        hash: Hash,
        stat: Stat,
        before: Option<FileContent>,
    },
    Removed {
        before: FileContent,
    },
    /// There was nothing to remove.
    Absent,
    Conflict(Conflict),
}

/// Something else stands there than what was expected. Nothing was written.
#[derive(Debug)]
pub struct Conflict {
    /// None: the file is gone, or something stands there that can't be read.
    pub current: Option<FileContent>,
    /// What others saved and others overwrote while this write was taken back. Worth keeping in a history.
    pub displaced: Vec<FileContent>,
}

impl MemoryRoot {
    /// Compare-and-swap on the content's hash. Folders that are missing are made.
    pub fn replace(
        &self,
        file: &DirectoryFile,
        expected: Expected,
        bytes: &[u8],
    ) -> Result<Replaced, FileError> {
        if bytes.len() as u64 > MOST_BYTES {
            let why = UnusableReason::TooLarge { bytes: bytes.len() as u64 };
            return Err(FileError::strange(file.path(), why));
        }
        let _turn = self.turn(file);
        match (self.read(file)?, expected) {
            (Some(now), Expected::Anything) if now.bytes != bytes => {
                self.put_over(file, now.hash, bytes)
            }
            (Some(now), Expected::Hash(hash)) if now.hash == hash && now.bytes != bytes => {
                self.put_over(file, hash, bytes)
            }
            (None, Expected::Absent | Expected::Anything) => self.put_new(file, bytes),
            (current, _) => Ok(not_written(current, bytes)),
        }
    }

    /// Takes the file away if it holds what was expected. A link is not removed: that is a person's to do.
    pub fn remove(&self, file: &DirectoryFile, expected: Hash) -> Result<Replaced, FileError> {
        let _turn = self.turn(file);
        let Some(now) = self.read(file)? else { return Ok(Replaced::Absent) };
        if now.hash != expected {
            let conflict = Conflict { current: Some(now), displaced: Vec::new() };
            return Ok(Replaced::Conflict(conflict));
        }
        let Some(place) = self.place(file, Missing::Leave)? else { return Ok(Replaced::Absent) };
        if place.entry()?.is_some_and(|meta| meta.is_symlink()) {
            return Err(place.strange(UnusableReason::Linked));
        }
        match self.take_away(file, &place, expected)? {
            MovedAside::Gone => Ok(Replaced::Absent),
            MovedAside::Other(displaced) => self.lost(file, displaced),
            MovedAside::Expected { side, content } => {
                let synced = sync(&place).and_then(|()| self.still_there(&place));
                self.aside(file, &place, side, synced.is_ok().then_some(content.hash));
                synced.map(|()| Replaced::Removed { before: content })
            }
        }
    }

    fn put_new(&self, file: &DirectoryFile, bytes: &[u8]) -> Result<Replaced, FileError> {
        let place = self.find_or_make(file)?;
        if let Some(twin) = twin(&place.dir, &place.name).map_err(|e| place.io("look for", e))? {
            return Err(FileError::Twin { file: place.shown, twin });
        }
        let draft = FileDraft::write(&place, bytes, FILE_MODE)?;
        match self.abilities.place(&place.dir, &draft.name, &place.name) {
            Ok(()) => self.done(&place, &draft, None),
            Err(error) => {
                draft.discard(&place);
                // Somebody made the file first.
                if error.kind() == std::io::ErrorKind::AlreadyExists {
                    return Ok(not_written(self.read(file)?, bytes));
                }
                Err(place.io("write", error))
            }
        }
    }

    pub(crate) fn put_over(
        &self,
        file: &DirectoryFile,
        expected: Hash,
        bytes: &[u8],
    ) -> Result<Replaced, FileError> {
        let Some(place) = self.find(file)? else { return self.lost(file, Vec::new()) };
        let Some(meta) = place.entry()? else { return self.lost(file, Vec::new()) };
        let mode = meta.permissions().mode() & 0o777;
        if mode & 0o200 == 0 {
            return Err(FileError::ReadOnly { file: place.shown });
        }
        let draft = FileDraft::write(&place, bytes, mode)?;
        match self.abilities.exchange(&place.dir, &draft.name, &place.name) {
            Ok(true) => self.compare(file, &place, draft, expected),
            Ok(false) => self.put_over_slowly(file, &place, &draft, expected),
            Err(error) => {
                draft.discard(&place);
                match error.kind() {
                    std::io::ErrorKind::NotFound => self.lost(file, Vec::new()),
                    _ => Err(place.io("write", error)),
                }
            }
        }
    }

    /// The new text stands there, and the draft's name holds what came out.
    fn compare(
        &self,
        file: &DirectoryFile,
        place: &Place,
        draft: FileDraft,
        expected: Hash,
    ) -> Result<Replaced, FileError> {
        match content(place, &draft.name) {
            Ok(Some(out)) if out.hash == expected => {
                let done = self.done(place, &draft, Some(out));
                self.aside(file, place, draft.name, done.is_ok().then_some(expected));
                done
            }
            _ => {
                let displaced = self.give_back(file, place, draft)?;
                self.lost(file, displaced)
            }
        }
    }

    /// Where names can't change places: the file is taken away, compared, and the new one put where nothing
    /// is. For that moment readers find no file, and a crash leaves it under its hidden name.
    fn put_over_slowly(
        &self,
        file: &DirectoryFile,
        place: &Place,
        draft: &FileDraft,
        expected: Hash,
    ) -> Result<Replaced, FileError> {
        let (side, before) = match self.take_away(file, place, expected) {
            Ok(MovedAside::Expected { side, content }) => (side, content),
            missed => {
                draft.discard(place);
                let MovedAside::Other(displaced) = missed? else {
                    return self.lost(file, Vec::new());
                };
                return self.lost(file, displaced);
            }
        };
        let Err(error) = self.abilities.place(&place.dir, &draft.name, &place.name) else {
            let done = self.done(place, draft, Some(before.clone()));
            self.aside(file, place, side, done.is_ok().then_some(before.hash));
            return done;
        };
        draft.discard(place);
        match self.abilities.place(&place.dir, &side, &place.name) {
            Ok(()) => Err(place.io("write", error)),
            // Somebody saved while nothing stood there.
            Err(_) => {
                self.aside(file, place, side, None);
                self.lost(file, vec![before])
            }
        }
    }

    /// Once it is on the disk, and where its path leads.
    fn done(
        &self,
        place: &Place,
        draft: &FileDraft,
        before: Option<FileContent>,
    ) -> Result<Replaced, FileError> {
        sync(place)?;
        self.still_there(place)?;
        Ok(Replaced::Done { hash: draft.hash, stat: draft.stat(place)?, before })
    }

    /// What was displaced is handed out, come what may.
    fn lost(
        &self,
        file: &DirectoryFile,
        displaced: Vec<FileContent>,
    ) -> Result<Replaced, FileError> {
        let current = match self.read(file) {
            Err(error) if displaced.is_empty() => return Err(error),
            read => read.unwrap_or_default(),
        };
        Ok(Replaced::Conflict(Conflict { current, displaced }))
    }
}

/// Something else stands there, or the same.
fn not_written(current: Option<FileContent>, bytes: &[u8]) -> Replaced {
    match current {
        Some(now) if now.bytes == bytes => Replaced::Same { hash: now.hash, stat: now.stat },
        current => Replaced::Conflict(Conflict { current, displaced: Vec::new() }),
    }
}

#[cfg(test)]
mod tests;
