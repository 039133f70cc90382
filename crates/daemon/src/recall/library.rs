//! A project's topics as a catalog that follows its shelves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bethink_memdir::{Hash, Name, Scope, header};
use bethink_recall::topics::{Card, Catalog, TopicId};

use super::Key;
use crate::memory::{Project, Shelf, Snapshot, Topic};
use crate::{Daemon, Refusal, Result};

const SCOPES: [Scope; 2] = [Scope::Private, Scope::Team];
/// Topics that are read and taken in at a time: a question that comes in between is answered.
const BATCH: usize = 256;

/// The topics of both shelves, ready to be asked for.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// One at a time brings it up to date.
    following: tokio::sync::Mutex<()>,
    held: RwLock<Held>,
}

#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) catalog: Catalog,
    ids: HashMap<Key, (TopicId, Hash)>,
    topics: HashMap<TopicId, Entry>,
    /// The snapshots that it follows, private and team.
    revisions: Option<[u64; 2]>,
    next: u32,
}

/// A topic of the catalog.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) scope: Scope,
    pub(super) topic: Arc<Topic>,
    /// Its own, or the first words of its body.
    pub(super) description: String,
}

/// What is to be done.
struct Changes {
    gone: Vec<Key>,
    new: Vec<(Scope, Arc<Topic>)>,
}

impl Library {
    pub(super) fn held(&self) -> RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_mut(&self) -> RwLockWriteGuard<'_, Held> {
        self.held.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings it up to date with the shelves. Reads what changed, and nothing where nothing did.
    pub(super) async fn follow(self: &Arc<Self>, project: &Project, daemon: &Daemon) -> Result<()> {
        let _one = self.following.lock().await;
        let private = project.shelf(Scope::Private).snapshot(daemon).await?;
        let team = project.shelf(Scope::Team).snapshot(daemon).await?;
        let revisions = [private.revision, team.revision];
        if self.held().revisions == Some(revisions) {
            return Ok(());
        }
        let changes = self.held().changes([&private, &team]);
        let library = Arc::clone(self);
        let shelves = SCOPES.map(|scope| Arc::clone(project.shelf(scope)));
        let work = move || library.take(&shelves, &changes, revisions);
        tokio::task::spawn_blocking(work).await.map_err(Refusal::internal)
    }

    fn take(&self, shelves: &[Arc<Shelf>; 2], changes: &Changes, revisions: [u64; 2]) {
        {
            let mut held = self.held_mut();
            changes.gone.iter().for_each(|key| held.remove(key));
        }
        for batch in changes.new.chunks(BATCH) {
            for shelf in shelves {
                let mine = batch.iter().filter(|(scope, _)| *scope == shelf.scope);
                let topics: BTreeMap<&Name, &Arc<Topic>> =
                    mine.map(|(_, topic)| (&topic.name, topic)).collect();
                let names: Vec<Name> = topics.keys().map(|name| (*name).clone()).collect();
                let texts = shelf.read_each(&names);
                let mut held = self.held_mut();
                for (name, text, hash) in &texts {
                    if let Some(topic) = topics.get(name) {
                        held.put(shelf.scope, topic, text, *hash);
                    }
                }
            }
        }
        let mut held = self.held_mut();
        held.catalog.settle();
        held.revisions = Some(revisions);
    }
}

impl Held {
    pub(super) fn entry(&self, id: TopicId) -> Option<&Entry> {
        self.topics.get(&id)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (TopicId, &Entry)> {
        self.topics.iter().map(|(id, entry)| (*id, entry))
    }

    pub(super) fn id(&self, key: &Key) -> Option<TopicId> {
        self.ids.get(key).map(|(id, _)| *id)
    }

    fn changes(&self, shown: [&Snapshot; 2]) -> Changes {
        let mut changes = Changes { gone: Vec::new(), new: Vec::new() };
        let mut there = HashSet::with_capacity(self.ids.len());
        for (scope, shown) in SCOPES.into_iter().zip(shown) {
            for topic in shown.topics.values() {
                let key = (scope, topic.name.clone());
                let same = self.ids.get(&key).is_some_and(|(_, hash)| *hash == topic.hash);
                if !same {
                    changes.new.push((scope, Arc::clone(topic)));
                }
                there.insert(key);
            }
        }
        changes.gone = self.ids.keys().filter(|key| !there.contains(*key)).cloned().collect();
        changes
    }

    fn put(&mut self, scope: Scope, topic: &Arc<Topic>, text: &str, hash: Hash) {
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
        };
        self.catalog.put(id, &card, read.body);
        self.ids.insert(key, (id, hash));
        self.topics.insert(id, Entry { scope, topic: Arc::clone(topic), description });
    }

    fn remove(&mut self, key: &Key) {
        if let Some((id, _)) = self.ids.remove(key) {
            self.catalog.remove(id);
            self.topics.remove(&id);
        }
    }
}
