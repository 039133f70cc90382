//! Reports whether the home can be written to. Some services notice a failure, and others wait until it is over.

use std::io;

use rustix::io::Errno;
use tokio::sync::Notify;

use crate::error::ServiceError;

/// Errors that come from the disk itself, or from too many open files. Other errors concern a path, such as a directory
/// in place of a file.
const DISK_FAULTS: [Errno; 6] =
    [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::ROFS, Errno::MFILE, Errno::NFILE];

/// Returns whether a file could not be used because of the disk, rather than because of its path or permissions.
pub fn is_disk_fault(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| DISK_FAULTS.contains(&errno))
}

#[derive(Debug, Default)]
pub struct StorageNews {
    suspected: Notify,
    healed: Notify,
}

impl StorageNews {
    /// Must be called when a file could not be written. The daemon then tests whether the home can be written to.
    pub fn suspect(&self, error: &ServiceError) {
        if error.kind.is_of_the_disk() {
            self.suspected.notify_one();
        }
    }

    /// Waits until a service reports that it could not write a file.
    pub async fn suspected(&self) {
        self.suspected.notified().await;
    }

    /// Reports that the home can be written to again.
    pub fn heal(&self) {
        self.healed.notify_one();
    }

    /// Waits until the home can be written to again. Only one task may wait.
    pub async fn healed(&self) {
        self.healed.notified().await;
    }
}
