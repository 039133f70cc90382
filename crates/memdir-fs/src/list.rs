//! Lists a memory directory without reading its files.

use std::io;
use std::sync::Arc;

use bethink_memdir::Name;
use bethink_memdir::name::MOST_PARTS;
use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirEntry, FileType};

use crate::error::{FileError, UnusableReason};
use crate::file::{DirectoryFile, Stat};
use crate::limits::MOST_BYTES;
use crate::place::Place;
use crate::rename::SIDE;
use crate::root::MemoryRoot;

/// A directory's entries when they were listed.
#[derive(Clone, Debug, Default)]
pub struct DirectoryListing {
    pub index: Option<Stat>,
    /// The list of rejected proposals.
    pub rejections: Option<Stat>,
    /// Topics, ordered by name.
    pub topics: Vec<(Name, Stat)>,
    /// Entries that look like memories but cannot be read as such.
    pub strange: Vec<StrangeEntry>,
    /// Hidden files of running or interrupted writes, by this or another process.
    pub left: Vec<LeftoverFile>,
}

impl DirectoryListing {
    /// Iterates over the index, the list of rejected proposals, and the topics.
    pub fn files(&self) -> impl Iterator<Item = (DirectoryFile, &Stat)> {
        let index = self.index.iter().map(|stat| (DirectoryFile::Index, stat));
        let rejections = self.rejections.iter().map(|stat| (DirectoryFile::Rejections, stat));
        index.chain(rejections).chain(
            self.topics.iter().map(|(name, stat)| (DirectoryFile::Topic(name.clone()), stat)),
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrangeEntry {
    /// Path relative to the directory. Invalid UTF-8 is replaced.
    pub path: String,
    pub why: UnusableReason,
}

/// A hidden file of a write that is running or was interrupted.
#[derive(Clone, Debug)]
pub struct LeftoverFile {
    pub(crate) folders: Vec<String>,
    pub(crate) name: String,
    pub stat: Stat,
}

impl MemoryRoot {
    pub fn list(&self) -> Result<DirectoryListing, FileError> {
        self.check_current()?;
        let mut walk = Walk { root: self, seen: 0, listing: DirectoryListing::default() };
        walk.folder(&self.dir, &[])?;
        let mut listing = walk.listing;
        listing.topics.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        listing.strange.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    /// Returns the folders that may contain topics, relative to the directory.
    pub(crate) fn folders(&self) -> io::Result<Vec<String>> {
        let (mut found, mut next) = (Vec::new(), vec![(Arc::clone(&self.dir), Vec::new())]);
        while let Some((dir, parts)) = next.pop() {
            for entry in dir.entries()?.take(self.most) {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let inner: Vec<String> = parts.iter().cloned().chain([name.clone()]).collect();
                let wanted = !name.starts_with('.') && inner.len() < MOST_PARTS;
                if !wanted || !is_folder(&entry) || self.is_the_teams(&inner) {
                    continue;
                }
                // If the folder was removed in the meantime, its parent's watch reports that.
                if let Ok(opened) = dir.open_dir_nofollow(&name) {
                    found.push(inner.join("/"));
                    next.push((Arc::new(opened), inner));
                }
            }
        }
        Ok(found)
    }
}

struct Walk<'a> {
    root: &'a MemoryRoot,
    seen: usize,
    listing: DirectoryListing,
}

impl Walk<'_> {
    fn folder(&mut self, dir: &Arc<Dir>, folders: &[String]) -> Result<(), FileError> {
        let shown = || self.root.path.join(folders.join("/")).display().to_string();
        let failed = |error| FileError::io("list", shown(), error);
        for entry in dir.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.seen += 1;
            if self.seen > self.root.most {
                return Err(FileError::TooMany { path: self.root.path.clone() });
            }
            self.entry(dir, folders, &entry)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        dir: &Arc<Dir>,
        folders: &[String],
        entry: &DirEntry,
    ) -> Result<(), FileError> {
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        let parts: Vec<String> = folders.iter().cloned().chain([shown.to_string()]).collect();
        let Some(name) = name.to_str() else {
            if shown.ends_with(".md") {
                self.strange(parts.join("/"), UnusableReason::NotText);
            }
            return Ok(());
        };
        if name.starts_with('.') {
            self.hidden(folders, name, entry);
            return Ok(());
        }
        if is_folder(entry) {
            return self.sub_folder(dir, &parts);
        }
        if name.ends_with(".md") {
            let found = self.file(dir, folders, name, entry);
            self.keep(parts.join("/"), found);
        }
        Ok(())
    }

    fn sub_folder(&mut self, dir: &Dir, parts: &[String]) -> Result<(), FileError> {
        if self.root.is_the_teams(parts) {
            return Ok(());
        }
        if parts.len() >= MOST_PARTS {
            self.strange(parts.join("/"), UnusableReason::TooDeep);
            return Ok(());
        }
        let Some(name) = parts.last() else { return Ok(()) };
        let why = match dir.open_dir_nofollow(name) {
            Ok(next) => match self.folder(&Arc::new(next), parts) {
                Ok(()) => return Ok(()),
                Err(error @ FileError::TooMany { .. }) => return Err(error),
                Err(error) => cause(&error),
            },
            Err(error) => error.to_string(),
        };
        self.strange(parts.join("/"), UnusableReason::Unreadable(why));
        Ok(())
    }

    /// Returns the file's metadata, or `None` if the file was removed after it was listed.
    fn file(
        &self,
        dir: &Arc<Dir>,
        folders: &[String],
        name: &str,
        entry: &DirEntry,
    ) -> Result<Option<Stat>, FileError> {
        let place = Place {
            shown: String::new(),
            folders: folders.to_vec(),
            dir: Arc::clone(dir),
            name: name.to_owned(),
        };
        let linked = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let meta = match entry.metadata() {
            Ok(meta) if !linked && !meta.is_symlink() => Some(meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(place.io("read the metadata of", error)),
            Ok(_) => self.root.followed(place)?.entry()?,
        };
        match meta {
            None => Ok(None),
            Some(meta) if !meta.is_file() => Err(FileError::strange("", UnusableReason::NotAFile)),
            Some(meta) if meta.len() > MOST_BYTES => {
                Err(FileError::strange("", UnusableReason::TooLarge { bytes: meta.len() }))
            }
            Some(meta) => Ok(Some(Stat::of(&meta))),
        }
    }

    fn keep(&mut self, path: String, found: Result<Option<Stat>, FileError>) {
        match (DirectoryFile::parse(&path), found) {
            (_, Ok(None)) => {}
            (Ok(DirectoryFile::Index), Ok(Some(stat))) => self.listing.index = Some(stat),
            (Ok(DirectoryFile::Rejections), Ok(Some(stat))) => {
                self.listing.rejections = Some(stat);
            }
            (Ok(DirectoryFile::Topic(name)), Ok(Some(stat))) => {
                self.listing.topics.push((name, stat));
            }
            (Err(bad), _) => self.strange(path, UnusableReason::Name(bad)),
            (_, Err(FileError::Strange { why, .. })) => self.strange(path, why),
            (_, Err(error)) => self.strange(path, UnusableReason::Unreadable(cause(&error))),
        }
    }

    fn hidden(&mut self, folders: &[String], name: &str, entry: &DirEntry) {
        if name.starts_with(SIDE)
            && let Ok(meta) = entry.metadata()
            && meta.is_file()
        {
            let (folders, name) = (folders.to_vec(), name.to_owned());
            self.listing.left.push(LeftoverFile { folders, name, stat: Stat::of(&meta) });
        }
    }

    fn strange(&mut self, path: String, why: UnusableReason) {
        self.listing.strange.push(StrangeEntry { path, why });
    }
}

/// Returns whether an entry is a folder. Not every file system reports the type in a listing.
fn is_folder(entry: &DirEntry) -> bool {
    match entry.file_type() {
        Ok(kind) if kind != FileType::unknown() => kind.is_dir(),
        _ => entry.metadata().is_ok_and(|meta| meta.is_dir()),
    }
}

fn cause(error: &FileError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bethink_memdir::Scope;

    use super::*;
    use crate::root::Follow;

    #[test]
    fn a_directory_that_somebody_unpacked_something_in_is_refused_whole() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let mut root =
            MemoryRoot::create(dir.path(), Scope::Private, Follow::No).map_err(io::Error::other)?;
        root.most = 6;
        fs::create_dir(dir.path().join("plans"))?;
        for n in 0..5 {
            fs::write(dir.path().join(format!("plans/picture-{n}.png")), "")?;
        }
        assert!(root.list().is_ok());
        fs::write(dir.path().join("fog.md"), "")?;
        assert!(matches!(root.list(), Err(FileError::TooMany { .. })));
        assert!(
            matches!(root.read(&DirectoryFile::Topic(fog())), Ok(Some(_))),
            "each file is still read"
        );
        Ok(())
    }

    fn fog() -> Name {
        Name::parse("fog").unwrap_or_else(|_| unreachable!("a plain name"))
    }
}
