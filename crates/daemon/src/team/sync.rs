//! One sync: fetch, look, merge, write here, commit, look again, push; from the start where somebody was
//! faster.

use std::collections::BTreeSet;

use bethink_api as api;
use bethink_git::{Oid, Remote, Repo};
use bethink_memdir::Scope;
use bethink_memdir_fs::File;

use super::apply::Applied;
use super::look::{Here, Tree, tree};
use super::place::lock;
use super::plan::plan;
use super::refused;
use super::share::Shared;
use crate::memory::Project;
use crate::{Daemon, Kind, Refusal, Result};

/// Rounds before others are left to be faster: each costs one fetch.
const MOST_ROUNDS: usize = 8;
/// Files of writes that are under way, as this house names them.
const DRAFTS: &str = ".bethink-*";
/// The remote's tip that was last made one with what is here.
pub(super) const SEEN: &str = "refs/bethink/seen";

/// Where the histories stand.
pub(super) struct Tips {
    /// Of the branch here, which a person may have moved by hand.
    pub(super) head: Option<Oid>,
    pub(super) theirs: Option<Oid>,
    pub(super) seen: Option<Oid>,
    /// From which commit both come.
    pub(super) base: Option<Oid>,
    /// A rewritten history was taken on: what was here before is no part of it.
    pub(super) rewritten: bool,
}

/// What one round found out.
pub(super) struct Round<'a> {
    pub(super) project: &'a Project,
    pub(super) repo: &'a Repo,
    pub(super) tips: Tips,
    pub(super) base: Tree,
    pub(super) theirs: Tree,
    pub(super) here: Here,
}

impl Daemon {
    /// Brings a project's team memory and its remote together.
    pub async fn team_sync(
        &self,
        project_dir: &str,
        accept_rewrite: bool,
    ) -> Result<api::TeamSync> {
        let project = self.project(project_dir).await?;
        let _one = project.syncing.lock().await;
        let dir = &project.shelf(Scope::Team).dir;
        if !Repo::is_in(dir) {
            return self.sync_folder(&project).await;
        }
        let repo = self.team_repo(&project)?;
        let _lock = lock(&repo.lock_file()).await?;
        repo.leave_alone(DRAFTS).map_err(|error| refused(&error))?;
        let remote = self.team_remote(&repo).await?;
        let mut told = api::TeamSync::default();
        for _ in 0..MOST_ROUNDS {
            if self.sync_round(&project, &repo, remote.as_ref(), accept_rewrite, &mut told).await? {
                return Ok(told);
            }
        }
        let detail = format!("somebody else was faster {MOST_ROUNDS} times in a row");
        Err(Refusal::new(Kind::Conflict, detail).hint("nothing was lost; sync again"))
    }

    /// Whether it is done.
    async fn sync_round(
        &self,
        project: &Project,
        repo: &Repo,
        remote: Option<&Remote>,
        accept_rewrite: bool,
        told: &mut api::TeamSync,
    ) -> Result<bool> {
        let tips = tips(repo, remote, accept_rewrite).await?;
        let round = Round {
            project,
            repo,
            base: self.team_base(project, repo, tips.base.as_ref()).await?,
            theirs: tree(repo, tips.theirs.as_ref().or(tips.head.as_ref())).await?,
            here: self.team_here(project).await?,
            tips,
        };
        gone_at_once(&round)?;
        told.blocked.clear();
        told.notes.clear();
        told.pushed_files.clear();
        let steps = plan(&round.base.files, &round.here.files, &round.theirs.files);
        let mut applied = Applied::default();
        let whole = self.apply_plan(&round, steps, &mut applied, told).await?;
        tell_pulled(&applied, told);
        if !whole {
            return Ok(false);
        }
        match self.share_team(&round, remote, &applied, told).await? {
            Shared::Behind => Ok(false),
            Shared::Held => Ok(true),
            Shared::Done(tip) => {
                self.settle_sync(&round, &applied, tip, remote.is_some()).await?;
                told.pushed_files = applied.pushed.iter().map(ToString::to_string).collect();
                told.pushed = told.pushed_files.len() as u64;
                let head = repo.head().await.map_err(|error| refused(&error))?;
                told.head = head.map(|oid| oid.to_string());
                Ok(true)
            }
        }
    }

    /// The branch here is what both sides have now.
    async fn settle_sync(
        &self,
        round: &Round<'_>,
        applied: &Applied,
        tip: Option<Oid>,
        shared: bool,
    ) -> Result<()> {
        self.keep_bases(round.project, &round.base, &applied.left_out).await?;
        let Some(tip) = tip else { return Ok(()) };
        let (repo, tips) = (round.repo, &round.tips);
        let branch = format!("refs/heads/{}", repo.branch());
        if tips.head.as_ref() != Some(&tip) {
            repo.set_ref(&branch, &tip, tips.head.as_ref())
                .await
                .map_err(|error| refused(&error))?;
        }
        if shared && tips.seen.as_ref() != Some(&tip) {
            repo.set_ref(SEEN, &tip, tips.seen.as_ref()).await.map_err(|error| refused(&error))?;
        }
        // Only `git status` by hand looks at it; what is shared does not depend on it.
        if let Err(error) = repo.reset_index(&tip).await {
            tracing::warn!(%error, "the index of the team directory was not written");
        }
        Ok(())
    }

    /// A folder that others sync: what lies there is looked at, and told.
    async fn sync_folder(&self, project: &Project) -> Result<api::TeamSync> {
        let here = self.team_here(project).await?;
        let mut told =
            api::TeamSync { blocked: super::status::blocked(&here), ..api::TeamSync::default() };
        let copies = here.files.keys().filter(|file| is_copy(file));
        told.notes.extend(
            copies.map(|file| format!("{file} is another version, made by what syncs the folder")),
        );
        Ok(told)
    }
}

/// As the common services name a second version of a file.
fn is_copy(file: &File) -> bool {
    let path = file.path().to_lowercase();
    [".sync-conflict-", "conflicted copy", ".conflict-"].iter().any(|mark| path.contains(mark))
}

async fn tips(repo: &Repo, remote: Option<&Remote>, accept_rewrite: bool) -> Result<Tips> {
    let failed = |error| refused(&error);
    let head = repo.head().await.map_err(failed)?;
    let seen = repo.tip(SEEN).await.map_err(failed)?;
    let theirs = match remote {
        Some(remote) => repo.fetch(remote).await.map_err(failed)?,
        None => None,
    };
    let rewritten = match (&seen, &theirs) {
        (Some(seen), Some(theirs)) => !repo.is_ancestor(seen, theirs).await.map_err(failed)?,
        (Some(_), None) => remote.is_some(),
        (None, _) => false,
    };
    if rewritten && !accept_rewrite {
        return Err(rewrite(seen.as_ref(), theirs.as_ref()));
    }
    let base = match (&head, &theirs) {
        _ if rewritten => seen.clone(),
        (Some(head), Some(theirs)) => repo.merge_base(head, theirs).await.map_err(failed)?,
        (Some(head), None) => Some(head.clone()),
        (None, _) => None,
    };
    Ok(Tips { head, theirs, seen, base, rewritten })
}

fn rewrite(seen: Option<&Oid>, theirs: Option<&Oid>) -> Refusal {
    let seen = seen.map_or("", Oid::short);
    let detail = match theirs {
        Some(theirs) => format!(
            "the remote's history was rewritten: it had {seen}, which {} does not come from",
            theirs.short()
        ),
        None => format!("the remote's branch is gone: it had {seen}"),
    };
    Refusal::new(Kind::Conflict, format!("{detail}; nothing was pulled or pushed")).hint(
        "ask who did that; `bethink team sync --accept-rewrite` takes the new history on, and what was changed here since stays",
    )
}

/// A directory that was emptied, or is not what it was, must not empty everybody's.
fn gone_at_once(round: &Round<'_>) -> Result<()> {
    let common = round.base.files.len();
    if common < 2 || !round.here.files.is_empty() {
        return Ok(());
    }
    let detail =
        format!("all {common} files of the team directory are gone; nothing was pulled or pushed");
    Err(Refusal::new(Kind::Conflict, detail).hint(
        "`git checkout .` in the team directory brings them back; remove topics with `bethink memory rm`",
    ))
}

fn tell_pulled(applied: &Applied, told: &mut api::TeamSync) {
    let mut pulled: BTreeSet<String> = told.pulled_files.drain(..).collect();
    pulled.extend(applied.pulled.iter().map(ToString::to_string));
    told.pulled_files = pulled.into_iter().collect();
    told.pulled = told.pulled_files.len() as u64;
}
