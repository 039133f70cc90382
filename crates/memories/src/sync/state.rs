//! What a directory remembers about its syncs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use bethink_api::{MemoryFinding, Severity};
use bethink_memdir_fs::DirectoryFile;
use bethink_service::locked;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

use crate::sync::base::SyncBase;

#[derive(Debug, Default)]
pub(crate) struct SyncState {
    /// The name of the directory on all machines.
    pub(super) name: OnceCell<String>,
    /// Whether the first use of the directory need not wait for a sync any more.
    pub(super) first_sync: OnceCell<()>,
    /// Held during a sync.
    pub(super) progress: AsyncMutex<SyncProgress>,
    /// Whether something other than the directory may have changed since the last sync.
    pub(super) is_requested: AtomicBool,
    /// Why the last sync failed.
    pub(super) fault: Mutex<Option<String>>,
    /// Files that are not synced, and why.
    pub(super) skipped: Mutex<BTreeMap<DirectoryFile, String>>,
}

#[derive(Debug, Default)]
pub(crate) struct SyncProgress {
    /// `None` before the base was read.
    pub(super) base: Option<SyncBase>,
    /// The revision of the snapshot before the last sync, if that succeeded.
    pub(super) revision: Option<u64>,
}

impl SyncState {
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.name.get().is_some_and(|own| own == name)
    }

    /// Returns what a person should know about the syncs of the directory.
    pub(crate) fn findings(&self) -> Vec<MemoryFinding> {
        let fault = locked(&self.fault).clone().map(|why| MemoryFinding {
            severity: Severity::Warning,
            rule: "not-synced".to_owned(),
            file: String::new(),
            line: None,
            what: format!("the directory could not be synced with your other machines: {why}"),
            help: "bethink tries again every 5 seconds; run `bethink doctor` to check the database connection"
                .to_owned(),
        });
        let skipped = locked(&self.skipped).clone().into_iter().map(|(file, why)| MemoryFinding {
            severity: Severity::Warning,
            rule: "not-synced".to_owned(),
            file: file.path(),
            line: None,
            what: format!("the file is not synced with your other machines: {why}"),
            help: "fix this to sync the file; the other files are synced without it".to_owned(),
        });
        fault.into_iter().chain(skipped).collect()
    }
}
