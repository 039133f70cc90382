use std::path::PathBuf;
use std::pin::Pin;

use bethink_transcript::UnixMicros;

use crate::error::{StoreError, StoreFuture};

/// Whether the database can be written to. The daemon serves reads while it cannot.
pub trait HealthStore {
    /// Returns why nothing can be written: the error of the last write that failed because of the disk or the server. Only
    /// [`probe`](Self::probe) clears it, because a small write may succeed on a disk that is full.
    fn fault(&self) -> Option<StoreError>;
    /// Waits until there is a fault.
    fn failed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    /// Tests whether writing works, and clears or sets the fault. If the database could not be opened for writing before,
    /// opens it now and returns what was found.
    fn probe(&self) -> StoreFuture<'_, Option<OpenReport>>;
    /// Records a fault that was found outside the store, such as in the directory of the database.
    fn note_fault(&self, fault: StoreError);
    /// Returns the first damage that a read or a check has found since the database was opened.
    fn damage(&self) -> Option<&str>;
}

/// Whether the bytes in the database are as they were written.
pub trait CheckStore {
    /// Checks everything that has a checksum. Returns the first problem. This takes as long as reading the whole database,
    /// so it should run at low priority. Dropping the future stops the check.
    fn check(&self) -> StoreFuture<'_, Option<String>>;
    /// Returns the time of the last check, if there was one.
    fn checked_at(&self) -> StoreFuture<'_, Option<UnixMicros>>;
    /// Stores the time of a check, or removes it.
    fn set_checked_at(&self, at: Option<UnixMicros>) -> StoreFuture<'_, ()>;
}

/// The state in which a database was found when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// The database did not exist or was empty, and was created.
    pub new: bool,
    pub damage: Option<Damage>,
    /// The last stop was not clean, or the file has changed since then: call [`CheckStore::check`] in the background,
    /// because a large file is not checked when it is opened, and a small file is not checked completely.
    pub check_due: bool,
    /// The last transaction in the log was incomplete, and was dropped.
    pub torn: bool,
}

/// How a damaged file was recovered, or which file was gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The problem that the first check found.
    pub reason: String,
    /// Copy of the damaged file, next to copies of its `-wal` and `-shm`, if any; `None` if there was nothing to recover.
    pub copy: Option<PathBuf>,
    pub recovered: Vec<RecoveredTable>,
    /// Number of messages that sessions lack, and of these sessions. Sessions of which nothing was found do not count.
    pub lost_messages: u64,
    pub incomplete_sessions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredTable {
    pub table: &'static str,
    /// Intact rows.
    pub rows: u64,
    /// Rows that were readable but corrupted.
    pub spoiled: u64,
}
