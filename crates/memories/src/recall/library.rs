//! A project's topics as a searchable catalog, kept up to date with its directories.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bethink_memdir::header::{self, MemoryRecall};
use bethink_memdir::{Hash, Scope};
use bethink_recall::topics::{Card, Catalog, TopicId};

use super::Key;
use super::meaning::{Meanings, count_passages};
use crate::directory::{DirectorySnapshot, MemoryTopic};

/// Number of topics that are read in one batch. Questions are answered between batches.
const BATCH: usize = 256;

/// The topics of all directories, ready for recall.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// Locked while the library is updated.
    pub(super) following: tokio::sync::Mutex<()>,
    /// Locked while a changed copy of the library is used, so that there is only one.
    pub(super) trying: tokio::sync::Mutex<()>,
    pub(super) meanings: Meanings,
    held: RwLock<LibraryState>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LibraryState {
    pub(super) catalog: Catalog,
    ids: HashMap<Key, (TopicId, Hash)>,
    pub(super) topics: HashMap<TopicId, LibraryTopic>,
    /// Topics that are pinned or suppressed.
    pub(super) decided: HashMap<TopicId, MemoryRecall>,
    /// Revisions of the snapshots that were last read, in scope order.
    revisions: Option<[u64; 3]>,
    next: u32,
}

#[derive(Clone, Debug)]
pub(super) struct LibraryTopic {
    pub(super) scope: Scope,
    pub(super) topic: Arc<MemoryTopic>,
    /// The topic's description, or else the first words of its body.
    pub(super) description: String,
    /// Number of passages that get a vector.
    pub(super) passages: usize,
}

impl Library {
    pub(super) fn held(&self) -> RwLockReadGuard<'_, LibraryState> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_mut(&self) -> RwLockWriteGuard<'_, LibraryState> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy that can be changed without changing this library.
    pub(super) fn copied(&self) -> Self {
        let held = RwLock::new(self.held().clone());
        Self { held, meanings: self.meanings.copied(), ..Self::default() }
    }

    /// Returns the hash of each topic's text.
    pub(super) fn hashes(&self) -> HashMap<Key, Hash> {
        let held = self.held();
        held.ids.iter().map(|(key, (_, hash))| (key.clone(), *hash)).collect()
    }

    /// Returns the hash of each topic's text, and the number of its passages.
    pub(super) fn passages(&self) -> Vec<(Key, Hash, usize)> {
        let held = self.held();
        let topics = held.ids.iter().filter_map(|(key, (id, hash))| {
            Some((key.clone(), *hash, held.topics.get(id)?.passages))
        });
        topics.collect()
    }

    /// Returns the revisions of the snapshots that were last read, in scope order.
    pub(super) fn revisions(&self) -> Option<[u64; 3]> {
        self.held().revisions
    }

    /// Whether the library is up to date with these snapshots, which are in scope order.
    pub(super) fn follows(&self, shown: &[Arc<DirectorySnapshot>; 3]) -> bool {
        self.revisions() == Some(shown.each_ref().map(|shown| shown.revision))
    }

    /// Reads topics that are new or changed in these snapshots, which are in scope order, and drops removed topics. `read`
    /// returns a topic's text, and may block.
    pub(super) fn follow(
        &self,
        shown: &[Arc<DirectorySnapshot>; 3],
        read: impl Fn(&Key) -> Option<(String, Hash)>,
    ) {
        let mut there = HashSet::new();
        let [private, team, person] = shown;
        let overridden = person.overridden_by(private, team);
        for (scope, shown) in Scope::ALL.into_iter().zip(shown) {
            let key = |topic: &MemoryTopic| (scope, topic.name.clone());
            let counts = |topic: &&Arc<MemoryTopic>| {
                scope != Scope::Person || !overridden.contains(&topic.name)
            };
            there.extend(shown.topics.values().filter(counts).map(|topic| key(topic)));
            let topics = shown.topics.values().filter(counts);
            let held = self.held();
            let new: Vec<_> = topics.filter(|topic| !held.has(&key(topic), topic.hash)).collect();
            drop(held);
            for batch in new.chunks(BATCH) {
                let texts: Vec<_> = batch.iter().map(|topic| read(&key(topic))).collect();
                let mut held = self.held_mut();
                for (topic, text) in batch.iter().zip(texts) {
                    if let Some((text, hash)) = text {
                        held.put(scope, topic, &text, hash);
                    }
                }
            }
        }
        let mut held = self.held_mut();
        let gone: Vec<Key> = held.ids.keys().filter(|key| !there.contains(*key)).cloned().collect();
        gone.iter().for_each(|key| held.remove(key));
        held.catalog.settle();
        held.revisions = Some(shown.each_ref().map(|shown| shown.revision));
    }
}

impl LibraryState {
    pub(super) fn id(&self, key: &Key) -> Option<TopicId> {
        self.ids.get(key).map(|(id, _)| *id)
    }

    fn has(&self, key: &Key, hash: Hash) -> bool {
        self.ids.get(key).is_some_and(|(_, known)| *known == hash)
    }

    fn put(&mut self, scope: Scope, topic: &Arc<MemoryTopic>, text: &str, hash: Hash) {
        let key = (scope, topic.name.clone());
        let id = self.id(&key).unwrap_or_else(|| {
            self.next += 1;
            TopicId(self.next)
        });
        let read = header::read(text);
        let description = read.header.described(read.body);
        let card = Card {
            name: topic.name.as_str(),
            title: read.header.name.as_deref().unwrap_or_default(),
            description: &description,
            questions: &read.header.questions,
        };
        self.catalog.put(id, &card, read.body);
        self.ids.insert(key, (id, hash));
        match read.header.recall {
            Some(recall) => drop(self.decided.insert(id, recall)),
            None => drop(self.decided.remove(&id)),
        }
        let passages = count_passages(read.body, &read.header.questions);
        let topic = Arc::clone(topic);
        self.topics.insert(id, LibraryTopic { scope, topic, description, passages });
    }

    fn remove(&mut self, key: &Key) {
        if let Some((id, _)) = self.ids.remove(key) {
            self.catalog.remove(id);
            self.topics.remove(&id);
            self.decided.remove(&id);
        }
    }
}
