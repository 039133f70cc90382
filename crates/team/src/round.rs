//! What one round of a sync found, and what it did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_api::{self as api, BlockedWay};
use bethink_git::{Oid, Repo};
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::MemoryProject;

use crate::look::{TeamFiles, TeamTree};
use crate::plan::Content;

pub(crate) struct BranchTips {
    /// The local branch's tip, which a person may have moved by hand.
    pub(crate) head: Option<Oid>,
    pub(crate) theirs: Option<Oid>,
    pub(crate) seen: Option<Oid>,
    /// The common base commit.
    pub(crate) base: Option<Oid>,
    /// A rewritten history was accepted; the old local history is not part of it.
    pub(crate) rewritten: bool,
}

pub(crate) struct SyncRound<'a> {
    pub(crate) project: &'a MemoryProject,
    pub(crate) repo: &'a Repo,
    pub(crate) tips: BranchTips,
    pub(crate) base: TeamTree,
    pub(crate) theirs: TeamTree,
    pub(crate) here: TeamFiles,
}

#[derive(Debug, Default)]
pub(crate) struct AppliedPlan {
    /// Files that changed here.
    pub(crate) pulled: BTreeSet<DirectoryFile>,
    /// Files that the remote's tip must change.
    pub(crate) out: BTreeMap<DirectoryFile, Content>,
    /// The same, for the report.
    pub(crate) pushed: BTreeSet<DirectoryFile>,
    /// Files that were neither pulled nor pushed, and keep their base.
    pub(crate) left_out: BTreeSet<DirectoryFile>,
}

/// Why a content may not be shared.
pub(crate) fn unfit(file: &DirectoryFile, content: Option<&Arc<[u8]>>) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(content?);
    bethink_secrets::gate(&file.path(), &text).err().map(|error| error.reasons())
}

pub(crate) fn blocked(
    file: &DirectoryFile,
    way: BlockedWay,
    reasons: Vec<String>,
    by: Option<String>,
) -> api::TeamBlocked {
    api::TeamBlocked { file: file.to_string(), way, reasons, by }
}

/// Local files that may not be shared as they are, or cannot be.
pub(crate) fn blocked_here(here: &TeamFiles) -> Vec<api::TeamBlocked> {
    let unfit = here.files.iter().filter_map(|(file, bytes)| {
        unfit(file, Some(bytes)).map(|reasons| blocked(file, BlockedWay::Here, reasons, None))
    });
    let unread = here
        .unread
        .iter()
        .map(|(file, why)| blocked(file, BlockedWay::Here, vec![why.clone()], None));
    unfit.chain(unread).collect()
}
