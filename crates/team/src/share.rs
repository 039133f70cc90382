//! Makes a commit, checks everything in it, and pushes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bethink_api::{self as api, BlockedWay};
use bethink_git::{Commit, Oid, PushOutcome, Remote, TreeChange, TreeEntry};
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::MAX_MEMORY_BYTES;
use bethink_service::{Result, ServiceError};

use crate::errors::git_error;
use crate::look::{TeamTree, tree};
use crate::round::{AppliedPlan, SyncRound};
use crate::service::TeamService;

/// Maximum number of a person's own commits that a sync checks before it pushes them.
const MOST_COMMITS: usize = 500;
/// Maximum number of file names in a commit's first line.
const MOST_NAMED: usize = 3;

pub(crate) enum ShareOutcome {
    /// The branch's new tip; `None` if neither side has a commit.
    Done(Option<Oid>),
    /// Someone else pushed in the meantime.
    Behind,
    /// The local side is up to date, but a person must fix something before the push.
    Held,
}

impl TeamService {
    pub(crate) async fn share_team(
        &self,
        round: &SyncRound<'_>,
        remote: Option<&Remote>,
        applied: &AppliedPlan,
        report: &mut api::TeamSync,
    ) -> Result<ShareOutcome> {
        if remote.is_some() && self.history_leaks(round, report).await? {
            return Ok(ShareOutcome::Held);
        }
        let tip = self.next_commit(round, applied).await?;
        let Some((tip, remote)) = tip.clone().zip(remote) else {
            return Ok(ShareOutcome::Done(tip));
        };
        if round.tips.theirs.as_ref() == Some(&tip) {
            return Ok(ShareOutcome::Done(Some(tip)));
        }
        match round.repo.push(remote, &tip).await.map_err(git_error)? {
            PushOutcome::Done => Ok(ShareOutcome::Done(Some(tip))),
            PushOutcome::Behind => Ok(ShareOutcome::Behind),
        }
    }

    /// Returns whether a person's own commits would publish a secret. A secret that a later commit removed also counts.
    async fn history_leaks(
        &self,
        round: &SyncRound<'_>,
        report: &mut api::TeamSync,
    ) -> Result<bool> {
        let tips = &round.tips;
        let Some(head) = tips.head.as_ref().filter(|_| !tips.rewritten) else { return Ok(false) };
        let repo = round.repo;
        let brought = repo.brought(head, tips.theirs.as_ref(), MOST_COMMITS).await;
        let Some(brought) = brought.map_err(git_error)? else {
            let detail = format!("there are more than {MOST_COMMITS} unpushed commits");
            return Err(ServiceError::conflict(detail).hint("push them with git first"));
        };
        let files: Vec<_> = brought.into_iter().filter(|(_, entry)| entry.is_file()).collect();
        let oids: Vec<Oid> = files.iter().map(|(_, entry)| entry.oid.clone()).collect();
        let blobs = repo.blobs(&oids, MAX_MEMORY_BYTES).await.map_err(git_error)?;
        let mut leaks = false;
        for ((commit, TreeEntry { path: file, .. }), blob) in files.into_iter().zip(blobs) {
            let text = blob.unwrap_or_default();
            let gate = bethink_secrets::gate(&file, &String::from_utf8_lossy(&text));
            // Invisible characters in the history do no harm; a key does.
            let Some(error) = gate.err().filter(|error| !error.findings.is_empty()) else {
                continue;
            };
            leaks = true;
            let by = Some(format!("commit {}", commit.short()));
            let (way, reasons) = (BlockedWay::History, error.reasons());
            report.blocked.push(api::TeamBlocked { file, way, reasons, by });
        }
        if leaks {
            report.notes.push("nothing was pushed: to remove the secret from the unpushed commits, run `git reset --soft` to the commit before them, delete the secret and commit again; also replace the secret, because it may have been read".to_owned());
        }
        Ok(leaks)
    }

    /// Returns the branch's new tip: an existing commit, or a new one with one or both tips as parents.
    async fn next_commit(
        &self,
        round: &SyncRound<'_>,
        applied: &AppliedPlan,
    ) -> Result<Option<Oid>> {
        let (repo, tips) = (round.repo, &round.tips);
        let parents = self.parents(round).await?;
        let head = tree(repo, tips.head.as_ref().filter(|_| !tips.rewritten)).await?;
        let first = if parents.first() == tips.theirs.as_ref() { &round.theirs } else { &head };
        let mut changes = carried(round, &head, parents.len());
        for (file, content) in &applied.out {
            if first.files.get(file) != content.as_ref() {
                let write = |bytes: &Arc<[u8]>| TreeChange::Write(bytes.to_vec());
                changes.push((file.path(), content.as_ref().map_or(TreeChange::Remove, write)));
            }
        }
        let dropped = applied.dropped.iter().filter(|file| round.theirs.oid(file).is_some());
        changes.extend(dropped.map(|file| (file.path(), TreeChange::Remove)));
        if changes.is_empty() && parents.len() < 2 {
            return Ok(parents.into_iter().next());
        }
        let commit = Commit {
            message: message(
                &(&applied.pushed | &applied.dropped),
                tips.theirs.as_ref(),
                parents.len(),
            ),
            parents,
            changes,
            person: repo.person().await.map_err(git_error)?,
            at: self.cx.now().0 / 1_000_000,
        };
        repo.commit(&commit).await.map(Some).map_err(git_error)
    }

    /// Returns the new commit's parents. The new commit's tree is that of the first parent, with changes.
    async fn parents(&self, round: &SyncRound<'_>) -> Result<Vec<Oid>> {
        let (repo, tips) = (round.repo, &round.tips);
        let (head, theirs) = match (&tips.head, &tips.theirs) {
            (head, None) => return Ok(head.iter().cloned().collect()),
            (None, Some(theirs)) => return Ok(vec![theirs.clone()]),
            (Some(head), Some(theirs)) => (head, theirs),
        };
        if tips.rewritten || repo.is_ancestor(head, theirs).await.map_err(git_error)? {
            return Ok(vec![theirs.clone()]);
        }
        if repo.is_ancestor(theirs, head).await.map_err(git_error)? {
            return Ok(vec![head.clone()]);
        }
        // There are unpushed commits by a person, so the new commit has both parents.
        Ok(vec![theirs.clone(), head.clone()])
    }
}

/// Returns changes to keep when two histories are merged: those that a person's own commits made to files that are not
/// memories, unless the remote has changed them too.
fn carried(round: &SyncRound<'_>, head: &TeamTree, parents: usize) -> Vec<(String, TreeChange)> {
    if parents < 2 {
        return Vec::new();
    }
    let (base, theirs) = (&round.base.others, &round.theirs.others);
    let paths: BTreeSet<&String> = base.keys().chain(head.others.keys()).collect();
    let changed = paths.into_iter().filter(|path| {
        let (base, ours, theirs) = (base.get(*path), head.others.get(*path), theirs.get(*path));
        ours != base && theirs == base
    });
    let change = |path: &String| match head.others.get(path) {
        Some(entry) => TreeChange::Take { oid: entry.oid.clone(), mode: entry.mode.clone() },
        None => TreeChange::Remove,
    };
    changed.map(|path| (path.clone(), change(path))).collect()
}

fn message(pushed: &BTreeSet<DirectoryFile>, theirs: Option<&Oid>, parents: usize) -> String {
    let names: Vec<String> = pushed.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let more = pushed.len().saturating_sub(MOST_NAMED);
    let what = match (names.is_empty(), more) {
        (true, _) => "manual commits".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    };
    match theirs.filter(|_| parents > 1) {
        Some(theirs) => format!("memory: {what}, merged with {}\n", theirs.short()),
        None => format!("memory: {what}\n"),
    }
}
