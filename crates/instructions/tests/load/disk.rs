//! A disk that is a map, and the check that most tests use.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use bethink_instructions::{
    Disk, FileLook, FileType, InstructionPlaces, InstructionRequest, InstructionSet, MANAGED, load,
};

pub(crate) enum Entry {
    Text(Vec<u8>),
    Link(PathBuf),
    Device,
    /// A file whose size is known. Its content must not be read.
    Sized(u64),
    Denied,
}

/// A directory exists if it contains something. The project is `/p`, the home directory is `/home/u`.
#[derive(Default)]
pub(crate) struct Map {
    entries: BTreeMap<PathBuf, Entry>,
    pub(crate) touched: Vec<PathBuf>,
    pub(crate) approved: BTreeSet<PathBuf>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) above: bool,
    /// The files that were read, in order.
    pub(crate) reads: RefCell<Vec<PathBuf>>,
    pub(crate) looks: RefCell<usize>,
}

pub(crate) fn map(files: &[(&str, &str)]) -> Map {
    let mut map = Map::default();
    for (path, text) in files {
        map.put(path, Entry::Text(text.as_bytes().to_vec()));
    }
    map
}

impl Map {
    pub(crate) fn put(&mut self, path: &str, entry: Entry) {
        self.entries.insert(PathBuf::from(path), entry);
    }

    pub(crate) fn link(mut self, path: &str, to: &str) -> Self {
        self.put(path, Entry::Link(to.into()));
        self
    }

    pub(crate) fn touch(mut self, path: &str) -> Self {
        self.touched.push(path.into());
        self
    }

    pub(crate) fn approve(mut self, path: &str) -> Self {
        self.approved.insert(path.into());
        self
    }

    pub(crate) fn with_above(mut self) -> Self {
        self.above = true;
        self
    }

    pub(crate) fn at(mut self, cwd: &str) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    pub(crate) fn load(&self) -> InstructionSet {
        let places = InstructionPlaces {
            managed: MANAGED.into(),
            home: Some("/home/u".into()),
            root: "/p".into(),
            cwd: self.cwd.clone().unwrap_or_else(|| "/p".into()),
            above: self.above,
        };
        load(
            self,
            InstructionRequest {
                places: &places,
                touched: &self.touched,
                approved: &self.approved,
            },
        )
    }

    /// Checks the chain, followed by a `|` and the files loaded for touched files; and the skipped files, as `path
    /// reason`.
    pub(crate) fn check(&self, loaded: &[&str], skipped: &[&str]) -> InstructionSet {
        let found = self.load();
        let path = |p: &Path| p.display().to_string();
        let mut names: Vec<String> = found.chain.iter().map(|f| path(&f.path)).collect();
        names.extend(found.touched.iter().map(|f| format!("| {}", path(&f.path))));
        assert_eq!(names, loaded);
        let reasons: Vec<String> = found
            .skipped
            .iter()
            .map(|s| format!("{} {}", path(&s.path), s.reason.kind()))
            .collect();
        assert_eq!(reasons, skipped);
        found
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let (mut real, mut links) = (PathBuf::new(), 0);
        let mut open: Vec<PathBuf> =
            path.components().rev().map(|c| c.as_os_str().into()).collect();
        while let Some(part) = open.pop() {
            match part.components().next() {
                Some(Component::ParentDir) => {
                    real.pop();
                }
                Some(Component::RootDir) => real = PathBuf::from("/"),
                _ => real.push(part),
            }
            if let Some(Entry::Link(to)) = self.entries.get(&real) {
                links += 1;
                if links > 40 {
                    return Err(io::Error::other("too many levels of symbolic links"));
                }
                real.pop();
                open.extend(to.components().rev().map(|c| PathBuf::from(c.as_os_str())));
            }
        }
        Ok(real)
    }
}

impl Map {
    fn holds(&self, dir: &Path) -> bool {
        let next = self.entries.range(dir.to_path_buf()..).next();
        next.is_some_and(|(path, _)| path.starts_with(dir))
    }
}

impl Disk for Map {
    fn look(&self, path: &Path) -> io::Result<FileLook> {
        assert!(path.is_absolute(), "{path:?}");
        *self.looks.borrow_mut() += 1;
        let real = self.resolve(path)?;
        let (node, bytes) = match self.entries.get(&real) {
            Some(Entry::Text(text)) => (FileType::File, text.len() as u64),
            Some(Entry::Sized(bytes)) => (FileType::File, *bytes),
            Some(Entry::Denied) => (FileType::File, 1),
            Some(Entry::Device) => (FileType::Other, 0),
            Some(Entry::Link(_)) => unreachable!("resolved"),
            None if self.holds(&real) => (FileType::Directory, 0),
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(FileLook { real, node, bytes })
    }

    fn read(&self, real: &Path, most: u64) -> io::Result<Vec<u8>> {
        self.reads.borrow_mut().push(real.to_path_buf());
        match self.entries.get(real) {
            Some(Entry::Text(text)) if text.len() as u64 <= most => Ok(text.clone()),
            Some(Entry::Denied) => Err(io::ErrorKind::PermissionDenied.into()),
            // Tests of files that must not be read also check `reads`.
            _ => Err(io::Error::other("must not be read")),
        }
    }

    fn list(&self, dir: &Path, most: usize) -> io::Result<Vec<String>> {
        let real = self.resolve(dir)?;
        let below = self.entries.keys().filter_map(|known| known.strip_prefix(&real).ok());
        let names = below.filter_map(|path| path.components().next());
        let names: BTreeSet<String> =
            names.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect();
        Ok(names.into_iter().rev().take(most).collect())
    }
}
