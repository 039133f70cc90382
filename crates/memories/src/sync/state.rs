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
    pub(super) first: OnceCell<()>,
    /// Held during a sync.
    pub(super) progress: AsyncMutex<SyncProgress>,
    /// Whether something other than the directory may have changed since the last sync.
    pub(super) asked: AtomicBool,
    /// Why the last sync failed.
    pub(super) fault: Mutex<Option<String>>,
    /// Files that are not synced, and why.
    pub(super) held: Mutex<BTreeMap<DirectoryFile, String>>,
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
            help: "it is tried again every few seconds; `bethink doctor` may show what is wrong"
                .to_owned(),
        });
        let held = locked(&self.held).clone().into_iter().map(|(file, why)| MemoryFinding {
            severity: Severity::Warning,
            rule: "not-synced".to_owned(),
            file: file.path(),
            line: None,
            what: format!("the file is not synced with your other machines: {why}"),
            help: "change the file, or leave it if you need it on this machine only".to_owned(),
        });
        fault.into_iter().chain(held).collect()
    }
}
