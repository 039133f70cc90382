//! Other programs' settings files on disk, and our copies of them.
//!
//! A file is written completely or not at all, and keeps its mode. Symbolic links are followed, because dotfiles often
//! are links. The text from before the first change is kept in our own home, not in the other program's directory.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bethink_install::read_settings;
use serde::{Deserialize, Serialize};

use crate::failure::CliFailure;

/// A settings file as it was read.
#[derive(Debug)]
pub(crate) struct Configured {
    /// The path of the file itself, with symbolic links resolved.
    target: PathBuf,
    text: Option<String>,
}

impl Configured {
    pub(crate) fn read(path: &Path) -> Result<Self, CliFailure> {
        let target = target(path).map_err(|error| CliFailure::file("find", path, &error))?;
        let text =
            read_settings(&target).map_err(|error| CliFailure::file("read", path, &error))?;
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
        self.check_unchanged()?;
        new.persist(&self.target).map_err(|error| failed(error.error))?;
        // This also syncs the rename. Where it is not supported, the text is still safe.
        drop(File::open(dir).and_then(|dir| dir.sync_all()));
        Ok(())
    }

    /// Makes an existing file readable only by its owner. Returns its earlier mode if others could read it.
    pub(crate) fn make_private(&self) -> Result<Option<u32>, CliFailure> {
        let Ok(meta) = fs::metadata(&self.target) else { return Ok(None) };
        let mode = meta.permissions().mode() & 0o7777;
        if mode & 0o077 == 0 {
            return Ok(None);
        }
        self.set_mode(mode & 0o700)?;
        Ok(Some(mode))
    }

    pub(crate) fn set_mode(&self, mode: u32) -> Result<(), CliFailure> {
        fs::set_permissions(&self.target, Permissions::from_mode(mode))
            .map_err(|error| CliFailure::file("change the mode of", &self.target, &error))
    }

    pub(crate) fn remove(&self) -> Result<(), CliFailure> {
        self.check_unchanged()?;
        fs::remove_file(&self.target)
            .map_err(|error| CliFailure::file("remove", &self.target, &error))
    }

    fn check_unchanged(&self) -> Result<(), CliFailure> {
        let now = read_settings(&self.target)
            .map_err(|error| CliFailure::file("read", &self.target, &error))?;
        if now == self.text {
            return Ok(());
        }
        Err(CliFailure::hinted(
            format!("another program has just changed {}", self.target.display()),
            "nothing was changed; try again",
        ))
    }
}

/// Returns the path of the file itself, with symbolic links resolved, even if it does not exist.
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

/// What we know about a file that we changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    path: PathBuf,
    /// Whether the file did not exist before.
    pub(crate) was_absent: bool,
    /// Paths of the containers that were created for our entries.
    pub(crate) made: Vec<Vec<String>>,
    /// The file's mode before a secret was written to it, if others could read the file.
    pub(crate) mode: Option<u32>,
    /// Length and hash of the text that we wrote. `None` if another program changed the file between our changes.
    after: Option<(u64, u64)>,
}

/// The directory with copies of other programs' files, made before our first change.
#[derive(Debug)]
pub(crate) struct SettingsBackup {
    dir: PathBuf,
}

impl SettingsBackup {
    pub(crate) fn of(home: &Path) -> Self {
        Self { dir: home.join("installs") }
    }

    pub(crate) fn record(&self, path: &Path) -> FileRecord {
        let read = fs::read(self.place(path, "json")).ok();
        read.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
    }

    /// Records, before a change, the containers that the change creates. The first time, also records the text.
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
        let is_ours = record.after.is_some() && record.after == now.text().map(fingerprint);
        // If another program has written since, the original text must not be restored.
        record.after = (is_first || is_ours).then_some((0, 0));
        record.made.extend(made.iter().cloned());
        self.save(&record)
    }

    /// Records the text after a change, to find out later whether another program has changed it.
    pub(crate) fn keep_after(&self, path: &Path, text: &str) -> Result<(), CliFailure> {
        let mut record = self.record(path);
        record.after = record.after.map(|_| fingerprint(text));
        self.save(&record)
    }

    /// Records the mode of a file that was made private, so that the mode is restored together with the original text.
    pub(crate) fn keep_mode(&self, path: &Path, mode: u32) -> Result<(), CliFailure> {
        let record = self.record(path);
        match record.mode {
            None => self.save(&FileRecord { mode: Some(mode), path: path.to_owned(), ..record }),
            Some(_) => Ok(()),
        }
    }

    /// Returns the text from before our first change, if the file is as we left it; `Some(None)` if the file did not exist
    /// then.
    pub(crate) fn before(&self, path: &Path, text: &str) -> Option<Option<String>> {
        let record = self.record(path);
        if record.after != Some(fingerprint(text)) {
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

    /// The name contains the path of the changed file, so that a person finds it.
    fn place(&self, path: &Path, kind: &str) -> PathBuf {
        const MAX_NAME_BYTES: usize = 180;
        let name = path.to_string_lossy().replace('/', "+");
        let from = name.ceil_char_boundary(name.len().saturating_sub(MAX_NAME_BYTES));
        self.dir.join(format!("{}.{kind}", &name[from..]))
    }
}

/// Returns the length and the FNV-1a hash of text, which are enough to detect a change.
fn fingerprint(text: &str) -> (u64, u64) {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (text.len() as u64, hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(text: Option<&str>) -> (tempfile::TempDir, PathBuf, SettingsBackup) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent/settings.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        let backup = SettingsBackup::of(&dir.path().join("home"));
        (dir, path, backup)
    }

    fn change(path: &Path, backup: &SettingsBackup, text: &str) {
        let now = Configured::read(path).unwrap();
        backup.keep_before(path, &now, &[vec!["x".to_owned()]]).unwrap();
        now.write(text, true).unwrap();
        backup.keep_after(path, text).unwrap();
    }

    #[test]
    fn the_original_text_is_restored_unless_another_program_wrote() {
        let (_dir, path, backup) = setup(Some("first"));
        change(&path, &backup, "second");
        change(&path, &backup, "third");
        assert_eq!(backup.before(&path, "third"), Some(Some("first".to_owned())));
        assert_eq!(backup.before(&path, "third, edited"), None);
        fs::write(&path, "edited").unwrap();
        change(&path, &backup, "fourth");
        assert_eq!(backup.before(&path, "fourth"), None);
        assert_eq!(backup.record(&path).made.len(), 3);
        backup.forget(&path).unwrap();
        assert!(backup.record(&path).made.is_empty());
    }

    #[test]
    fn a_file_that_did_not_exist_is_removed() {
        let (_dir, path, backup) = setup(None);
        change(&path, &backup, "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(backup.before(&path, "new"), Some(None));
        Configured::read(&path).unwrap().remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_links_target_is_written_and_keeps_its_mode() {
        let (dir, path, _backup) = setup(None);
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
    fn a_file_with_a_secret_is_for_its_owner_until_the_secret_is_gone() {
        let (_dir, path, backup) = setup(Some("old"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let now = Configured::read(&path).unwrap();
        assert_eq!(now.make_private().unwrap(), Some(0o644));
        now.write("secret", false).unwrap();
        assert_eq!((mode(&path), now.make_private().unwrap()), (0o600, None));
        backup.keep_mode(&path, 0o644).unwrap();
        backup.keep_mode(&path, 0o600).unwrap();
        assert_eq!(backup.record(&path).mode, Some(0o644));
        now.set_mode(0o644).unwrap();
        assert_eq!(mode(&path), 0o644);
    }

    #[test]
    fn a_file_that_another_program_wrote_is_not_written() {
        let (_dir, path, _backup) = setup(Some("read"));
        let now = Configured::read(&path).unwrap();
        fs::write(&path, "saved by the agent").unwrap();
        assert!(now.write("ours", true).is_err() && now.remove().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "saved by the agent");
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn copies_are_readable_by_their_owner_only() {
        let (dir, path, backup) = setup(Some("secret"));
        change(&path, &backup, "x");
        let folder = dir.path().join("home/installs");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for file in fs::read_dir(folder).unwrap() {
            assert_eq!(file.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
