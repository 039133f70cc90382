//! Writes by compare-and-swap: if the replaced content was not the expected content, it is put back.
//!
//! The new text is written to a hidden file first. Then both files exchange names in one step, and the old content is
//! compared. If someone saved something else in the meantime, that content is put back and the write fails. Comparing
//! first and renaming afterwards would overwrite a save that happens in between.

pub use bethink_memdir::Expected;
use bethink_memdir::Hash;
use cap_std::fs::PermissionsExt;

use crate::draft::{FileDraft, sync};
use crate::error::{FileError, UnusableReason};
use crate::file::{DirectoryFile, FileContent, Stat};
use crate::limits::{FILE_MODE, MOST_BYTES};
use crate::place::{MissingFolders, Place, twin};
use crate::read::content;
use crate::root::MemoryRoot;
use crate::undo::MovedAside;

/// The outcome of a write or a removal.
#[derive(Debug)]
#[must_use = "a conflict is not an error, but nothing was written"]
pub enum WriteOutcome {
    /// The file already has these bytes.
    Same {
        hash: Hash,
        stat: Stat,
    },
    /// The text is written and on disk. `before` is the previous content.
    Done {
        hash: Hash,
        stat: Stat,
        before: Option<FileContent>,
    },
    Removed {
        before: FileContent,
    },
    /// The file to remove does not exist.
    Absent,
    Conflict(Conflict),
}

/// The file did not have the expected content. Nothing was written.
#[derive(Debug)]
pub struct Conflict {
    /// `None` if the file does not exist or cannot be read.
    pub current: Option<FileContent>,
    /// Contents that others saved and overwrote while this write was undone. The caller should keep them as versions.
    pub displaced: Vec<FileContent>,
}

impl MemoryRoot {
    /// Replaces the file if it has the expected content. Creates missing folders.
    pub fn replace(
        &self,
        file: &DirectoryFile,
        expected: Expected,
        bytes: &[u8],
    ) -> Result<WriteOutcome, FileError> {
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

    /// Removes the file if it has the expected content. A link is not removed: a person must do that.
    pub fn remove(&self, file: &DirectoryFile, expected: Hash) -> Result<WriteOutcome, FileError> {
        let _turn = self.turn(file);
        let Some(now) = self.read(file)? else { return Ok(WriteOutcome::Absent) };
        if now.hash != expected {
            let conflict = Conflict { current: Some(now), displaced: Vec::new() };
            return Ok(WriteOutcome::Conflict(conflict));
        }
        let Some(place) = self.place(file, MissingFolders::Leave)? else {
            return Ok(WriteOutcome::Absent);
        };
        if place.entry()?.is_some_and(|meta| meta.is_symlink()) {
            return Err(place.strange(UnusableReason::Linked));
        }
        match self.take_away(file, &place, expected)? {
            MovedAside::Gone => Ok(WriteOutcome::Absent),
            MovedAside::Other(displaced) => self.lost(file, displaced),
            MovedAside::Expected { side, content } => {
                let synced = sync(&place).and_then(|()| self.still_there(&place));
                self.aside(file, &place, side, synced.is_ok().then_some(content.hash));
                synced.map(|()| WriteOutcome::Removed { before: content })
            }
        }
    }

    fn put_new(&self, file: &DirectoryFile, bytes: &[u8]) -> Result<WriteOutcome, FileError> {
        let place = self.find_or_make(file)?;
        if let Some(twin) =
            twin(&place.dir, &place.name).map_err(|e| place.io("check the name of", e))?
        {
            return Err(FileError::Twin { file: place.shown, twin });
        }
        let draft = FileDraft::write(&place, bytes, FILE_MODE)?;
        match self.abilities.place(&place.dir, &draft.name, &place.name) {
            Ok(()) => self.done(&place, &draft, None),
            Err(error) => {
                draft.discard(&place);
                // Someone else created the file first.
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
    ) -> Result<WriteOutcome, FileError> {
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

    /// Compares after the exchange, when the new text is in place and the old content is under the draft's name.
    fn compare(
        &self,
        file: &DirectoryFile,
        place: &Place,
        draft: FileDraft,
        expected: Hash,
    ) -> Result<WriteOutcome, FileError> {
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

    /// Replaces the file on file systems that cannot exchange names: moves the old file away, compares it, and moves
    /// the new file into place. In between, readers find no file, and a crash leaves the old file under its hidden
    /// name.
    fn put_over_slowly(
        &self,
        file: &DirectoryFile,
        place: &Place,
        draft: &FileDraft,
        expected: Hash,
    ) -> Result<WriteOutcome, FileError> {
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
            // Someone saved while there was no file.
            Err(_) => {
                self.aside(file, place, side, None);
                self.lost(file, vec![before])
            }
        }
    }

    /// Finishes a write: flushes the folder, and checks that the path still leads to it.
    fn done(
        &self,
        place: &Place,
        draft: &FileDraft,
        before: Option<FileContent>,
    ) -> Result<WriteOutcome, FileError> {
        sync(place)?;
        self.still_there(place)?;
        Ok(WriteOutcome::Done { hash: draft.hash, stat: draft.stat(place)?, before })
    }

    /// Returns the outcome of a write that was undone, with the content that it displaced.
    fn lost(
        &self,
        file: &DirectoryFile,
        displaced: Vec<FileContent>,
    ) -> Result<WriteOutcome, FileError> {
        let current = match self.read(file) {
            Err(error) if displaced.is_empty() => return Err(error),
            read => read.unwrap_or_default(),
        };
        Ok(WriteOutcome::Conflict(Conflict { current, displaced }))
    }
}

/// Returns the outcome if the current content is not the expected content, or is already the new content.
fn not_written(current: Option<FileContent>, bytes: &[u8]) -> WriteOutcome {
    match current {
        Some(now) if now.bytes == bytes => WriteOutcome::Same { hash: now.hash, stat: now.stat },
        current => WriteOutcome::Conflict(Conflict { current, displaced: Vec::new() }),
    }
}

#[cfg(test)]
mod tests;
