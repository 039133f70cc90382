//! Writing by comparing: what is replaced is what was expected, or it is put back.
//!
//! The new text stands in a hidden file, on the disk, before anything changes. Then both change places in one
//! step, so that what stood there is in hand and can be compared. Had somebody saved something else meanwhile,
//! it goes back and the writer is told. The road not taken, comparing and then renaming, overwrites what is
//! saved in between.

use bethink_memdir::Hash;
use cap_std::fs::PermissionsExt;

use crate::draft::{Draft, sync};
use crate::error::{FileError, Why};
use crate::file::{Content, File, Stat};
use crate::limits::{FILE_MODE, MOST_BYTES};
use crate::place::{Missing, Place, twin};
use crate::read::content;
use crate::root::MemoryRoot;
use crate::undo::Taken;

/// What a writer saw before it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Absent,
    Hash(Hash),
}

/// How a write ended.
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
        before: Option<Content>,
    },
    Conflict(Conflict),
}

/// How a removal ended.
#[derive(Debug)]
#[must_use = "a conflict is no error, and nothing was removed"]
pub enum Removed {
    Absent,
    Done { before: Content },
    Conflict(Conflict),
}

/// Something else stands there than what was expected. Nothing was written.
#[derive(Debug)]
pub struct Conflict {
    /// None: the file is gone, or something stands there that can't be read.
    pub current: Option<Content>,
    /// What others saved and others overwrote while this write was taken back. Worth keeping in a history.
    pub displaced: Vec<Content>,
}

impl MemoryRoot {
    /// Compare-and-swap on the content's hash. Folders that are missing are made.
    pub fn replace(
        &self,
        file: &File,
        expected: Expected,
        bytes: &[u8],
    ) -> Result<Replaced, FileError> {
        if bytes.len() as u64 > MOST_BYTES {
            let why = Why::TooLarge { bytes: bytes.len() as u64 };
            return Err(FileError::strange(file.path(), why));
        }
        let _turn = self.turn(file);
        match (self.read(file)?, expected) {
            (Some(now), _) if now.bytes == bytes => {
                Ok(Replaced::Same { hash: now.hash, stat: now.stat })
            }
            (Some(now), Expected::Hash(hash)) if now.hash == hash => {
                self.put_over(file, hash, bytes)
            }
            (None, Expected::Absent) => self.put_new(file, bytes),
            (current, _) => Ok(Replaced::Conflict(Conflict { current, displaced: Vec::new() })),
        }
    }

    /// Takes the file away if it holds what was expected. A link is not removed: that is a person's to do.
    pub fn remove(&self, file: &File, expected: Hash) -> Result<Removed, FileError> {
        let _turn = self.turn(file);
        let Some(now) = self.read(file)? else { return Ok(Removed::Absent) };
        if now.hash != expected {
            let conflict = Conflict { current: Some(now), displaced: Vec::new() };
            return Ok(Removed::Conflict(conflict));
        }
        let Some(place) = self.place(file, Missing::Leave)? else { return Ok(Removed::Absent) };
        if place.entry()?.is_some_and(|meta| meta.is_symlink()) {
            return Err(place.strange(Why::Linked));
        }
        match self.take_away(file, &place, expected)? {
            Taken::Gone => Ok(Removed::Absent),
            Taken::Other(displaced) => Ok(Removed::Conflict(self.conflict(file, displaced)?)),
            Taken::Expected { side, content } => {
                let synced = sync(&place).and_then(|()| self.still_there(&place));
                self.aside(file, &place, side, synced.is_ok().then_some(content.hash));
                synced.map(|()| Removed::Done { before: content })
            }
        }
    }

    fn put_new(&self, file: &File, bytes: &[u8]) -> Result<Replaced, FileError> {
        let place = self.find_or_make(file)?;
        if let Some(twin) = twin(&place.dir, &place.name).map_err(|e| place.io("look for", e))? {
            return Err(FileError::Twin { file: place.shown, twin });
        }
        let draft = Draft::write(&place, bytes, FILE_MODE)?;
        match self.abilities.place(&place.dir, &draft.name, &place.name) {
            Ok(()) => self.done(&place, &draft, None),
            Err(error) => {
                draft.discard(&place);
                if error.kind() == std::io::ErrorKind::AlreadyExists {
                    return self.came_first(file, bytes);
                }
                Err(place.io("write", error))
            }
        }
    }

    /// Somebody made the file first.
    fn came_first(&self, file: &File, bytes: &[u8]) -> Result<Replaced, FileError> {
        match self.read(file)? {
            Some(now) if now.bytes == bytes => {
                Ok(Replaced::Same { hash: now.hash, stat: now.stat })
            }
            current => Ok(Replaced::Conflict(Conflict { current, displaced: Vec::new() })),
        }
    }

    pub(crate) fn put_over(
        &self,
        file: &File,
        expected: Hash,
        bytes: &[u8],
    ) -> Result<Replaced, FileError> {
        let Some(place) = self.find(file)? else { return self.lost(file, Vec::new()) };
        let Some(meta) = place.entry()? else { return self.lost(file, Vec::new()) };
        let mode = meta.permissions().mode() & 0o777;
        if mode & 0o200 == 0 {
            return Err(FileError::ReadOnly { file: place.shown });
        }
        let draft = Draft::write(&place, bytes, mode)?;
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
        file: &File,
        place: &Place,
        draft: Draft,
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
        file: &File,
        place: &Place,
        draft: &Draft,
        expected: Hash,
    ) -> Result<Replaced, FileError> {
        let (side, before) = match self.take_away(file, place, expected) {
            Ok(Taken::Expected { side, content }) => (side, content),
            Ok(Taken::Gone) => {
                draft.discard(place);
                return self.lost(file, Vec::new());
            }
            Ok(Taken::Other(displaced)) => {
                draft.discard(place);
                return self.lost(file, displaced);
            }
            Err(error) => {
                draft.discard(place);
                return Err(error);
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
        draft: &Draft,
        before: Option<Content>,
    ) -> Result<Replaced, FileError> {
        sync(place)?;
        self.still_there(place)?;
        Ok(Replaced::Done { hash: draft.hash, stat: draft.stat(place)?, before })
    }

    fn lost(&self, file: &File, displaced: Vec<Content>) -> Result<Replaced, FileError> {
        Ok(Replaced::Conflict(self.conflict(file, displaced)?))
    }

    /// What was displaced is handed out, come what may.
    fn conflict(&self, file: &File, displaced: Vec<Content>) -> Result<Conflict, FileError> {
        match self.read(file) {
            Err(error) if displaced.is_empty() => Err(error),
            read => Ok(Conflict { current: read.unwrap_or_default(), displaced }),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trial;
