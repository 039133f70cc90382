//! The database file and the files next to it.
//!
//! | name | what |
//! |---|---|
//! | `NAME`, `NAME-wal`, `NAME-shm` | SQLite's own |
//! | `NAME.clean` | the last stop was clean; contains the size and time of the file at that stop |
//! | `NAME.suspect` | a check found damage: recover at the next start |
//! | `NAME.checked` | contains the time of the last check of the whole file |
//! | `NAME.new`, `NAME.recovering`, `NAME.salvage` | unfinished, removed at the next start |
//! | `NAME.recovered` | finished, will be renamed to `NAME` |
//! | `NAME.copying` | is being filled by a copy, which is continued later if it is interrupted |
//! | `NAME.copying-from` | says what is being copied |
//! | `NAME.damaged-TIME` | copies of damaged files, never removed |

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bethink_transcript::UnixMicros;

const UNFINISHED: [&str; 3] = [".new", ".recovering", ".salvage"];
/// Suffixes of the files that SQLite keeps next to a database.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates a directory that only this user can access, unless it exists.
pub(crate) fn make_home(path: &Path) -> io::Result<()> {
    let Some(home) = path.parent().filter(|home| !home.as_os_str().is_empty()) else {
        return Ok(());
    };
    if home.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(home)
}

/// Creates an empty file that only this user can access. SQLite gives the file's companions the same mode.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

pub(crate) fn create_if_missing(path: &Path) -> io::Result<()> {
    if path.exists() { Ok(()) } else { create(path) }
}

/// Checks that the file is writable, without writing.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

/// Returns the size of a file; `None` if it does not exist.
pub(crate) fn size(path: &Path) -> io::Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn wal_size(path: &Path) -> io::Result<u64> {
    Ok(size(&beside(path, "-wal"))?.unwrap_or_default())
}

pub(crate) fn mark_clean(path: &Path) -> io::Result<()> {
    let (size, changed) = stamp(path)?;
    write_synced(&beside(path, ".clean"), format!("{size} {changed}").as_bytes())?;
    sync_directory(path)
}

/// Returns whether there was a database: what only a running daemon writes is there.
pub(crate) fn was_there(path: &Path) -> bool {
    [".clean", ".checked"].iter().any(|mark| beside(path, mark).exists())
}

/// Returns whether the log was removed after the daemon was killed. SQLite removes the log's index first.
pub(crate) fn has_lost_log(path: &Path) -> bool {
    beside(path, "-shm").exists() && !beside(path, "-wal").exists()
}

/// Returns whether the file is unchanged since the last clean stop.
pub(crate) fn is_untouched(path: &Path) -> bool {
    clean_stamp(path).is_some_and(|left| stamp(path).is_ok_and(|now| now == left))
}

fn clean_stamp(path: &Path) -> Option<(u64, i128)> {
    let text = fs::read_to_string(beside(path, ".clean")).ok()?;
    let (size, changed) = text.split_once(' ')?;
    Some((size.parse().ok()?, changed.parse().ok()?))
}

/// Returns the size, and the time of the last change in nanoseconds.
fn stamp(path: &Path) -> io::Result<(u64, i128)> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(path)?;
    let changed = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    Ok((meta.len(), changed))
}

/// Removes the mark of a clean stop. Must be called before the first write.
pub(crate) fn unmark_clean(path: &Path) -> io::Result<()> {
    remove(&beside(path, ".clean"))?;
    sync_directory(path)
}

/// Writes a small file that survives a crash.
pub(crate) fn write_note(path: &Path, text: &str) -> io::Result<()> {
    write_synced(path, text.as_bytes())?;
    sync_directory(path)
}

pub(crate) fn mark_suspect(path: &Path, why: &str) -> io::Result<()> {
    write_synced(&beside(path, ".suspect"), why.as_bytes())?;
    sync_directory(path)
}

pub(crate) fn suspicion(path: &Path) -> Option<String> {
    fs::read_to_string(beside(path, ".suspect")).ok()
}

pub(crate) fn mark_checked(path: &Path, at: UnixMicros) -> io::Result<()> {
    write_synced(&beside(path, ".checked"), at.0.to_string().as_bytes())
}

pub(crate) fn unmark_checked(path: &Path) -> io::Result<()> {
    remove(&beside(path, ".checked"))
}

pub(crate) fn checked_at(path: &Path) -> Option<UnixMicros> {
    fs::read_to_string(beside(path, ".checked")).ok()?.parse().ok().map(UnixMicros)
}

pub(crate) fn remove_unfinished(path: &Path) -> io::Result<()> {
    UNFINISHED.iter().try_for_each(|suffix| remove_database(&beside(path, suffix)))
}

/// Removes a database with its companions.
pub(crate) fn remove_database(path: &Path) -> io::Result<()> {
    remove_companions(path)?;
    remove(path)
}

fn remove_companions(path: &Path) -> io::Result<()> {
    COMPANIONS.iter().try_for_each(|companion| remove(&beside(path, companion)))
}

/// Copies the file and its companions to a new name, and returns that name.
pub(crate) fn copy_aside(path: &Path, now: UnixMicros) -> io::Result<PathBuf> {
    let name = (0..u32::MAX)
        .map(|again| match again {
            0 => beside(path, &format!(".damaged-{}", now.0)),
            again => beside(path, &format!(".damaged-{}-{again}", now.0)),
        })
        .find(|name| ["", "-wal", "-shm"].iter().all(|end| !beside(name, end).exists()))
        .unwrap_or_else(|| beside(path, ".damaged"));
    let copied = copy_database(path, &name).and_then(|()| sync_directory(path));
    if let Err(error) = copied {
        // A partial copy would only take space, and each further attempt would leave another one.
        drop(remove_database(&name));
        return Err(error);
    }
    Ok(name)
}

/// Copies a database and its companion files, as far as they exist.
pub(crate) fn copy_database(from: &Path, to: &Path) -> io::Result<()> {
    for end in ["", "-wal", "-shm"] {
        let source = beside(from, end);
        if source.exists() {
            copy_synced(&source, &beside(to, end))?;
        }
    }
    Ok(())
}

/// Renames a finished database to its final name, and removes its `-wal` and `-shm` files, whose contents must already be
/// in the database.
pub(crate) fn rename_finished(from: &Path, to: &Path) -> io::Result<()> {
    File::open(from)?.sync_all()?;
    remove_companions(from)?;
    fs::rename(from, to)?;
    sync_directory(to)
}

/// Replaces the damaged database with the recovered one, if there is one. Can be repeated after a crash at any point.
pub(crate) fn swap_in_recovered(path: &Path) -> io::Result<()> {
    let recovered = beside(path, ".recovered");
    if !recovered.exists() {
        return Ok(());
    }
    // The damaged file's WAL must not be applied to the new file.
    remove_companions(path)?;
    remove(&beside(path, ".suspect"))?;
    remove(&beside(path, ".clean"))?;
    sync_directory(path)?;
    fs::rename(&recovered, path)?;
    sync_directory(path)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn copy_synced(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes renames durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent().filter(|home| !home.as_os_str().is_empty()) {
        Some(home) => File::open(home)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        fs::write(&path, "database").unwrap();
        // A directory cannot be copied, like a file for which there is no space.
        fs::create_dir(beside(&path, "-wal")).unwrap();
        copy_aside(&path, UnixMicros(1)).unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        fs::remove_dir(beside(&path, "-wal")).unwrap();
        assert_eq!(fs::read(copy_aside(&path, UnixMicros(1)).unwrap()).unwrap(), b"database");
    }
}
