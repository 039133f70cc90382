//! Other programs' settings files on disk, and our copies of them.
//!
//! A file is written completely or not at all and keeps its mode; a symbolic link is followed, because dotfiles often
//! are links. The text before the first change is kept in our own home, not in the other program's directory.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::CliFailure;

/// Largest settings file that is read. Claude Code's own grows to some megabytes.
const MOST_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Configured {
    /// The file behind all links.
    target: PathBuf,
    text: Option<String>,
}

impl Configured {
    pub(crate) fn read(path: &Path) -> Result<Self, CliFailure> {
        let target = target(path).map_err(|error| CliFailure::file("find", path, &error))?;
        let text = text_of(&target).map_err(|error| CliFailure::file("read", path, &error))?;
        Ok(Self { target, text })
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Replaces the text that was read; fails if another program has written the file since.
    pub(crate) fn write(&self, text: &str, is_private: bool) -> Result<(), CliFailure> {
        let failed = |error: io::Error| CliFailure::file("write", &self.target, &error);
        let dir = self.target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir).map_err(failed)?;
        let new_mode = if is_private { 0o600 } else { 0o644 };
        let mode =
            fs::metadata(&self.target).map_or(new_mode, |file| file.permissions().mode() & 0o7777);
        let mut new = tempfile::NamedTempFile::new_in(dir).map_err(failed)?;
        new.write_all(text.as_bytes()).map_err(failed)?;
        new.as_file().set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
        new.as_file().sync_all().map_err(failed)?;
        self.is_unchanged()?;
        new.persist(&self.target).map_err(|error| failed(error.error))?;
        // Also syncs the rename; a file system that cannot still has the text.
        drop(File::open(dir).and_then(|dir| dir.sync_all()));
        Ok(())
    }

    pub(crate) fn remove(&self) -> Result<(), CliFailure> {
        self.is_unchanged()?;
        fs::remove_file(&self.target)
            .map_err(|error| CliFailure::file("remove", &self.target, &error))
    }

    fn is_unchanged(&self) -> Result<(), CliFailure> {
        let now = text_of(&self.target)
            .map_err(|error| CliFailure::file("read", &self.target, &error))?;
        if now == self.text {
            return Ok(());
        }
        Err(CliFailure::hinted(
            format!("another program has just written {}", self.target.display()),
            "nothing was changed; try again",
        ))
    }
}

/// The file behind all links, whether it exists or not.
fn target(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            // A link to a file that does not exist yet.
            Ok(to) => Ok(path.parent().unwrap_or(Path::new("/")).join(to)),
            Err(_) => Ok(path.to_owned()),
        },
        Err(error) => Err(error),
    }
}

fn text_of(path: &Path) -> io::Result<Option<String>> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a settings file"));
    }
    fs::read_to_string(path).map(Some)
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    path: PathBuf,
    /// The file did not exist before.
    pub(crate) was_absent: bool,
    /// Containers that were made for our entries.
    pub(crate) made: Vec<Vec<String>>,
    /// Length and hash of the text as we wrote it; `None` once another program wrote before our last change.
    after: Option<(u64, u64)>,
}

/// The directory with copies of other programs' files from before our changes.
#[derive(Debug)]
pub(crate) struct Shelf {
    dir: PathBuf,
}

impl Shelf {
    pub(crate) fn of(home: &Path) -> Self {
        Self { dir: home.join("installs") }
    }

    pub(crate) fn record(&self, path: &Path) -> FileRecord {
        let read = fs::read(self.place(path, "json")).ok();
        read.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
    }

    /// Before a change: records the containers it creates and, the first time, the text.
    pub(crate) fn keep_before(
        &self,
        path: &Path,
        now: &Configured,
        made: &[Vec<String>],
    ) -> Result<(), CliFailure> {
        let is_first = !self.place(path, "json").exists();
        let mut record = match is_first {
            true => FileRecord {
                path: path.to_owned(),
                was_absent: now.text().is_none(),
                ..FileRecord::default()
            },
            false => self.record(path),
        };
        if is_first && let Some(text) = now.text() {
            self.put(&self.place(path, "before"), text.as_bytes())?;
        }
        let is_ours = record.after.is_some() && record.after == now.text().map(mark);
        // If another program wrote meanwhile, the text from before us must not be restored.
        record.after = (is_first || is_ours).then_some((0, 0));
        record.made.extend(made.iter().cloned());
        self.save(&record)
    }

    /// After a change: records the text, to see later whether another program wrote.
    pub(crate) fn keep_after(&self, path: &Path, text: &str) -> Result<(), CliFailure> {
        let mut record = self.record(path);
        record.after = record.after.map(|_| mark(text));
        self.save(&record)
    }

    /// The text from before us, if the file is as we left it; `Some(None)` if the file did not exist.
    pub(crate) fn before(&self, path: &Path, text: &str) -> Option<Option<String>> {
        let record = self.record(path);
        if record.after != Some(mark(text)) {
            return None;
        }
        match record.was_absent {
            true => Some(None),
            false => fs::read_to_string(self.place(path, "before")).ok().map(Some),
        }
    }

    pub(crate) fn forget(&self, path: &Path) -> Result<(), CliFailure> {
        for kind in ["json", "before"] {
            let place = self.place(path, kind);
            if let Err(error) = fs::remove_file(&place)
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(CliFailure::file("remove", &place, &error));
            }
        }
        Ok(())
    }

    fn save(&self, record: &FileRecord) -> Result<(), CliFailure> {
        let json =
            serde_json::to_vec(record).map_err(|error| CliFailure::new(error.to_string()))?;
        self.put(&self.place(&record.path, "json"), &json)
    }

    fn put(&self, place: &Path, bytes: &[u8]) -> Result<(), CliFailure> {
        let failed = |error: io::Error| CliFailure::file("write", place, &error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(place).map_err(failed)?;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)
    }

    /// Named after the file's path, so that a person finds it.
    fn place(&self, path: &Path, kind: &str) -> PathBuf {
        const MOST_NAME_BYTES: usize = 180;
        let name = path.to_string_lossy().replace('/', "+");
        let from = name.ceil_char_boundary(name.len().saturating_sub(MOST_NAME_BYTES));
        self.dir.join(format!("{}.{kind}", &name[from..]))
    }
}

/// Length and FNV-1a of a text: enough to know whether anybody touched it.
fn mark(text: &str) -> (u64, u64) {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (text.len() as u64, hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(text: Option<&str>) -> (tempfile::TempDir, PathBuf, Shelf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent/settings.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        let shelf = Shelf::of(&dir.path().join("home"));
        (dir, path, shelf)
    }

    fn change(path: &Path, shelf: &Shelf, text: &str) {
        let now = Configured::read(path).unwrap();
        shelf.keep_before(path, &now, &[vec!["x".to_owned()]]).unwrap();
        now.write(text, true).unwrap();
        shelf.keep_after(path, text).unwrap();
    }

    #[test]
    fn the_first_text_comes_back_as_long_as_nobody_else_writes() {
        let (_dir, path, shelf) = setup(Some("first"));
        change(&path, &shelf, "second");
        change(&path, &shelf, "third");
        assert_eq!(shelf.before(&path, "third"), Some(Some("first".to_owned())));
        assert_eq!(shelf.before(&path, "third, edited"), None);
        fs::write(&path, "edited").unwrap();
        change(&path, &shelf, "fourth");
        assert_eq!(shelf.before(&path, "fourth"), None);
        assert_eq!(shelf.record(&path).made.len(), 3);
        shelf.forget(&path).unwrap();
        assert!(shelf.record(&path).made.is_empty());
    }

    #[test]
    fn a_file_that_was_not_there_goes_again() {
        let (_dir, path, shelf) = setup(None);
        change(&path, &shelf, "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(shelf.before(&path, "new"), Some(None));
        Configured::read(&path).unwrap().remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_links_target_is_written_and_keeps_its_mode() {
        let (dir, path, _shelf) = setup(None);
        let dotfiles = dir.path().join("dotfiles.json");
        fs::write(&dotfiles, "old").unwrap();
        fs::set_permissions(&dotfiles, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&dotfiles, &path).unwrap();
        Configured::read(&path).unwrap().write("new", true).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&dotfiles).unwrap(), "new");
        assert_eq!(fs::metadata(&dotfiles).unwrap().permissions().mode() & 0o777, 0o640);
        fs::remove_file(&dotfiles).unwrap();
        Configured::read(&path).unwrap().write("again", true).unwrap();
        assert_eq!(fs::read_to_string(&dotfiles).unwrap(), "again");
    }

    #[test]
    fn a_file_that_somebody_wrote_meanwhile_is_not_written() {
        let (_dir, path, _shelf) = setup(Some("read"));
        let now = Configured::read(&path).unwrap();
        fs::write(&path, "saved by the agent").unwrap();
        assert!(now.write("ours", true).is_err() && now.remove().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "saved by the agent");
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing is left lying about"
        );
    }

    #[test]
    fn what_is_kept_is_the_owners_alone() {
        let (dir, path, shelf) = setup(Some("secret"));
        change(&path, &shelf, "x");
        let folder = dir.path().join("home/installs");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for file in fs::read_dir(folder).unwrap() {
            assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
