//! A sync: fetch, compare, merge, write here, commit, check, push. It starts over if someone else pushed first, or if a file
//! here changed in the meantime.

use std::collections::{BTreeMap, BTreeSet};

use bethink_api::{self as api, TeamMemoryKind};
use bethink_git::{Oid, Remote, Repo};
use bethink_memdir::{Name, Scope};
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::MemoryProject;
use bethink_service::{Result, ServiceError};

use crate::errors::git_error;
use crate::look::tree;
use crate::place::lock;
use crate::round::{AppliedPlan, BranchTips, SyncRound, blocked_here};
use crate::service::TeamService;
use crate::share::ShareOutcome;
use bethink_memdir::merge::plan;

/// Maximum number of rounds if others keep pushing first, or files here keep changing. Each round costs a fetch.
const MOST_ROUNDS: usize = 8;
/// From this number of files on, a sync fails if programs other than bethink removed more than half of them.
const MANY_FILES: usize = 5;
/// Pattern of the temporary files of writes in progress.
const DRAFTS: &str = ".bethink-*";
/// The remote's tip that was last merged with the local side.
pub(crate) const SEEN: &str = "refs/bethink/seen";

impl TeamService {
    /// Syncs a project's team memory with its remote.
    pub async fn team_sync(&self, request: api::TeamSyncRequest) -> Result<api::TeamSync> {
        let api::TeamSyncRequest { project_dir, accept_rewrite, drop } = request;
        let project = self.memories.project(&project_dir).await?;
        let drop = drop.iter().map(|file| file_to_drop(file)).collect::<Result<_>>()?;
        let _one = project.turns.syncing.lock().await;
        match self.kind(&project).await? {
            TeamMemoryKind::Repository => {}
            TeamMemoryKind::Folder => return self.sync_folder(&project).await,
            TeamMemoryKind::None => {
                return Err(ServiceError::conflict("this project has no team memory").hint(
                    "run `bethink team init --remote URL` or `bethink team init --dir DIR`",
                ));
            }
        }
        let repo = self.team_repo(&project)?;
        let _lock = lock(&repo.lock_file()).await?;
        repo.leave_alone(DRAFTS).map_err(git_error)?;
        let remote = self.team_remote(&repo).await?;
        let mut report = api::TeamSync::default();
        let mut withheld = BTreeMap::new();
        for _ in 0..MOST_ROUNDS {
            let tips = self.tips(&repo, remote.as_ref(), accept_rewrite).await?;
            let round = SyncRound {
                project: &project,
                repo: &repo,
                base: self.team_base(&project, &repo, tips.base.as_ref()).await?,
                theirs: tree(&repo, tips.theirs.as_ref().or(tips.head.as_ref())).await?,
                here: self.team_here(&project).await?,
                tips,
                drop: &drop,
            };
            if self.sync_round(&round, remote.as_ref(), &mut withheld, &mut report).await? {
                let new = report.conflicts.iter().map(|conflict| conflict.kept_as.as_str());
                let new = new.map(str::to_owned).collect();
                report.notes.extend(self.older_conflicts(&project, &new).await?);
                return Ok(report);
            }
        }
        let detail =
            format!("the remote or the local files changed {MOST_ROUNDS} times during the sync");
        Err(ServiceError::conflict(detail).hint("nothing was lost; run `bethink team sync` again"))
    }

    /// Runs one round. Returns whether the sync is complete.
    async fn sync_round(
        &self,
        round: &SyncRound<'_>,
        remote: Option<&Remote>,
        withheld: &mut BTreeMap<DirectoryFile, api::TeamBlocked>,
        report: &mut api::TeamSync,
    ) -> Result<bool> {
        self.check_mass_deletion(round).await?;
        report.blocked.clear();
        report.pushed_files.clear();
        let steps = plan(&round.base.files, &round.here.files, &round.theirs.files);
        let mut applied =
            AppliedPlan { withheld: std::mem::take(withheld), ..AppliedPlan::default() };
        let whole = self.apply_plan(round, steps, &mut applied, report).await?;
        withheld.clone_from(&applied.withheld);
        if let Some(file) = round.drop.iter().find(|file| !applied.dropped.contains(file)) {
            return Err(not_blocked(file));
        }
        tell_pulled(&applied, report);
        if !whole {
            return Ok(false);
        }
        match self.share_team(round, remote, &applied, report).await? {
            ShareOutcome::Behind => Ok(false),
            ShareOutcome::Held => Ok(true),
            ShareOutcome::Done(tip) => {
                self.settle_sync(round, &applied, tip, remote.is_some()).await?;
                report.pushed_files = applied.pushed.iter().map(ToString::to_string).collect();
                report.pushed = report.pushed_files.len() as u64;
                add_names(&mut report.removed_files, &applied.removed);
                let dropped = applied.dropped.iter().map(|file| {
                    format!(
                        "{file} was removed for everybody; its text is still in the git history, so if it contained a \
                         secret, replace the secret"
                    )
                });
                report.notes.extend(dropped);
                let head = round.repo.head().await.map_err(git_error)?;
                report.head = head.map(|oid| oid.to_string());
                Ok(true)
            }
        }
    }

    async fn tips(
        &self,
        repo: &Repo,
        remote: Option<&Remote>,
        accept_rewrite: bool,
    ) -> Result<BranchTips> {
        let head = repo.head().await.map_err(git_error)?;
        let seen = repo.tip(SEEN).await.map_err(git_error)?;
        let theirs = match remote {
            Some(remote) => repo.fetch(remote).await.map_err(git_error)?,
            None => None,
        };
        if theirs.is_none()
            && let Some(remote) = remote
        {
            self.check_branch(repo, remote).await?;
        }
        let rewritten = match (&seen, &theirs) {
            (Some(seen), Some(theirs)) => {
                !repo.is_ancestor(seen, theirs).await.map_err(git_error)?
            }
            (Some(_), None) => remote.is_some(),
            (None, _) => false,
        };
        if rewritten && !accept_rewrite {
            return Err(rewrite(seen.as_ref(), theirs.as_ref()));
        }
        let base = match (&head, &theirs) {
            _ if rewritten => seen.clone(),
            (Some(head), Some(theirs)) => repo.merge_base(head, theirs).await.map_err(git_error)?,
            (Some(head), None) => Some(head.clone()),
            (None, _) => None,
        };
        Ok(BranchTips { head, theirs, seen, base, rewritten })
    }

    /// Fails if a branch that the remote lacks is checked out, and the remote has another one: it would be pushed as a new branch.
    async fn check_branch(&self, repo: &Repo, remote: &Remote) -> Result<()> {
        let default = self.team_git().default_branch(remote).await.map_err(git_error)?;
        let Some(teams) = default.filter(|teams| teams != repo.branch()) else { return Ok(()) };
        let detail = format!(
            "the team directory is on branch {}, which does not exist on the remote (its default branch is {teams}); \
             nothing was pulled or pushed",
            repo.branch()
        );
        let hint = format!("run `git switch {teams}` in the team directory");
        Err(ServiceError::conflict(detail).hint(hint))
    }

    /// Fails if other programs removed all files, or more than half of many: emptying or replacing this directory must not empty
    /// everyone else's. Files that bethink removed do not count.
    async fn check_mass_deletion(&self, round: &SyncRound<'_>) -> Result<()> {
        let (base, here) = (&round.base.files, &round.here);
        let is_here = |file| here.files.contains_key(file) || here.unread.contains_key(file);
        let too_many = |gone: usize| {
            let common = base.len();
            common >= 2 && gone == common || common >= MANY_FILES && gone > common / 2
        };
        let mut gone = base.keys().filter(|file| !is_here(*file)).count();
        if !too_many(gone) {
            return Ok(());
        }
        let directory = round.project.directory(Scope::Team);
        for file in base.keys().filter(|file| !is_here(*file)) {
            gone -= usize::from(self.memories.has_removed(directory, file).await?);
        }
        if !too_many(gone) {
            return Ok(());
        }
        let gone = if gone == base.len() { "all".to_owned() } else { format!("{gone} of the") };
        let detail = format!(
            "{gone} {} files in the team directory are missing; nothing was pulled or pushed",
            base.len()
        );
        Err(ServiceError::conflict(detail).hint(
            "to restore the files, run `git checkout .` in the team directory; to delete topics for everyone, run `bethink memory rm --team NAME`",
        ))
    }

    /// Sets the local branch to the merged state.
    async fn settle_sync(
        &self,
        round: &SyncRound<'_>,
        applied: &AppliedPlan,
        tip: Option<Oid>,
        shared: bool,
    ) -> Result<()> {
        self.keep_bases(round.project, &round.base, &applied.left_out).await?;
        let Some(tip) = tip else { return Ok(()) };
        let (repo, tips) = (round.repo, &round.tips);
        let branch = format!("refs/heads/{}", repo.branch());
        if tips.head.as_ref() != Some(&tip) {
            repo.set_ref(&branch, &tip, tips.head.as_ref()).await.map_err(git_error)?;
        }
        if shared && tips.seen.as_ref() != Some(&tip) {
            repo.set_ref(SEEN, &tip, tips.seen.as_ref()).await.map_err(git_error)?;
        }
        // The git index only matters for a person's `git status`; sharing does not depend on it.
        if let Err(error) = repo.reset_index(&tip).await {
            tracing::warn!(%error, "could not update the git index of the team directory");
        }
        Ok(())
    }

    /// Reports conflicts that earlier syncs left for a person to resolve.
    async fn older_conflicts(
        &self,
        project: &MemoryProject,
        new: &BTreeSet<String>,
    ) -> Result<Vec<String>> {
        let shown = self.memories.snapshot(project.directory(Scope::Team)).await?;
        let conflicts = shown.conflicts().into_iter();
        let older =
            conflicts.filter(|(_, others)| others.iter().all(|name| !new.contains(&name.file())));
        Ok(older.map(|(topic, _)| unresolved(&topic)).collect())
    }

    /// Checks and reports the files of a folder that another program synchronizes.
    async fn sync_folder(&self, project: &MemoryProject) -> Result<api::TeamSync> {
        let here = self.team_here(project).await?;
        let mut report = api::TeamSync { blocked: blocked_here(&here), ..api::TeamSync::default() };
        report.notes.extend(self.older_conflicts(project, &BTreeSet::new()).await?);
        Ok(report)
    }
}

fn unresolved(topic: &Name) -> String {
    format!("{topic} has several versions; run `bethink team resolve {topic}` to see them")
}

fn file_to_drop(path: &str) -> Result<DirectoryFile> {
    DirectoryFile::parse(path).map_err(|error| ServiceError::invalid("drop", error.to_string()))
}

fn not_blocked(file: &DirectoryFile) -> ServiceError {
    ServiceError::conflict(format!(
        "could not drop {file}: no incoming file of that name is blocked"
    ))
    .hint("`bethink team status` lists the files that were not pulled; nothing was changed")
}

fn rewrite(seen: Option<&Oid>, theirs: Option<&Oid>) -> ServiceError {
    let seen = seen.map_or("", Oid::short);
    let detail = match theirs {
        Some(theirs) => format!(
            "the remote's history was rewritten: it no longer contains commit {seen}, and is now at {}",
            theirs.short()
        ),
        None => format!("the remote's branch was deleted; it was last seen at commit {seen}"),
    };
    ServiceError::conflict(format!("{detail}; nothing was pulled or pushed")).hint(
        "find out why; `bethink team sync --accept-rewrite` adopts the new history and keeps your local changes",
    )
}

/// Adds the names of files, each once, in order.
fn add_names(names: &mut Vec<String>, files: &BTreeSet<DirectoryFile>) {
    let mut all: BTreeSet<String> = names.drain(..).collect();
    all.extend(files.iter().map(ToString::to_string));
    names.extend(all);
}

fn tell_pulled(applied: &AppliedPlan, report: &mut api::TeamSync) {
    add_names(&mut report.pulled_files, &applied.pulled);
    add_names(&mut report.removed_files, &(&applied.removed & &applied.pulled));
    report.pulled = report.pulled_files.len() as u64;
}
