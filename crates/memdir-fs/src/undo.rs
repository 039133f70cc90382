//! Undoes a write that conflicts with another save, and puts back the content of that save.

use std::time::Instant;

use bethink_memdir::Hash;

use crate::draft::FileDraft;
use crate::error::{FileError, UnusableReason};
use crate::file::{DirectoryFile, FileContent};
use crate::limits::MOST_TURNS;
use crate::place::{Place, node};
use crate::read::content;
use crate::rename::side_name;
use crate::root::{Aside, Inode, MemoryRoot};

/// The result of moving a file aside.
pub(crate) enum MovedAside {
    /// The file had the expected content, and is now under the hidden name `side`.
    Expected {
        side: String,
        content: FileContent,
    },
    /// The file had other content and was put back. The list contains what others saved and overwrote in the meantime.
    Other(Vec<FileContent>),
    Gone,
}

impl MemoryRoot {
    /// Moves the file aside and compares its content. Unexpected content is put back.
    pub(crate) fn take_away(
        &self,
        file: &DirectoryFile,
        place: &Place,
        expected: Hash,
    ) -> Result<MovedAside, FileError> {
        // Use a plain rename: the target name is unique, and linking and then removing could remove a newer save.
        let side = side_name(&place.name);
        match place.dir.rename(&place.name, &place.dir, &side) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(MovedAside::Gone);
            }
            Err(error) => return Err(place.io("move aside", error)),
        }
        let found = match content(place, &side) {
            Ok(Some(content)) if content.hash == expected => {
                return Ok(MovedAside::Expected { side, content });
            }
            found => found,
        };
        match (self.abilities.place(&place.dir, &side, &place.name), found) {
            (Ok(()), _) | (_, Ok(None)) => Ok(MovedAside::Other(Vec::new())),
            (Err(_), Ok(Some(content))) => {
                self.aside(file, place, side, None);
                Ok(MovedAside::Other(vec![content]))
            }
            (Err(_), Err(_)) => Err(place.strange(UnusableReason::Contended(side))),
        }
    }

    /// Puts back content that someone saved and that is now under the draft's name. If that displaces a newer save,
    /// puts the newer save back too, and so on, until the file has the last save. Returns content that others overwrote
    /// in the meantime.
    pub(crate) fn give_back(
        &self,
        file: &DirectoryFile,
        place: &Place,
        draft: FileDraft,
    ) -> Result<Vec<FileContent>, FileError> {
        let side = draft.name;
        let mut standing = EntryMark::Hash(draft.hash);
        let mut in_hand = mark(place, &side);
        for _ in 0..MOST_TURNS {
            match self.abilities.exchange(&place.dir, &side, &place.name) {
                Ok(_) => {}
                // Someone removed the file, so the content here is the last version.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                Err(error) => {
                    self.aside(file, place, side, None);
                    return Err(place.io("put back", error));
                }
            }
            let out = mark(place, &side);
            if out == standing {
                break;
            }
            standing = std::mem::replace(&mut in_hand, out);
        }
        self.rest(file, place, side, draft.hash)
    }

    /// Handles the content that remains after putting back: our own bytes, or content that others overwrote.
    fn rest(
        &self,
        file: &DirectoryFile,
        place: &Place,
        side: String,
        ours: Hash,
    ) -> Result<Vec<FileContent>, FileError> {
        match content(place, &side) {
            Ok(Some(content)) if content.hash == ours => {
                self.aside(file, place, side, Some(ours));
                Ok(Vec::new())
            }
            // `settle` returns it again, in case the caller cannot store it now.
            Ok(Some(content)) => {
                self.aside(file, place, side, None);
                Ok(vec![content])
            }
            Ok(None) => Ok(Vec::new()),
            Err(_) => Err(place.strange(UnusableReason::Contended(side))),
        }
    }

    /// Keeps a hidden file for a moment, even if it contains our own bytes, because someone may have opened it.
    pub(crate) fn aside(
        &self,
        file: &DirectoryFile,
        place: &Place,
        name: String,
        known: Option<Hash>,
    ) {
        let (file, folders) = (file.clone(), place.folders.clone());
        self.set_aside(Aside { file, folders, name, known, since: Some(Instant::now()) });
    }
}

/// Identifies an entry, so that its replacement is noticed.
#[derive(PartialEq, Eq)]
enum EntryMark {
    Hash(Hash),
    /// An entry that is not a regular file, or cannot be read.
    Entry(Inode),
    Nothing,
}

fn mark(place: &Place, name: &str) -> EntryMark {
    if let Ok(Some(content)) = content(place, name) {
        return EntryMark::Hash(content.hash);
    }
    match place.entry_of(name) {
        Ok(Some(meta)) => EntryMark::Entry(node(&meta)),
        _ => EntryMark::Nothing,
    }
}

#[cfg(test)]
mod tests;
