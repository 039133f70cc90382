//! A round of a sync: the state of both sides, and what was done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_api::{self as api, BlockedWay};
use bethink_git::{Oid, Repo};
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::MemoryProject;

use crate::look::{TeamFiles, TeamTree};
use bethink_memdir::conflict;
use bethink_memdir::merge::NewContent;

pub(crate) struct BranchTips {
    /// The local branch's tip. A person may have moved it with git.
    pub(crate) head: Option<Oid>,
    pub(crate) theirs: Option<Oid>,
    pub(crate) seen: Option<Oid>,
    /// The common base commit.
    pub(crate) base: Option<Oid>,
    /// Whether the user accepted a rewritten history, which does not include the old local history.
    pub(crate) rewritten: bool,
}

pub(crate) struct SyncRound<'a> {
    pub(crate) project: &'a MemoryProject,
    pub(crate) repo: &'a Repo,
    pub(crate) tips: BranchTips,
    pub(crate) base: TeamTree,
    pub(crate) theirs: TeamTree,
    pub(crate) here: TeamFiles,
    /// Other people's files that must not be shared and that the user wants to remove for everybody.
    pub(crate) drop: &'a BTreeSet<DirectoryFile>,
}

#[derive(Debug, Default)]
pub(crate) struct AppliedPlan {
    /// Files that the sync changed here.
    pub(crate) pulled: BTreeSet<DirectoryFile>,
    /// Files to change in the next commit, relative to the remote's tip.
    pub(crate) out: BTreeMap<DirectoryFile, NewContent>,
    /// Files to report as pushed.
    pub(crate) pushed: BTreeSet<DirectoryFile>,
    /// Files that were pulled or pushed as removed.
    pub(crate) removed: BTreeSet<DirectoryFile>,
    /// Files that were neither pulled nor pushed, and keep their base.
    pub(crate) left_out: BTreeSet<DirectoryFile>,
    /// Other people's files that this sync reports, in any of its rounds.
    pub(crate) withheld: BTreeMap<DirectoryFile, api::TeamBlocked>,
    /// Other people's files to remove for everybody.
    pub(crate) dropped: BTreeSet<DirectoryFile>,
}

/// Returns the reasons if a file's content must not be shared.
pub(crate) fn unfit(file: &DirectoryFile, content: Option<&Arc<[u8]>>) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(content?);
    let gate = bethink_secrets::gate(&file.path(), &text);
    let mut reasons = gate.err().map(|error| error.reasons()).unwrap_or_default();
    if conflict::has_markers(&text) {
        reasons.push("it contains git's conflict markers".to_owned());
    }
    Some(reasons).filter(|reasons| !reasons.is_empty())
}

pub(crate) fn blocked(
    file: &DirectoryFile,
    way: BlockedWay,
    reasons: Vec<String>,
    by: Option<String>,
) -> api::TeamBlocked {
    api::TeamBlocked { file: file.to_string(), way, reasons, by }
}

/// Returns local files that cannot or must not be shared.
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
