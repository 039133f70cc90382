//! Files that a write displaced. Each is kept under a hidden name for a moment, checked again, and only then removed.
//!
//! An editor that opened a file before it was displaced may write to it afterwards. The caller gets what the editor wrote.

use std::mem;
use std::sync::PoisonError;
use std::time::Duration;

use bethink_transcript::UnixMicros;

use crate::error::FileError;
use crate::file::{DirectoryFile, FileContent};
use crate::limits::LEFT_AFTER;
use crate::list::DirectoryListing;
use crate::place::{MissingFolders, Place};
use crate::read::{content, drain, open};
use crate::rename::named_for;
use crate::root::{Aside, MemoryRoot};

/// Content that someone wrote to a displaced file, or that an interrupted write left behind. The content stays on disk,
/// and is returned again, until it is [released](MemoryRoot::release).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RescuedFile {
    pub file: DirectoryFile,
    pub content: FileContent,
    folders: Vec<String>,
    name: String,
}

impl MemoryRoot {
    /// Returns the number of displaced files that are waiting for [`Self::settle`].
    pub fn unsettled(&self) -> usize {
        self.asides.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Checks the files that were displaced at least `grace` ago. Unchanged files are removed. Content that was written
    /// since then is returned: the caller must store it, release it, and settle again.
    pub fn settle(&self, grace: Duration) -> Vec<RescuedFile> {
        let mut asides = self.asides.lock().unwrap_or_else(PoisonError::into_inner);
        let (due, rest): (Vec<Aside>, Vec<Aside>) = mem::take(&mut *asides)
            .into_iter()
            .partition(|aside| aside.since.is_none_or(|since| since.elapsed() >= grace));
        *asides = rest;
        drop(asides);
        due.into_iter().filter_map(|aside| self.look(aside)).collect()
    }

    /// Marks these files as stored elsewhere, so that they may be removed unless someone writes to them again.
    pub fn release(&self, kept: &[RescuedFile]) {
        let mut asides = self.asides.lock().unwrap_or_else(PoisonError::into_inner);
        for aside in asides.iter_mut() {
            let of_it = |s: &&RescuedFile| s.name == aside.name && s.folders == aside.folders;
            if let Some(settled) = kept.iter().find(of_it) {
                aside.known = Some(settled.content.hash);
            }
        }
    }

    /// Collects files that interrupted writes left behind. These files must be stored and released like those of
    /// [`Self::settle`]. Recently changed files are skipped, because another daemon may be using them.
    pub fn sweep(&self, listing: &DirectoryListing, now: UnixMicros) -> Vec<RescuedFile> {
        let before = i128::from(now.0) * 1_000 - i128::try_from(LEFT_AFTER.as_nanos()).unwrap_or(0);
        let mut settled = Vec::new();
        for left in listing.left.iter().filter(|left| left.stat.stamp.ctime < before) {
            let path = named_for(&left.name).map(|name| {
                let parts = left.folders.iter().map(String::as_str).chain([name]);
                parts.collect::<Vec<_>>().join("/")
            });
            let Some(Ok(file)) = path.map(|path| DirectoryFile::parse(&path)) else { continue };
            if self.is_aside(&left.folders, &left.name) {
                continue;
            }
            let (folders, name) = (left.folders.clone(), left.name.clone());
            settled.extend(self.look(Aside { file, folders, name, known: None, since: None }));
        }
        settled
    }

    pub(crate) fn set_aside(&self, aside: Aside) {
        self.asides.lock().unwrap_or_else(PoisonError::into_inner).push(aside);
    }

    fn is_aside(&self, folders: &[String], name: &str) -> bool {
        let asides = self.asides.lock().unwrap_or_else(PoisonError::into_inner);
        asides.iter().any(|aside| aside.name == name && aside.folders == folders)
    }

    /// Returns the file's content if the caller does not have it. If the caller has it, removes the file and returns `None`.
    fn look(&self, aside: Aside) -> Option<RescuedFile> {
        let looked = self.looked(&aside).inspect_err(|error| {
            tracing::warn!(file = %aside.file, left = aside.name, %error, "could not remove the old copy of a replaced file");
        });
        let content = looked.ok()??;
        let (file, folders, name) = (aside.file.clone(), aside.folders.clone(), aside.name.clone());
        self.set_aside(aside);
        Some(RescuedFile { file, content, folders, name })
    }

    fn looked(&self, aside: &Aside) -> Result<Option<FileContent>, FileError> {
        let shown = aside.file.path();
        let Some(dir) = self.walk(&aside.folders, &shown, MissingFolders::Leave)? else {
            return Ok(None);
        };
        let place = Place { shown, folders: aside.folders.clone(), dir, name: aside.name.clone() };
        let Some(found) = content(&place, &place.name)? else { return Ok(None) };
        if aside.known != Some(found.hash) {
            return Ok(Some(found));
        }
        let Some(mut file) = open(&place, &place.name)? else { return Ok(None) };
        place.dir.remove_file(&place.name).map_err(|error| place.io("remove", error))?;
        // Read the file again through the descriptor: now that it has no name, nobody else can open it.
        let last = drain(&place, &mut file)?;
        Ok((last.hash != found.hash).then_some(last))
    }
}
