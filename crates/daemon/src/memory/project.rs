//! Projects in use, each with its shelves.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bethink_memdir::Scope;
use bethink_memdir_fs::Follow;
use bethink_transcript::SessionId;

use super::place::Place;
use super::shelf::Shelf;
use super::watch::Watcher;
use crate::clock::Clock;
use crate::recall::Library;
use crate::{Daemon, Refusal, Result};

/// Projects that are kept ready and watched: the kernel gives a person 128 watchers, which others want too.
const READY: usize = 32;

/// One project, for all worktrees of its repository.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) key: String,
    /// The repository's main working tree, or the directory itself.
    pub(crate) root: PathBuf,
    private: Arc<Shelf>,
    team: Arc<Shelf>,
    /// Its topics, ready to be asked for.
    pub(crate) library: Arc<Library>,
    /// Sessions that asked for a prompt here; they are told of changes.
    followers: Mutex<HashSet<SessionId>>,
    touched: AtomicU64,
    /// One sync with the team at a time.
    pub(crate) syncing: tokio::sync::Mutex<()>,
}

impl Project {
    fn new(place: &Place, watcher: &Arc<Watcher>, clock: &Arc<dyn Clock>) -> Self {
        let shelf = |scope: Scope, dir: &Path, configured: bool| {
            // Where the daemon chose the place, a link there was put by somebody else.
            let follow = if configured { Follow::Yes } else { Follow::No };
            let key = format!("{}/{scope}", place.key);
            let at = (scope, dir.to_owned(), follow);
            Arc::new(Shelf::new(at, key, Arc::clone(watcher), Arc::clone(clock)))
        };
        Self {
            key: place.key.clone(),
            root: place.root.clone(),
            private: shelf(Scope::Private, &place.memory, place.foreign),
            team: shelf(
                Scope::Team,
                &place.team,
                place.foreign || !place.team.starts_with(&place.memory),
            ),
            library: Arc::default(),
            followers: Mutex::default(),
            touched: AtomicU64::new(0),
            syncing: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn followed_by(&self, session: SessionId) {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
    }

    pub(crate) fn followers(&self) -> Vec<SessionId> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    pub(crate) fn shelf(&self, scope: Scope) -> &Arc<Shelf> {
        match scope {
            Scope::Private => &self.private,
            Scope::Team => &self.team,
        }
    }
}

/// Those that are ready, by root.
#[derive(Debug, Default)]
pub(crate) struct Projects {
    ready: Mutex<HashMap<PathBuf, Arc<Project>>>,
    /// Which root a directory was found to belong to.
    roots: Mutex<HashMap<String, PathBuf>>,
    watcher: Arc<Watcher>,
    clock: AtomicU64,
}

impl Projects {
    fn ready(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Project>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn roots(&self) -> MutexGuard<'_, HashMap<String, PathBuf>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next who asks gets it anew: its directories are others.
    pub(crate) fn forget(&self, root: &Path) {
        self.ready().remove(root);
        self.roots().retain(|_, known| known != root);
    }

    fn known(&self, dir: &str) -> Option<Arc<Project>> {
        let root = self.roots().get(dir).cloned()?;
        let project = self.ready().get(&root).cloned()?;
        project.touched.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(project)
    }

    /// The one that is ready already, or a new one: two of a project would take each other's watch away.
    fn take_in(&self, dir: &str, place: &Place, clock: &Arc<dyn Clock>) -> Arc<Project> {
        let mut ready = self.ready();
        let new = || Arc::new(Project::new(place, &self.watcher, clock));
        let project = Arc::clone(ready.entry(place.root.clone()).or_insert_with(new));
        project.touched.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        while ready.len() > READY {
            let oldest = ready.values().min_by_key(|p| p.touched.load(Ordering::Relaxed));
            let Some(root) = oldest.map(|project| project.root.clone()) else { break };
            ready.remove(&root);
        }
        let mut roots = self.roots();
        roots.retain(|_, root| ready.contains_key(root));
        roots.insert(dir.to_owned(), project.root.clone());
        project
    }
}

impl Daemon {
    /// The project that a directory belongs to. The directory need not be there: sessions come from other
    /// machines, too.
    pub(crate) async fn project(&self, dir: &str) -> Result<Arc<Project>> {
        if let Some(project) = self.projects_in_use().known(dir) {
            return Ok(project);
        }
        if !Path::new(dir).is_absolute() || dir.contains('\0') {
            let detail = format!("{dir:?} is not an absolute path");
            return Err(
                Refusal::invalid("project_dir", detail).hint("give the whole path of the project")
            );
        }
        let (path, settings) = (PathBuf::from(dir), self.settings().clone());
        let place = tokio::task::spawn_blocking(move || Place::of(&path, &settings)).await;
        let mut place = place.map_err(Refusal::internal)?;
        if let Some(team) = self.team_place(&place.key).await? {
            place.team = team;
        }
        Ok(self.projects_in_use().take_in(dir, &place, &self.inner.clock))
    }

    /// Where a project's team memory lies, if somebody said so.
    async fn team_place(&self, key: &str) -> Result<Option<PathBuf>> {
        let kept = self.store().kept(TEAM_PLACE.to_owned(), key.to_owned()).await?;
        Ok(kept
            .into_iter()
            .find(|kept| kept.key == "dir")
            .and_then(|kept| serde_json::from_str::<PathBuf>(&kept.value).ok()))
    }
}

/// The space in which a project's own place for its team is kept: key `dir`, a JSON string.
pub(crate) const TEAM_PLACE: &str = "team_place";
