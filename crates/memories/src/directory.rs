//! A memory directory as last read. A watcher signals when to read it again.

mod look;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use bethink_extractor::embedded::matter::{Matter, settled_by};
use bethink_memdir::header::{self, MemoryRecall};
use bethink_memdir::index::TopicWords;
use bethink_memdir::{Hash, Header, Name, Scope, conflict};
use bethink_memdir_fs::{
    DirectoryFile, Dirty, FileContent, FileSeen, Follow, MemoryRoot, StrangeEntry,
};
use bethink_service::{Clock, Result, blocking, locked};
use bethink_store::MemoryVersionFilter;
use bethink_transcript::UnixMicros;
use bethink_transcript::prompt::hash_of;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

use crate::refused::{refused, text_of};
use crate::secret_lines::secrets_in;
use crate::stamp::recorded;
use crate::sync::state::SyncState;
use crate::watch::{DirtySignal, Watcher};

/// Maximum number of files that are written at the same time.
const LANES: usize = 16;

/// A topic as it was last read, without its text.
#[derive(Clone, Debug)]
pub struct MemoryTopic {
    pub name: Name,
    pub hash: Hash,
    pub bytes: u64,
    /// The time that its front matter records, or else the file's modification time.
    pub modified: UnixMicros,
    pub header: Header,
    /// The description in the front matter, or the beginning of the body.
    pub described: String,
    /// The secrets that the text seems to contain: the rule and the line's hash of each.
    pub(crate) secrets: Vec<(String, String)>,
    /// The question that the description settles, determined when it is first needed.
    pub(crate) matter: OnceLock<Option<Matter>>,
}

impl MemoryTopic {
    /// `modified` is the modification time of the topic's file.
    pub(crate) fn read(name: &Name, text: &str, hash: Hash, modified: UnixMicros) -> Self {
        let topic = header::read(text);
        Self {
            name: name.clone(),
            hash,
            bytes: text.len() as u64,
            modified: recorded(&topic.header).unwrap_or(modified),
            described: topic.header.described(topic.body),
            secrets: secrets_in(text),
            header: topic.header,
            matter: OnceLock::new(),
        }
    }

    pub fn title(&self) -> String {
        self.name.titled(&self.header)
    }

    /// Returns what the index says about the topic.
    pub(crate) fn words(&self) -> TopicWords {
        let (name, description) = (self.name.clone(), self.described.clone());
        TopicWords { name, title: self.title(), description }
    }

    /// Returns the question that the topic's description settles. Such a question has only one right answer.
    fn matter(&self) -> Option<&Matter> {
        self.matter.get_or_init(|| settled_by(&self.described)).as_ref()
    }
}

#[derive(Clone, Debug)]
pub struct IndexFile {
    pub text: String,
    /// The text without the lines that seem to contain a secret.
    pub shown: String,
    pub hash: Hash,
}

#[derive(Clone, Debug, Default)]
pub struct DirectorySnapshot {
    pub topics: BTreeMap<Name, Arc<MemoryTopic>>,
    pub index: Option<Arc<IndexFile>>,
    /// The list of memories that the team rejected.
    pub rejections: String,
    /// Entries that look like memories but cannot be read as such.
    pub strange: Vec<StrangeEntry>,
    /// Why the directory could not be read. If it could not, the other fields are from the last successful read.
    pub fault: Option<String>,
    pub revision: u64,
}

impl DirectorySnapshot {
    /// Returns the whole index, without the lines that seem to contain a secret. The prompt decides how much of it to
    /// show.
    pub fn index_text(&self) -> String {
        self.index.as_ref().map_or_else(String::new, |file| file.shown.clone())
    }

    /// Returns the topics that are never added to prompts.
    pub(crate) fn suppressed(&self) -> impl Iterator<Item = &Name> {
        let topics = self.topics.values();
        topics
            .filter(|topic| topic.header.recall == Some(MemoryRecall::Never))
            .map(|topic| &topic.name)
    }

    /// Returns the topics of the person's memory that a project's memory overrides: those with the name of a private
    /// topic, and those on a question that a private topic or a team topic settles.
    pub(crate) fn overridden_by(&self, private: &Self, team: &Self) -> BTreeSet<Name> {
        let same_name = |name: &&Name| private.topics.contains_key(*name);
        let mut overridden: BTreeSet<Name> =
            self.topics.keys().filter(same_name).cloned().collect();
        let own = self.topics.values().filter_map(|topic| Some((topic.matter()?, &topic.name)));
        let own: Vec<(&Matter, &Name)> = own.collect();
        if !own.is_empty() {
            let settled = private.topics.values().chain(team.topics.values());
            for matter in settled.filter_map(|topic| topic.matter()) {
                let same = own.iter().filter(|(known, _)| *known == matter);
                overridden.extend(same.map(|(_, name)| (*name).clone()));
            }
        }
        overridden
    }

    /// Returns the topics that have several versions, each with its other versions.
    pub fn conflicts(&self) -> BTreeMap<Name, Vec<Name>> {
        let mut found: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        for name in self.topics.keys() {
            if let Some(topic) = conflict::topic_of(name) {
                found.entry(topic).or_default().push(name.clone());
            }
        }
        found
    }

    /// Returns the other versions of a topic, if people have not merged them yet.
    pub fn other_versions(&self, name: &Name) -> Vec<Name> {
        let topic = conflict::topic_of(name).unwrap_or_else(|| name.clone());
        let all = self.topics.range(topic.clone()..).map(|(other, _)| other);
        let near = all.take_while(|other| other.as_str().starts_with(topic.as_str()));
        let is_version = |other: &&Name| {
            **other != *name
                && (**other == topic || conflict::topic_of(other).as_ref() == Some(&topic))
        };
        near.filter(is_version).cloned().collect()
    }
}

/// A directory with its root, snapshot and watcher.
#[derive(Debug)]
pub struct MemoryDirectory {
    pub scope: Scope,
    pub dir: PathBuf,
    /// The directory's name in the store: project and scope.
    pub key: String,
    /// Locks that let only one task of this daemon write a file at a time, so that the file's versions are in order.
    turns: [AsyncMutex<()>; LANES],
    held: Mutex<OpenDirectory>,
    shown: RwLock<Arc<DirectorySnapshot>>,
    follow: Follow,
    woken: Arc<DirtySignal>,
    watcher: Arc<Watcher>,
    /// Whether the watcher signals changes.
    watched: bool,
    /// Whether a task reads the directory again at each signal.
    followed: AtomicBool,
    /// Damaged files, with the time of their last change.
    pub(crate) damaged: Mutex<BTreeMap<DirectoryFile, UnixMicros>>,
    pub(crate) opened: UnixMicros,
    pub(crate) sync: SyncState,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct OpenDirectory {
    root: Option<Arc<MemoryRoot>>,
    /// Each file as last read.
    seen: BTreeMap<DirectoryFile, FileSeen>,
}

impl MemoryDirectory {
    pub(super) fn new(
        (scope, dir, follow): (Scope, PathBuf, Follow),
        key: String,
        watcher: Arc<Watcher>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let woken = Arc::default();
        Self {
            watched: watcher.add(&dir, scope, follow, &woken),
            scope,
            dir,
            key,
            turns: Default::default(),
            held: Mutex::default(),
            shown: RwLock::default(),
            follow,
            woken,
            watcher,
            followed: AtomicBool::new(false),
            damaged: Mutex::default(),
            opened: clock.now(),
            sync: SyncState::default(),
            clock,
        }
    }

    pub(crate) fn shown(&self) -> Arc<DirectorySnapshot> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads a topic's text and hash from disk.
    pub(crate) async fn read(self: &Arc<Self>, name: &Name) -> Result<Option<(String, Hash)>> {
        self.read_text(&DirectoryFile::Topic(name.clone())).await
    }

    /// Like [`Self::read`], but for any file.
    pub(super) async fn read_text(
        self: &Arc<Self>,
        file: &DirectoryFile,
    ) -> Result<Option<(String, Hash)>> {
        let content = self.read_file(file).await?;
        content.map(|content| text_of(file, content)).transpose()
    }

    pub async fn read_file(self: &Arc<Self>, file: &DirectoryFile) -> Result<Option<FileContent>> {
        let (directory, file) = (Arc::clone(self), file.clone());
        blocking(move || directory.read_now(&file)).await
    }

    /// Like [`Self::read`], but blocking.
    pub(crate) fn text_now(&self, name: &Name) -> Result<Option<(String, Hash)>> {
        let file = DirectoryFile::Topic(name.clone());
        self.read_now(&file)?.map(|content| text_of(&file, content)).transpose()
    }

    /// Like [`Self::read_file`], but blocking.
    pub(crate) fn read_now(&self, file: &DirectoryFile) -> Result<Option<FileContent>> {
        let Some(root) = self.root(false)? else { return Ok(None) };
        root.read(file).map_err(refused)
    }

    /// Returns a filter for the newest versions of all files in the directory.
    pub(crate) fn versions(&self, limit: usize) -> MemoryVersionFilter {
        MemoryVersionFilter { directory: self.key.clone(), limit, ..Default::default() }
    }

    /// Returns `true` only on the first call. That caller must then read the directory again at each signal.
    pub(crate) fn begins_to_be_followed(&self) -> bool {
        !self.followed.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn woken(&self) -> &Arc<DirtySignal> {
        &self.woken
    }

    /// Waits for other writers of the same file.
    pub(super) async fn turn(&self, file: &DirectoryFile) -> AsyncMutexGuard<'_, ()> {
        let lane = usize::try_from(hash_of(file) % LANES as u64).unwrap_or(0);
        self.turns[lane].lock().await
    }

    /// Opens the directory's root. If `make` is set, the directory is created if it is missing.
    pub fn root(&self, make: bool) -> Result<Option<Arc<MemoryRoot>>> {
        let mut held = locked(&self.held);
        self.open(&mut held, make)?;
        Ok(held.root.clone())
    }

    /// Makes the next read cover the whole directory, so that it does not miss a very recent save.
    pub fn doubt(&self) {
        self.woken.put_back(Dirty::Everything);
    }

    /// Signals a change by this daemon, without waiting for the watcher.
    pub(super) fn touched(&self, file: &DirectoryFile) {
        self.woken.ring(Dirty::Files(BTreeSet::from([file.clone()])));
    }

    /// Whether changes are found without the system's file watches: by polling every few seconds, or by reading the
    /// directory at each use.
    pub(crate) fn is_polled(&self) -> bool {
        !self.watched || self.watcher.is_polled(&self.dir)
    }
}

impl Drop for MemoryDirectory {
    fn drop(&mut self) {
        self.watcher.remove(&self.dir, &self.woken);
        // Ends the task that reads the directory at each signal.
        self.woken.bell.notify_one();
    }
}
