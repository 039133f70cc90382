//! Homes: their lock, and the id by which a PostgreSQL database knows them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use bethink_config::Home;
use bethink_store_postgres as postgres;
use rustix::fs::OFlags;
use uuid::Uuid;

use crate::error::CopyError;

/// Number of attempts to take the lock. A client that tests whether a daemon holds the lock holds it for a few
/// microseconds itself.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Creates the home if it does not exist.
pub(crate) fn create_home(home: &Path) -> Result<(), CopyError> {
    if home.is_dir() {
        return Ok(());
    }
    let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(home);
    created.map_err(|source| CopyError::Home { home: home.to_owned(), source })
}

/// Takes the lock that a daemon of the home holds. It is held as long as the file is open.
pub(crate) async fn lock_home(home: &Path) -> Result<File, CopyError> {
    match try_lock_home(home).await? {
        Ok(file) => Ok(file),
        Err(holder) => Err(CopyError::HomeInUse { home: home.to_owned(), holder }),
    }
}

/// Takes the lock, or returns who has it.
pub(crate) async fn try_lock_home(home: &Path) -> Result<Result<File, String>, CopyError> {
    let cannot = |source| CopyError::Home { home: home.to_owned(), source };
    let path = Home::new(home).lock();
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    // A symbolic link in this place must not lead to another file.
    let opened = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(&path);
    let opened = match opened {
        // A backup on a read-only disk can be checked, too.
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => File::open(&path),
        opened => opened,
    };
    let mut file = opened.map_err(cannot)?;
    for tries in 1.. {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if tries < TRIES => tokio::time::sleep(PAUSE).await,
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                return Ok(Err(match holder.trim() {
                    "" => "just starting".to_owned(),
                    holder => holder.to_owned(),
                }));
            }
            Err(TryLockError::Error(cause)) => return Err(cannot(cause)),
        }
    }
    // Only for the error message of a daemon.
    let holder = format!("pid {}\n", std::process::id());
    if let Err(error) = file.set_len(0).and_then(|()| file.write_all(holder.as_bytes())) {
        tracing::debug!(%error, "could not write the process id to the lock file");
    }
    Ok(Ok(file))
}

/// Reads the id of a home, if it has one.
pub(crate) fn home_id(home: &Path) -> Result<Option<Uuid>, CopyError> {
    let id = postgres::read_home_id(&Home::new(home).database_id());
    id.map_err(|source| CopyError::Home { home: home.to_owned(), source })
}

/// Reads the id of a home, or creates it.
pub(crate) fn make_home_id(home: &Path) -> Result<Uuid, CopyError> {
    let id = postgres::make_home_id(&Home::new(home).database_id());
    id.map_err(|source| CopyError::Home { home: home.to_owned(), source })
}
