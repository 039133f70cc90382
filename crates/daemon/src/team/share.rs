//! Makes the commit and pushes it, after all that it brings was looked at.

use std::collections::BTreeSet;

use bethink_api as api;
use bethink_git::{Change, Commit, Oid, Pushed, Remote};
use bethink_memdir_fs::File;

use super::apply::Applied;
use super::look::{Tree, tree};
use super::refused;
use super::sync::Round;
use crate::memory::MAX_MEMORY_BYTES;
use crate::{Daemon, Kind, Refusal, Result};

/// Commits made by hand that one sync looks through before it pushes them.
const MOST_COMMITS: usize = 500;
/// Names that a commit's first line holds.
const MOST_NAMED: usize = 3;

pub(super) enum Shared {
    /// What the branch is to be; `None` where nobody has anything yet.
    Done(Option<Oid>),
    /// Somebody else pushed meanwhile.
    Behind,
    /// What is here was brought up to date; pushing is for a person to allow.
    Held,
}

impl Daemon {
    pub(super) async fn share_team(
        &self,
        round: &Round<'_>,
        remote: Option<&Remote>,
        applied: &Applied,
        told: &mut api::TeamSync,
    ) -> Result<Shared> {
        if remote.is_some() && self.history_leaks(round, told).await? {
            return Ok(Shared::Held);
        }
        let tip = self.next_commit(round, applied).await?;
        let Some((tip, remote)) = tip.clone().zip(remote) else { return Ok(Shared::Done(tip)) };
        if round.tips.theirs.as_ref() == Some(&tip) {
            return Ok(Shared::Done(Some(tip)));
        }
        match round.repo.push(remote, &tip).await.map_err(|error| refused(&error))? {
            Pushed::Done => Ok(Shared::Done(Some(tip))),
            Pushed::Behind => Ok(Shared::Behind),
        }
    }

    /// Whether commits that were made by hand would carry a secret out, even one that a later commit took
    /// away: history keeps it.
    async fn history_leaks(&self, round: &Round<'_>, told: &mut api::TeamSync) -> Result<bool> {
        let tips = &round.tips;
        let Some(head) = tips.head.as_ref().filter(|_| !tips.rewritten) else { return Ok(false) };
        let failed = |error| refused(&error);
        let repo = round.repo;
        let Some(brought) =
            repo.brought(head, tips.theirs.as_ref(), MOST_COMMITS).await.map_err(failed)?
        else {
            let detail = format!("there are more than {MOST_COMMITS} commits that are not pushed");
            return Err(Refusal::new(Kind::Conflict, detail).hint("push them by hand first"));
        };
        let oids: Vec<Oid> =
            brought.iter().filter(|(_, e)| e.is_file()).map(|(_, e)| e.oid.clone()).collect();
        let blobs = repo.blobs(&oids, MAX_MEMORY_BYTES).await.map_err(failed)?;
        let files = brought.iter().filter(|(_, entry)| entry.is_file());
        let mut leaks = false;
        for ((commit, entry), blob) in files.zip(blobs) {
            let text = blob.unwrap_or_default();
            let Err(refusal) = bethink_secrets::gate(&entry.path, &String::from_utf8_lossy(&text))
            else {
                continue;
            };
            // What a reader does not see does no harm in the past; a key does.
            if refusal.findings.is_empty() {
                continue;
            }
            leaks = true;
            let by = Some(format!("commit {}", commit.short()));
            let (file, reasons) = (entry.path.clone(), refusal.reasons());
            told.blocked.push(api::TeamBlocked { file, way: "history".to_owned(), reasons, by });
        }
        if leaks {
            told.notes.push("nothing was pushed: take the secret out of the commits (`git reset --soft` to before them), and replace it, since it may have been read".to_owned());
        }
        Ok(leaks)
    }

    /// What the branch is to be: a tip that is there, or a new commit upon one or both.
    async fn next_commit(&self, round: &Round<'_>, applied: &Applied) -> Result<Option<Oid>> {
        let failed = |error| refused(&error);
        let (repo, tips) = (round.repo, &round.tips);
        let parents = self.parents(round).await?;
        let head = tree(repo, tips.head.as_ref().filter(|_| !tips.rewritten)).await?;
        let first = if parents.first() == tips.theirs.as_ref() { &round.theirs } else { &head };
        let mut changes = carried(round, &head, parents.len());
        changes.extend(
            applied
                .out
                .iter()
                .filter(|(file, content)| first.files.get(file) != content.as_ref())
                .map(|(file, content)| {
                    let change =
                        content.as_ref().map_or(Change::Remove, |b| Change::Write(b.to_vec()));
                    (file.path(), change)
                }),
        );
        if changes.is_empty() && parents.len() < 2 {
            return Ok(parents.into_iter().next());
        }
        let commit = Commit {
            message: message(&applied.pushed, tips.theirs.as_ref(), parents.len()),
            parents,
            changes,
            person: repo.person().await.map_err(failed)?,
            at: self.now().0 / 1_000_000,
        };
        repo.commit(&commit).await.map(Some).map_err(failed)
    }

    /// Whose tree the new tree is, with changes, first.
    async fn parents(&self, round: &Round<'_>) -> Result<Vec<Oid>> {
        let (repo, tips) = (round.repo, &round.tips);
        let (head, theirs) = match (&tips.head, &tips.theirs) {
            (head, None) => return Ok(head.iter().cloned().collect()),
            (None, Some(theirs)) => return Ok(vec![theirs.clone()]),
            (Some(head), Some(theirs)) => (head, theirs),
        };
        let failed = |error| refused(&error);
        if tips.rewritten || repo.is_ancestor(head, theirs).await.map_err(failed)? {
            return Ok(vec![theirs.clone()]);
        }
        if repo.is_ancestor(theirs, head).await.map_err(failed)? {
            return Ok(vec![head.clone()]);
        }
        // Commits by hand that are not pushed yet: the new one comes after both.
        Ok(vec![theirs.clone(), head.clone()])
    }
}

/// Of two histories, files that are no memory and that commits by hand changed here: they go along, unless
/// the remote has changed them, too.
fn carried(round: &Round<'_>, head: &Tree, parents: usize) -> Vec<(String, Change)> {
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
        Some(entry) => Change::Take { oid: entry.oid.clone(), mode: entry.mode.clone() },
        None => Change::Remove,
    };
    changed.map(|path| (path.clone(), change(path))).collect()
}

fn message(pushed: &BTreeSet<File>, theirs: Option<&Oid>, parents: usize) -> String {
    let names: Vec<String> = pushed.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let more = pushed.len().saturating_sub(MOST_NAMED);
    let what = match (names.is_empty(), more) {
        (true, _) => "what was committed by hand".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    };
    match theirs.filter(|_| parents > 1) {
        Some(theirs) => format!("memory: {what}, merged with {}\n", theirs.short()),
        None => format!("memory: {what}\n"),
    }
}
