//! What one round of a sync found out, and what it did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_api::{self as api, BlockedWay};
use bethink_git::{Oid, Repo};
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::MemoryProject;

use crate::look::{TeamFiles, TeamTree};
use crate::plan::Content;

pub(crate) struct BranchTips {
    /// Of the branch here, which a person may have moved by hand.
    pub(crate) head: Option<Oid>,
    pub(crate) theirs: Option<Oid>,
    pub(crate) seen: Option<Oid>,
    /// From which commit both come.
    pub(crate) base: Option<Oid>,
    /// A rewritten history was taken on: what was here before is no part of it.
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
    /// Files on which the remote's tip is to change.
    pub(crate) out: BTreeMap<DirectoryFile, Content>,
    /// The same, as they are reported.
    pub(crate) pushed: BTreeSet<DirectoryFile>,
    /// Files that were neither taken nor sent, and still come from what they came from.
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

/// What lies here and may not be shared as it is, or can't be.
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
