//! Reads the changed parts of a directory again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use bethink_memdir::Name;
use bethink_memdir_fs::{
    DirectoryFile, Dirty, FileContent, FileError, FileSeen, MemoryRoot, changed,
};
use bethink_service::{Result, locked};

use super::OpenDirectory;
use crate::directory::{DirectorySnapshot, IndexFile, MemoryDirectory, MemoryTopic};
use crate::refused::{refused, unusable};
use crate::secret_lines::without_secrets;

impl MemoryDirectory {
    pub(super) fn open(&self, held: &mut OpenDirectory, make: bool) -> Result<()> {
        if held.root.as_ref().is_some_and(|root| root.is_current()) {
            return Ok(());
        }
        // What was seen stays: the next look finds which files are gone.
        held.root = None;
        let root = if make {
            MemoryRoot::create(&self.dir, self.scope, self.follow).map(Some)
        } else {
            MemoryRoot::open(&self.dir, self.scope, self.follow)
        };
        held.root = root.map_err(|error| unusable(&error))?.map(Arc::new);
        if held.root.is_some() {
            // The directory may not have existed when it was first watched.
            self.watcher.add(&self.dir, self.scope, self.follow, &self.woken);
            self.woken.put_back(Dirty::Everything);
        }
        Ok(())
    }

    pub(crate) fn look(&self) -> Arc<DirectorySnapshot> {
        let mut held = locked(&self.held);
        if let Err(error) = self.open(&mut held, false) {
            self.show(|shown| shown.fault = Some(error.detail));
            return self.shown();
        }
        let Some(root) = held.root.clone() else {
            held.seen.clear();
            let shown = self.shown();
            if !shown.topics.is_empty() || shown.index.is_some() || shown.fault.is_some() {
                let revision = shown.revision;
                self.show(|shown| *shown = DirectorySnapshot { revision, ..Default::default() });
            }
            return self.shown();
        };
        let dirty = self.woken.take();
        let Some(dirty) = dirty.or((!self.watched).then_some(Dirty::Everything)) else {
            return self.shown();
        };
        let seen = match &dirty {
            Dirty::Everything => self.look_at_all(&root, &mut held.seen),
            Dirty::Files(files) => self.look_at_some(&root, files, &mut held.seen),
        };
        let fault = seen.err().map(|error| refused(error).detail);
        if fault.is_some() {
            self.woken.put_back(dirty);
        }
        if self.shown().fault != fault {
            self.show(|shown| shown.fault = fault);
        }
        self.shown()
    }

    fn look_at_all(
        &self,
        root: &MemoryRoot,
        seen: &mut BTreeMap<DirectoryFile, FileSeen>,
    ) -> std::result::Result<(), FileError> {
        let listing = root.list()?;
        let changes = changed(seen, &listing);
        for file in changes.read.iter().chain(&changes.gone) {
            match self.look_at(root, file, seen) {
                // The entry was replaced after it was listed; the next read reports it.
                Err(FileError::Strange { .. }) => self.forget(file, seen),
                done => done?,
            }
        }
        if self.shown().strange != listing.strange {
            self.show(|shown| shown.strange = listing.strange);
        }
        Ok(())
    }

    /// Reads these files again. If one of them is not a memory, or was not a memory before, the whole directory is read
    /// again.
    fn look_at_some(
        &self,
        root: &MemoryRoot,
        files: &BTreeSet<DirectoryFile>,
        seen: &mut BTreeMap<DirectoryFile, FileSeen>,
    ) -> std::result::Result<(), FileError> {
        let shown = self.shown();
        let odd =
            |file: &DirectoryFile| shown.strange.iter().any(|strange| strange.path == file.path());
        if files.iter().any(odd) {
            return self.look_at_all(root, seen);
        }
        for file in files {
            match self.look_at(root, file, seen) {
                Err(FileError::Strange { .. }) => return self.look_at_all(root, seen),
                done => done?,
            }
        }
        Ok(())
    }

    fn look_at(
        &self,
        root: &MemoryRoot,
        file: &DirectoryFile,
        seen: &mut BTreeMap<DirectoryFile, FileSeen>,
    ) -> std::result::Result<(), FileError> {
        let at = self.clock.now();
        let Some(content) = root.read(file)? else {
            self.forget(file, seen);
            return Ok(());
        };
        seen.insert(file.clone(), FileSeen { stamp: content.stat.stamp, at });
        // A file that was saved is no longer damaged.
        locked(&self.damaged).retain(|known, at| known != file || *at == content.stat.modified);
        self.show(|shown| match file {
            DirectoryFile::Index => {
                let text = String::from_utf8_lossy(&content.bytes).into_owned();
                let file = IndexFile { shown: without_secrets(&text), text, hash: content.hash };
                shown.index = Some(Arc::new(file));
            }
            DirectoryFile::Rejections => {
                shown.rejections = String::from_utf8_lossy(&content.bytes).into_owned();
            }
            DirectoryFile::Topic(name) => {
                shown.topics.insert(name.clone(), Arc::new(topic(name, &content)));
            }
        });
        Ok(())
    }

    fn forget(&self, file: &DirectoryFile, seen: &mut BTreeMap<DirectoryFile, FileSeen>) {
        seen.remove(file);
        locked(&self.damaged).remove(file);
        self.show(|shown| match file {
            DirectoryFile::Index => shown.index = None,
            DirectoryFile::Rejections => shown.rejections.clear(),
            DirectoryFile::Topic(name) => drop(shown.topics.remove(name)),
        });
    }

    pub(super) fn show(&self, change: impl FnOnce(&mut DirectorySnapshot)) {
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        let snapshot = Arc::make_mut(&mut shown);
        change(snapshot);
        snapshot.revision += 1;
    }
}

fn topic(name: &Name, content: &FileContent) -> MemoryTopic {
    let text = String::from_utf8_lossy(&content.bytes);
    let topic = MemoryTopic::read(name, &text, content.hash, content.stat.modified);
    // The text of a damaged file has another size.
    MemoryTopic { bytes: content.stat.bytes, ..topic }
}
