//! Turns file system events into a list of files to check again. Events are only hints: a listing decides what has
//! changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bethink_memdir::Scope;
use bethink_memdir::name::{TEAM, fold};
use notify::event::{CreateKind, RemoveKind};
use notify::{Event, EventKind};

use crate::file::DirectoryFile;
use crate::limits::MOST_DIRTY;
use crate::root::Follow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dirty {
    Files(BTreeSet<DirectoryFile>),
    Everything,
}

#[derive(Clone, Debug)]
pub(crate) struct WatchedRoot {
    pub(crate) path: PathBuf,
    pub(crate) scope: Scope,
    pub(crate) follow: Follow,
    /// Paths that the system watches: the directory, its folders and its parent.
    pub(crate) asked: BTreeSet<PathBuf>,
    /// Whether the directory is polled, because the system cannot watch all of its folders.
    pub(crate) polled: bool,
    pub(crate) pending: Option<Pending>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) dirty: Dirty,
    /// Whether folders were added or removed, so that watches must be set up again.
    pub(crate) folders: bool,
}

impl WatchedRoot {
    pub(crate) fn add(&mut self, found: DirtyPath) {
        let pending = self
            .pending
            .get_or_insert(Pending { dirty: Dirty::Files(BTreeSet::new()), folders: false });
        match (found, &mut pending.dirty) {
            (DirtyPath::File(file), Dirty::Files(files)) if files.len() < MOST_DIRTY => {
                files.insert(file);
            }
            (DirtyPath::File(_) | DirtyPath::Everything, dirty) => *dirty = Dirty::Everything,
            (DirtyPath::Folder, dirty) => {
                *dirty = Dirty::Everything;
                pending.folders = true;
            }
        }
    }

    /// Returns what must be checked after an event on a path, if the event concerns this directory.
    pub(crate) fn find(&self, kind: EventKind, path: &Path) -> Option<DirtyPath> {
        let within = path.strip_prefix(&self.path).ok()?;
        if within.as_os_str().is_empty() {
            // A change of the directory's own metadata does not matter. After any other event on the directory,
            // everything may have changed.
            return (!matches!(kind, EventKind::Modify(notify::event::ModifyKind::Metadata(_))))
                .then_some(DirtyPath::Folder);
        }
        let Some(text) = within.to_str() else { return Some(DirtyPath::Everything) };
        let mut parts = text.split('/');
        if parts.clone().any(|part| part.starts_with('.')) {
            return None;
        }
        if self.scope == Scope::Private && parts.next().is_some_and(|first| fold(first) == TEAM) {
            return None;
        }
        if self.is_folder(kind, path) {
            return Some(DirtyPath::Folder);
        }
        if !text.ends_with(".md") {
            return None;
        }
        Some(DirectoryFile::parse(text).map_or(DirtyPath::Everything, DirtyPath::File))
    }

    /// Returns whether the path is, or was, a folder. Not all events say so.
    fn is_folder(&self, kind: EventKind, path: &Path) -> bool {
        match kind {
            EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => true,
            EventKind::Modify(notify::event::ModifyKind::Data(_))
            | EventKind::Create(CreateKind::File)
            | EventKind::Remove(RemoveKind::File) => false,
            _ => {
                self.asked.contains(path)
                    || std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DirtyPath {
    File(DirectoryFile),
    Folder,
    Everything,
}

/// Records an event. Returns whether there is something to do.
pub(crate) fn take_in(roots: &mut [WatchedRoot], event: notify::Result<Event>) -> bool {
    let event = match event {
        Ok(event) if event.need_rescan() => None,
        // Reads change nothing, and many of them are our own.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => return false,
        Ok(event) => Some(event),
        Err(error) => {
            tracing::warn!(%error, "an error occurred while watching memory directories; listing them instead");
            None
        }
    };
    let mut any = false;
    for root in roots {
        let found = match &event {
            None => vec![DirtyPath::Folder],
            Some(event) => {
                event.paths.iter().filter_map(|path| root.find(event.kind, path)).collect()
            }
        };
        any |= !found.is_empty();
        found.into_iter().for_each(|found| root.add(found));
    }
    any
}
