//! The lock of the home directory. The daemon that holds it owns all leased jobs.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use bethink_config::Home;
use bethink_service::is_disk_fault;
use rustix::fs::OFlags;

use crate::boot_error::BootError;

/// Number of attempts to take the lock, and the pause between them. A client that tests whether a daemon holds the lock
/// holds it for a few microseconds itself.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Creates and locks the home. The lock is held as long as the file is open.
pub(crate) async fn lock_home(home: &Path) -> Result<File, BootError> {
    let cannot = |source| BootError::Home { home: home.to_owned(), source };
    if !home.is_dir() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(cannot)?;
    }
    let path = Home::new(home).lock();
    let open = |is_writable| {
        OpenOptions::new()
            .read(true)
            .write(is_writable)
            .create(is_writable)
            .truncate(false)
            .mode(0o600)
            // A symbolic link in this place must not make the daemon overwrite another file.
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
    };
    let opened = match open(true) {
        // The lock can be taken without write access, so that a home on a full, read-only or failing disk can be read.
        Err(error) if is_disk_fault(&error) => open(false),
        opened => opened,
    };
    let mut file = opened.map_err(cannot)?;
    match try_lock(&file).await {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = std::fs::read_to_string(&path).unwrap_or_default();
            let holder = match holder.trim() {
                "" => "just starting".to_owned(),
                holder => holder.to_owned(),
            };
            return Err(BootError::Owned { home: home.to_owned(), holder });
        }
        Err(TryLockError::Error(cause)) => return Err(cannot(cause)),
    }
    remove_leftover(home);
    // The content is only for another daemon's error message. The lock itself is in the kernel.
    let holder = format!("pid {}\n", std::process::id());
    if let Err(error) = file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())) {
        tracing::debug!(%error, "could not write the process id to the lock file");
    }
    Ok(file)
}

/// Removes the address of a daemon that was killed, because another program may be listening there now. The file is
/// renamed instead of deleted: this daemon can write its own address into it even if the disk is full.
fn remove_leftover(home: &Path) {
    let home = Home::new(home);
    match std::fs::rename(home.daemon_file(), home.daemon_file_draft()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(%error, "could not remove the address of an earlier daemon");
        }
        _ => {}
    }
}

async fn try_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            tried => return tried,
        }
    }
    file.try_lock()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_looks_at_the_lock_stops_no_daemon() {
        let home = tempfile::tempdir().unwrap();
        let looks = File::create(Home::new(home.path()).lock()).unwrap();
        looks.lock_shared().unwrap();
        let locking = lock_home(home.path());
        let (locked, ()) = tokio::join!(locking, async { drop(looks) });
        let held = locked.unwrap();
        assert!(matches!(lock_home(home.path()).await, Err(BootError::Owned { .. })));
        drop(held);
    }

    #[tokio::test]
    async fn a_link_in_place_of_the_lock_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let other = home.path().join("other");
        std::fs::write(&other, "of somebody else").unwrap();
        std::os::unix::fs::symlink(&other, home.path().join("lock")).unwrap();
        assert!(matches!(lock_home(home.path()).await, Err(BootError::Home { .. })));
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "of somebody else");
    }
}
