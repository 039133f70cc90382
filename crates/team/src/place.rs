//! The location of a team's memory, and the repository that it is shared with.

use std::fs::{self, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bethink_api as api;
use bethink_git::repo::BRANCH;
use bethink_git::{Git, GitLimits, Remote, Repo};
use bethink_memdir::Scope;
use bethink_memories::{MemoryDirectory, MemoryProject};
use bethink_service::{Result, ServiceError, blocking};
use rustix::fs::OFlags;

use crate::errors::git_error;
use crate::service::TeamService;

/// The git setting with the remote URL.
const ORIGIN: &str = "remote.origin.url";
/// How long to wait for another daemon's sync of the same directory, and how often to try.
const LOCK_WITHIN: Duration = Duration::from_secs(20);
const LOCK_EVERY: Duration = Duration::from_millis(100);

impl TeamService {
    /// Sets the location of the team's memory, creates a repository if requested, and syncs.
    pub async fn team_init(&self, request: api::TeamInit) -> Result<api::TeamSync> {
        let project = match &request.dir {
            Some(dir) => self.move_team(&request.project_dir, dir).await?,
            None => self.memories.project(&request.project_dir).await?,
        };
        let git = self.team_git();
        let directory = project.directory(Scope::Team);
        let own = Some(self.cx.settings().team.remote.as_str()).filter(|remote| !remote.is_empty());
        let remote = request.remote.as_deref().or(own.filter(|_| request.dir.is_none()));
        let remote = remote.map(checked).transpose()?;
        if remote.is_none() && request.dir.is_some() {
            self.make_team_dir(directory).await?;
            return self.first_sync(request.project_dir).await;
        }
        git.version().await.map_err(git_error)?;
        let branch = match &remote {
            Some(remote) => git.default_branch(remote).await.map_err(git_error)?,
            None => None,
        };
        self.make_team_dir(directory).await?;
        let branch = branch.unwrap_or_else(|| BRANCH.to_owned());
        let is_new = Repo::init(&git, &directory.dir, &branch).await.map_err(git_error)?;
        if let Some(remote) = &remote
            && let Err(error) = self.set_remote(&project, remote).await
        {
            if is_new {
                std::fs::remove_dir_all(directory.dir.join(".git")).ok();
            }
            return Err(error);
        }
        self.first_sync(request.project_dir).await
    }

    async fn first_sync(&self, project_dir: String) -> Result<api::TeamSync> {
        let request = api::TeamSyncRequest { project_dir, ..api::TeamSyncRequest::default() };
        self.team_sync(request).await
    }

    /// Stores another directory for the project's team memory.
    async fn move_team(&self, project_dir: &str, dir: &str) -> Result<Arc<MemoryProject>> {
        let path = Path::new(dir);
        if !path.is_absolute()
            || dir.contains('\0')
            || path.components().any(|part| part.as_os_str() == "..")
        {
            let detail = format!("{dir:?} must be an absolute path without \"..\"");
            return Err(
                ServiceError::invalid("dir", detail).hint("use the full path of the folder")
            );
        }
        if path.exists() && !path.is_dir() {
            return Err(ServiceError::invalid("dir", format!("{dir:?} is not a directory")));
        }
        let project = self.memories.project(project_dir).await?;
        self.cx.store().put_team_place(project.key.clone(), dir.to_owned()).await?;
        self.memories.forget_project(&project.root);
        self.memories.project(project_dir).await
    }

    async fn make_team_dir(&self, directory: &Arc<MemoryDirectory>) -> Result<()> {
        let directory = Arc::clone(directory);
        blocking(move || directory.root(true).map(drop)).await
    }

    /// Stores the remote in git's own settings, so that a person can use `git pull`.
    async fn set_remote(&self, project: &MemoryProject, remote: &Remote) -> Result<()> {
        let repo = self.team_repo(project)?;
        let own = repo.own_setting(ORIGIN).await.map_err(git_error)?;
        match own {
            Some(own) if own == remote.as_str() => return Ok(()),
            Some(own) => {
                let detail = format!("the team directory already has the remote {own}");
                let hint = "to change it, run `git remote set-url origin …` in the team directory";
                return Err(ServiceError::conflict(detail).hint(hint));
            }
            None => {}
        }
        let branch = repo.branch().to_owned();
        for (name, value) in [
            (ORIGIN.to_owned(), remote.as_str().to_owned()),
            ("remote.origin.fetch".to_owned(), "+refs/heads/*:refs/remotes/origin/*".to_owned()),
            (format!("branch.{branch}.remote"), "origin".to_owned()),
            (format!("branch.{branch}.merge"), format!("refs/heads/{branch}")),
        ] {
            repo.set_own_setting(&name, &value).await.map_err(git_error)?;
        }
        Ok(())
    }

    pub(crate) fn team_git(&self) -> Git {
        let remote = Duration::from_millis(self.cx.settings().team.timeout_ms);
        Git::new(std::env::vars_os(), GitLimits { remote, ..GitLimits::default() })
    }

    /// Returns the repository of a project's team directory. Fails if the directory is not a repository.
    pub(crate) fn team_repo(&self, project: &MemoryProject) -> Result<Repo> {
        let view = self.team_view(project);
        let dir = &project.directory(Scope::Team).dir;
        Repo::open(&self.team_git(), dir, &view).map_err(git_error)
    }

    /// Returns the directory in the daemon's home through which git opens the project's repository.
    fn team_view(&self, project: &MemoryProject) -> PathBuf {
        PathBuf::from(&self.cx.settings().home).join("team").join(&project.key)
    }

    /// Returns the repository's remote, validated like one that a person entered.
    pub(crate) async fn team_remote(&self, repo: &Repo) -> Result<Option<Remote>> {
        let own = repo.own_setting(ORIGIN).await.map_err(git_error)?;
        own.as_deref().map(checked).transpose()
    }
}

/// Checks an address. Rejects one that contains a secret, because the address is stored in a file that may be copied
/// and shown.
fn checked(remote: &str) -> Result<Remote> {
    if let Err(error) = bethink_secrets::gate("", remote) {
        let detail = format!("could not use the remote URL: {error}");
        return Err(ServiceError::invalid("remote", detail)
            .hint("leave that part out of the URL: git uses your credential helper or SSH key"));
    }
    Remote::parse(remote).map_err(|error| ServiceError::invalid("remote", error.to_string()))
}

/// Locks a directory against other daemons' syncs. The system releases the lock when its holder exits.
pub(crate) async fn lock(path: &Path) -> Result<fs::File> {
    let failed = |error: std::io::Error| {
        ServiceError::conflict(format!("could not lock {}: {error}", path.display()))
            .hint("check that the team directory is writable")
    };
    let nofollow = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false).custom_flags(nofollow);
    let file = options.open(path).map_err(failed)?;
    let began = tokio::time::Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if began.elapsed() >= LOCK_WITHIN => {
                let detail = "another daemon is syncing the same team directory";
                return Err(ServiceError::conflict(detail)
                    .hint("run `bethink team sync` again when it is done"));
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_EVERY).await,
        }
    }
}
