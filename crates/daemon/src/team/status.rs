//! How a project's team memory stands, without changing anything.

use bethink_api as api;
use bethink_git::Repo;
use bethink_memdir::Scope;
use bethink_memdir_fs::File;

use super::apply::{blocked as block, unfit};
use super::look::{Here, tree};
use super::refused;
use crate::memory::Project;
use crate::{Daemon, Result};

impl Daemon {
    /// `ask` also asks the remote whether it answers.
    pub async fn team_status(&self, project_dir: &str, ask: bool) -> Result<api::TeamStatus> {
        let project = self.project(project_dir).await?;
        let shelf = project.shelf(Scope::Team);
        let mut status = api::TeamStatus {
            dir: shelf.dir.display().to_string(),
            kind: kind(&project).to_owned(),
            proposals: self.open_proposals(&project).await?,
            ..api::TeamStatus::default()
        };
        let here = match self.team_here(&project).await {
            Ok(here) => here,
            Err(refusal) => {
                status.problems.push(refusal.detail);
                return Ok(status);
            }
        };
        status.topics = here.files.keys().filter(|file| **file != File::Index).count() as u64;
        status.blocked = blocked(&here);
        if status.kind == "repository"
            && let Err(refusal) = self.team_repository(&project, &here, ask, &mut status).await
        {
            status.problems.push(refusal.detail);
        }
        Ok(status)
    }

    async fn team_repository(
        &self,
        project: &Project,
        here: &Here,
        ask: bool,
        status: &mut api::TeamStatus,
    ) -> Result<()> {
        let repo = self.team_repo(project)?;
        status.branch = Some(repo.branch().to_owned());
        let head = repo.head().await.map_err(|error| refused(&error))?;
        status.head = head.as_ref().map(ToString::to_string);
        let known = tree(&repo, head.as_ref()).await?.files;
        let changed = known.iter().filter(|(file, bytes)| here.files.get(file) != Some(bytes));
        let new = here.files.keys().filter(|file| !known.contains_key(file));
        let mut unsynced: Vec<String> =
            changed.map(|(file, _)| file).chain(new).map(ToString::to_string).collect();
        unsynced.sort();
        status.unsynced = unsynced;
        let remote = self.team_remote(&repo).await?;
        status.remote = remote.as_ref().map(|remote| remote.as_str().to_owned());
        if let Some(remote) = remote.filter(|_| ask) {
            let answer = self.team_git().default_branch(&remote).await;
            status.reachable = Some(answer.is_ok());
            status.problems.extend(answer.err().map(|error| refused(&error).detail));
        }
        Ok(())
    }
}

fn kind(project: &Project) -> &'static str {
    let dir = &project.shelf(Scope::Team).dir;
    match () {
        () if Repo::is_in(dir) => "repository",
        () if dir.is_dir() => "folder",
        () => "none",
    }
}

/// What lies here and may not be shared as it is, or can't be.
pub(super) fn blocked(here: &Here) -> Vec<api::TeamBlocked> {
    let unfit = here.files.iter().filter_map(|(file, bytes)| {
        unfit(file, Some(bytes)).map(|reasons| block(file, "here", reasons, None))
    });
    let unread = here.unread.iter().map(|(file, why)| block(file, "here", vec![why.clone()], None));
    unfit.chain(unread).collect()
}
