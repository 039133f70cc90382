//! Replaces small private files of the home in one step, so that neither a reader nor a crash finds a partial file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use uuid::Uuid;

/// Writes a file that only its owner can read. The file is durable when this function returns.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(Uuid::new_v4().simple().to_string());
    let written = write_new(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if let Err(error) = written {
        // If it was not created, there is nothing to remove.
        let _left = fs::remove_file(&draft);
        return Err(error);
    }
    sync_parent(path)
}

/// Removes what an interrupted [`replace`] of a file left. Must not run beside one.
pub fn remove_drafts(path: &Path) {
    let (Some(dir), Some(name), Some(stem)) = (path.parent(), path.file_name(), path.file_stem())
    else {
        return;
    };
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (own, other) = (entry.file_name() == name, entry.path().file_stem() == Some(stem));
        let extension = entry.path().extension().map(|one| Uuid::try_parse(&one.to_string_lossy()));
        if !own && other && matches!(extension, Some(Ok(_))) {
            // If it is already gone, there is nothing to remove.
            let _left = fs::remove_file(entry.path());
        }
    }
}

/// Writes a durable file that must not exist yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the names in a file's directory durable.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file.json");
        fs::write(&path, "an older and longer text").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        fs::create_dir(dir.path().join("taken")).unwrap();
        replace(&dir.path().join("taken"), b"new").unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no draft is left");
        fs::write(dir.path().join(format!("file.{}", Uuid::new_v4().simple())), "cut").unwrap();
        fs::write(dir.path().join(format!("else.{}", Uuid::new_v4().simple())), "cut").unwrap();
        remove_drafts(&path);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "only the drafts of this file");
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
