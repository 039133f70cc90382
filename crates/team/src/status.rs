//! Reports the state of a project's team memory. Changes nothing.

use bethink_api as api;
use bethink_api::{BlockedWay, TeamMemoryKind};
use bethink_git::Repo;
use bethink_memdir::Scope;
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::MemoryProject;
use bethink_service::Result;

use crate::errors::git_error;
use crate::look::{TeamFiles, tree};
use crate::resolve::changed_by;
use crate::round::{blocked, blocked_here, unfit};
use crate::service::TeamService;

impl TeamService {
    /// With `ask`, also checks whether the remote responds.
    pub async fn team_status(&self, project_dir: &str, ask: bool) -> Result<api::TeamStatus> {
        let project = self.memories.project(project_dir).await?;
        let directory = project.directory(Scope::Team);
        let mut status = api::TeamStatus {
            dir: directory.dir.display().to_string(),
            kind: self.kind(&project).await?,
            proposals: self.memories.open_proposals(&project).await?,
            ..api::TeamStatus::default()
        };
        let here = match self.team_here(&project).await {
            Ok(here) => here,
            Err(error) => {
                status.problems.push(error.detail);
                return Ok(status);
            }
        };
        let topics = here.files.keys().filter(|file| matches!(file, DirectoryFile::Topic(_)));
        status.topics = topics.count() as u64;
        status.blocked = blocked_here(&here);
        if status.kind == TeamMemoryKind::Repository
            && let Err(error) = self.team_repository(&project, &here, ask, &mut status).await
        {
            status.problems.push(error.detail);
        }
        status.conflicts = self.open_conflicts(&project).await?;
        Ok(status)
    }

    /// Returns how the team's directory is shared. A folder is shared only if a person chose it.
    pub(crate) async fn kind(&self, project: &MemoryProject) -> Result<TeamMemoryKind> {
        let dir = &project.directory(Scope::Team).dir;
        if Repo::is_in(dir) {
            return Ok(TeamMemoryKind::Repository);
        }
        let is_chosen = !self.cx.settings().team.dir.is_empty()
            || self.cx.store().team_place(project.key.clone()).await?.is_some();
        Ok(if is_chosen && dir.is_dir() { TeamMemoryKind::Folder } else { TeamMemoryKind::None })
    }

    async fn team_repository(
        &self,
        project: &MemoryProject,
        here: &TeamFiles,
        ask: bool,
        status: &mut api::TeamStatus,
    ) -> Result<()> {
        let repo = self.team_repo(project)?;
        status.branch = Some(repo.branch().to_owned());
        let head = repo.head().await.map_err(git_error)?;
        status.head = head.as_ref().map(ToString::to_string);
        let known = tree(&repo, head.as_ref()).await?;
        for (file, why) in &known.withheld {
            status.withheld.push(blocked(
                file,
                BlockedWay::Incoming,
                vec![(*why).to_owned()],
                None,
            ));
        }
        let known = known.files;
        let mut changed = Vec::new();
        for (file, bytes) in &known {
            if here.files.get(file) == Some(bytes) {
                continue;
            }
            // A remote version that was not pulled is not a local change.
            match unfit(file, Some(bytes)) {
                Some(reasons) => {
                    let by = changed_by(&repo, head.as_ref(), file).await;
                    status.withheld.push(blocked(file, BlockedWay::Incoming, reasons, by));
                }
                None => changed.push(file),
            }
        }
        let new = here.files.keys().filter(|file| !known.contains_key(file));
        let mut unsynced: Vec<String> =
            changed.into_iter().chain(new).map(ToString::to_string).collect();
        unsynced.sort();
        status.unsynced = unsynced;
        let remote = self.team_remote(&repo).await?;
        status.remote = remote.as_ref().map(|remote| remote.as_str().to_owned());
        if let Some(remote) = remote.filter(|_| ask) {
            let answer = self.team_git().default_branch(&remote).await;
            status.reachable = Some(answer.is_ok());
            status.problems.extend(answer.err().map(|error| git_error(error).detail));
        }
        Ok(())
    }
}
