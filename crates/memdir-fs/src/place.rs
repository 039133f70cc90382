//! Resolves a file name to a folder's descriptor and a name in that folder.

use std::path::{Component, Path};
use std::sync::Arc;

use bethink_memdir::Scope;
use bethink_memdir::name::{MOST_PARTS, TEAM, fold};
use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, MetadataExt};
use rustix::io::Errno;

use crate::draft::sync_folder;
use crate::error::{FileError, UnusableReason};
use crate::file::DirectoryFile;
use crate::limits::{FOLDER_MODE, MOST_HOPS};
use crate::root::{Inode, MemoryRoot};

/// The location of a file. `name` is a single path component, so an operation on `name` in `dir` cannot leave `dir`.
pub(crate) struct Place {
    /// The path relative to the memory directory, for messages.
    pub(crate) shown: String,
    pub(crate) folders: Vec<String>,
    pub(crate) dir: Arc<Dir>,
    pub(crate) name: String,
}

impl Place {
    /// Returns the entry itself, even if it is a link; `None` if there is no entry.
    pub(crate) fn entry(&self) -> Result<Option<Metadata>, FileError> {
        self.entry_of(&self.name)
    }

    pub(crate) fn entry_of(&self, name: &str) -> Result<Option<Metadata>, FileError> {
        match self.dir.symlink_metadata(name) {
            Ok(meta) => Ok(Some(meta)),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.io("read the metadata of", error)),
        }
    }

    pub(crate) fn io(&self, doing: &'static str, error: std::io::Error) -> FileError {
        FileError::io(doing, &self.shown, error)
    }

    pub(crate) fn strange(&self, why: UnusableReason) -> FileError {
        FileError::strange(&self.shown, why)
    }
}

impl MemoryRoot {
    /// Finds a file, and follows links that stay inside the directory. Returns `None` if its folder does not exist.
    pub(crate) fn find(&self, file: &DirectoryFile) -> Result<Option<Place>, FileError> {
        let Some(place) = self.place(file, MissingFolders::Leave)? else { return Ok(None) };
        self.followed(place).map(Some)
    }

    /// Like [`Self::find`], but creates missing folders.
    pub(crate) fn find_or_make(&self, file: &DirectoryFile) -> Result<Place, FileError> {
        let gone = || FileError::Moved { path: self.path.clone() };
        let place = self.place(file, MissingFolders::Make)?.ok_or_else(gone)?;
        self.followed(place)
    }

    /// Finds the entry with the file's name, without following a link.
    pub(crate) fn place(
        &self,
        file: &DirectoryFile,
        missing: MissingFolders,
    ) -> Result<Option<Place>, FileError> {
        let shown = file.path();
        let mut folders: Vec<String> = shown.split('/').map(str::to_owned).collect();
        let name = folders.pop().unwrap_or_default();
        if self.is_the_teams(&folders) {
            return Err(FileError::strange(shown, UnusableReason::OfTheTeam));
        }
        let dir = self.walk(&folders, &shown, missing)?;
        Ok(dir.map(|dir| Place { shown, folders, dir, name }))
    }

    /// Checks that the path still leads to the same folder.
    pub(crate) fn still_there(&self, place: &Place) -> Result<(), FileError> {
        self.check_current()?;
        if place.folders.is_empty() {
            return Ok(());
        }
        let now = self.walk(&place.folders, &place.shown, MissingFolders::Leave)?;
        let moved = || FileError::Moved { path: self.path.join(place.folders.join("/")) };
        let (now, then) = (now.ok_or_else(moved)?.dir_metadata(), place.dir.dir_metadata());
        let same = matches!((now, then), (Ok(now), Ok(then)) if node(&now) == node(&then));
        if same { Ok(()) } else { Err(moved()) }
    }

    /// Opens nested folders, none of which may be a link.
    pub(crate) fn walk(
        &self,
        folders: &[String],
        shown: &str,
        missing: MissingFolders,
    ) -> Result<Option<Arc<Dir>>, FileError> {
        let mut dir = Arc::clone(&self.dir);
        for part in folders {
            dir = match dir.open_dir_nofollow(part) {
                Ok(next) => Arc::new(next),
                Err(error) => match (Errno::from_io_error(&error), missing) {
                    (Some(Errno::NOENT), MissingFolders::Leave) => return Ok(None),
                    (Some(Errno::NOENT), MissingFolders::Make) => {
                        Arc::new(made(&dir, part, shown)?)
                    }
                    (Some(Errno::NOTDIR | Errno::LOOP | Errno::MLINK), _) => {
                        return Err(FileError::strange(shown, no_folder(&dir, part)));
                    }
                    _ => return Err(FileError::io("open the parent folder of", shown, error)),
                },
            };
        }
        Ok(Some(dir))
    }

    /// Follows links one step at a time, so that each target can be checked: it must be inside the directory, not
    /// hidden, and not in the team's directory.
    pub(crate) fn followed(&self, mut place: Place) -> Result<Place, FileError> {
        for hop in 0..=MOST_HOPS {
            match place.entry()? {
                None if hop > 0 => return Err(place.strange(UnusableReason::Dangling)),
                Some(meta) if meta.is_symlink() => place = self.hop(place)?,
                _ => return Ok(place),
            }
        }
        Err(place.strange(UnusableReason::Dangling))
    }

    fn hop(&self, place: Place) -> Result<Place, FileError> {
        let target = match place.dir.read_link_contents(&place.name) {
            Ok(target) => target,
            Err(error) => return Err(place.io("read the link", error)),
        };
        let mut folders = resolved(&place.folders, &target).map_err(|why| place.strange(why))?;
        if self.is_the_teams(&folders) {
            return Err(place.strange(UnusableReason::Team));
        }
        let Some(name) = folders.pop() else { return Err(place.strange(UnusableReason::NotAFile)) };
        let dir = self.walk(&folders, &place.shown, MissingFolders::Leave)?;
        let dir = dir.ok_or_else(|| place.strange(UnusableReason::Dangling))?;
        Ok(Place { shown: place.shown, folders, dir, name })
    }

    /// Returns whether a path within a private directory is the team's directory or in it.
    pub(crate) fn is_the_teams(&self, parts: &[String]) -> bool {
        self.scope == Scope::Private && parts.first().is_some_and(|first| fold(first) == TEAM)
    }
}

/// How to handle missing folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingFolders {
    Leave,
    Make,
}

pub(crate) fn node(meta: &Metadata) -> Inode {
    Inode(meta.dev(), meta.ino())
}

/// Finds another entry in the folder whose name is the same as `name` on some systems.
pub(crate) fn twin(dir: &Dir, name: &str) -> std::io::Result<Option<String>> {
    let folded = fold(name);
    for entry in dir.entries()? {
        let other = entry?.file_name();
        let Some(other) = other.to_str() else { continue };
        if other != name && fold(other) == folded {
            return Ok(Some(other.to_owned()));
        }
    }
    Ok(None)
}

fn made(dir: &Dir, part: &str, shown: &str) -> Result<Dir, FileError> {
    let failed = |error| FileError::io("create the parent folder of", shown, error);
    if let Some(twin) = twin(dir, part).map_err(failed)? {
        return Err(FileError::Twin { file: part.to_owned(), twin });
    }
    let mut private = DirBuilder::new();
    private.mode(FOLDER_MODE);
    match dir.create_dir_with(part, &private) {
        Err(error) if Errno::from_io_error(&error) != Some(Errno::EXIST) => {
            return Err(failed(error));
        }
        _ => {}
    }
    sync_folder(dir).map_err(failed)?;
    dir.open_dir_nofollow(part).map_err(failed)
}

fn no_folder(dir: &Dir, part: &str) -> UnusableReason {
    let linked = dir.symlink_metadata(part).is_ok_and(|meta| meta.is_symlink());
    if linked { UnusableReason::LinkedFolder } else { UnusableReason::NotAFolder }
}

/// Resolves a link's target. None of the folders is a link, so `..` can be resolved without accessing the disk.
fn resolved(folders: &[String], target: &Path) -> Result<Vec<String>, UnusableReason> {
    let mut parts = folders.to_vec();
    for component in target.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop().ok_or(UnusableReason::Outside)?;
            }
            Component::Normal(part) => {
                parts.push(part.to_str().ok_or(UnusableReason::NotText)?.to_owned());
            }
            Component::RootDir | Component::Prefix(_) => return Err(UnusableReason::Outside),
        }
    }
    if parts.len() > MOST_PARTS {
        return Err(UnusableReason::TooDeep);
    }
    if parts.iter().any(|part| part.starts_with('.')) {
        return Err(UnusableReason::Hidden);
    }
    Ok(parts)
}
