//! Projects in use, each with its directories.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bethink_memdir::{Hash, Scope};
use bethink_memdir_fs::Follow;
use bethink_service::{Clock, locked};
use bethink_transcript::SessionId;
use tokio::sync::Mutex as AsyncMutex;

use crate::contained::ContainedCommits;
use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::place::ProjectPlace;
use crate::recall::Key;
use crate::recall::library::Library;
use crate::watch::Watcher;

/// Maximum number of projects that are kept open and watched, because the system's file watches are limited.
const READY: usize = 32;

/// How long a directory's project is cached. Short, because a worktree of another repository may be created there; but a prompt needs
/// its project several times.
const ROOT_MAX_AGE: Duration = Duration::from_secs(1);

/// A project, which includes all worktrees of its repository.
#[derive(Debug)]
pub struct MemoryProject {
    pub key: String,
    /// The repository's main working tree, or the directory itself if it is not in a repository.
    pub root: PathBuf,
    private: Arc<MemoryDirectory>,
    team: Arc<MemoryDirectory>,
    person: Arc<MemoryDirectory>,
    /// The project's topics, ready for recall.
    pub(crate) library: Arc<Library>,
    pub(crate) contained: ContainedCommits,
    /// Sessions that have had prompts in this project. Changes are published to them.
    followers: Mutex<HashSet<SessionId>>,
    pub turns: Arc<ProjectTurns>,
}

/// Locks for work that only one task may do in a project at a time.
#[derive(Debug, Default)]
pub struct ProjectTurns {
    pub syncing: AsyncMutex<()>,
    /// Prevents two sessions that learn the same thing at the same time from writing it twice.
    pub(crate) extracting: AsyncMutex<()>,
    pub(crate) dreaming: AsyncMutex<()>,
    /// The files that a person has allowed the project to load, if they are known. Every prompt needs them.
    pub(crate) approved: AsyncMutex<Option<Arc<BTreeSet<PathBuf>>>>,
}

impl MemoryProject {
    fn new(
        place: &ProjectPlace,
        turns: Arc<ProjectTurns>,
        person: Arc<MemoryDirectory>,
        watcher: &Arc<Watcher>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let directory = |scope: Scope, dir: &Path, configured: bool| {
            // If the daemon chose the path, a link there was created by someone else.
            let follow = if configured { Follow::Yes } else { Follow::No };
            let key = format!("{}/{scope}", place.key);
            let at = (scope, dir.to_owned(), follow);
            Arc::new(MemoryDirectory::new(at, key, Arc::clone(watcher), Arc::clone(clock)))
        };
        let is_team_configured = place.foreign || !place.team.starts_with(&place.memory);
        Self {
            key: place.key.clone(),
            root: place.root.clone(),
            private: directory(Scope::Private, &place.memory, place.foreign),
            team: directory(Scope::Team, &place.team, is_team_configured),
            person,
            library: Arc::default(),
            contained: ContainedCommits::default(),
            followers: Mutex::default(),
            turns,
        }
    }

    pub(crate) fn followed_by(&self, session: SessionId) {
        locked(&self.followers).insert(session);
    }

    pub(crate) fn followers(&self) -> Vec<SessionId> {
        locked(&self.followers).iter().copied().collect()
    }

    pub(crate) fn directories(&self) -> [&Arc<MemoryDirectory>; 3] {
        Scope::ALL.map(|scope| self.directory(scope))
    }

    /// Reads a topic's text and hash from disk. Blocks.
    pub(crate) fn text_of(&self, (scope, name): &Key) -> Option<(String, Hash)> {
        self.directory(*scope).text_now(name).ok()?
    }

    pub fn directory(&self, scope: Scope) -> &Arc<MemoryDirectory> {
        match scope {
            Scope::Private => &self.private,
            Scope::Team => &self.team,
            Scope::Person => &self.person,
        }
    }

    /// Returns the last snapshots of the directories, in the order of [`Scope::ALL`].
    pub(crate) fn shown(&self) -> [Arc<DirectorySnapshot>; 3] {
        Scope::ALL.map(|scope| self.directory(scope).shown())
    }
}

#[derive(Debug, Default)]
pub(crate) struct ProjectRegistry {
    known: Mutex<KnownProjects>,
    watcher: Arc<Watcher>,
    /// The person's memory, opened once and shared by all projects.
    person: OnceLock<Arc<MemoryDirectory>>,
}

#[derive(Debug, Default)]
struct KnownProjects {
    /// Open projects by root, each with the value of `uses` when it was last used.
    ready: HashMap<PathBuf, (u64, Arc<MemoryProject>)>,
    /// The project root of each directory, and when it was found.
    roots: HashMap<String, (PathBuf, Instant)>,
    /// Locks by project key. They outlive the open project, because its work may still be running.
    turns: HashMap<String, Arc<ProjectTurns>>,
    uses: u64,
}

impl KnownProjects {
    fn used(&mut self, root: &Path) -> Option<Arc<MemoryProject>> {
        let (used, project) = self.ready.get_mut(root)?;
        self.uses += 1;
        *used = self.uses;
        Some(Arc::clone(project))
    }
}

impl ProjectRegistry {
    pub(crate) fn in_use(&self) -> Vec<Arc<MemoryProject>> {
        locked(&self.known).ready.values().map(|(_, project)| Arc::clone(project)).collect()
    }

    /// Returns an open project that has this directory.
    pub(crate) fn project_of(
        &self,
        directory: &Arc<MemoryDirectory>,
    ) -> Option<Arc<MemoryProject>> {
        let has = |project: &Arc<MemoryProject>| {
            Arc::ptr_eq(project.directory(directory.scope), directory)
        };
        self.in_use().into_iter().find(has)
    }

    /// Closes a project; the next request opens it again.
    pub(crate) fn forget(&self, root: &Path) {
        let mut known = locked(&self.known);
        known.ready.remove(root);
        known.roots.retain(|_, (known, _)| known != root);
    }

    /// Returns the open project that a directory had when that was last found, and whether that is no more than a moment ago.
    pub(crate) fn known(&self, dir: &str) -> Option<(Arc<MemoryProject>, bool)> {
        let known = &mut *locked(&self.known);
        let (root, found) = known.roots.get(dir)?;
        let (root, is_fresh) = (root.clone(), found.elapsed() < ROOT_MAX_AGE);
        Some((known.used(&root)?, is_fresh))
    }

    /// Returns the open project that has this root, which was found for `dir`.
    pub(crate) fn reuse(&self, dir: &str, root: &Path) -> Option<Arc<MemoryProject>> {
        let known = &mut *locked(&self.known);
        let project = known.used(root)?;
        known.roots.insert(dir.to_owned(), (root.to_owned(), Instant::now()));
        Some(project)
    }

    /// Returns the open project, or opens it. A project must not be open twice, because both instances would share one
    /// watch.
    pub(crate) fn take_in(
        &self,
        dir: &str,
        place: &ProjectPlace,
        clock: &Arc<dyn Clock>,
    ) -> Arc<MemoryProject> {
        let KnownProjects { ready, roots, turns, uses } = &mut *locked(&self.known);
        let turns = Arc::clone(turns.entry(place.key.clone()).or_default());
        let person = self.person.get_or_init(|| {
            let at = (Scope::Person, place.person.clone(), Follow::No);
            let (watcher, clock) = (Arc::clone(&self.watcher), Arc::clone(clock));
            Arc::new(MemoryDirectory::new(at, Scope::Person.to_string(), watcher, clock))
        });
        let new = || {
            let (person, watcher) = (Arc::clone(person), &self.watcher);
            (0, Arc::new(MemoryProject::new(place, turns, person, watcher, clock)))
        };
        let (used, project) = ready.entry(place.root.clone()).or_insert_with(new);
        *uses += 1;
        *used = *uses;
        let project = Arc::clone(project);
        while ready.len() > READY {
            let oldest = ready.iter().min_by_key(|(_, (used, _))| *used);
            let Some(root) = oldest.map(|(root, _)| root.clone()) else { break };
            ready.remove(&root);
        }
        roots.retain(|_, (root, _)| ready.contains_key(root));
        roots.insert(dir.to_owned(), (project.root.clone(), Instant::now()));
        project
    }
}
