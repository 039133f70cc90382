//! Chooses topics for a question: with a keyword search, or with a model that sees a list of the topics.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::Scope;
use bethink_memdir::age::age;
use bethink_models::{Errand, Purpose};
use bethink_recall::topics::manifest::{INSTRUCTION, MOST_ROWS, question};
use bethink_recall::topics::select::{is_manual, ranked, select, why};
use bethink_recall::topics::{CatalogQuery, Manifest, ManifestRow, TopicId, Why, read_pick};
use bethink_service::{ModelStep, Result, blocking};
use bethink_transcript::{SessionId, UnixMicros};

use super::Key;
use super::library::{LibraryState, LibraryTopic};
use crate::directory::MemoryTopic;
use crate::project::MemoryProject;
use crate::recall::library::Library;
use crate::service::MemoryService;
use crate::standalone::standalone_request;

/// Maximum length of a model's answer, in tokens: five names, and its thinking before them.
const CHOICE_TOKENS: u64 = 1_024;

#[derive(Clone, Debug)]
pub(super) struct FoundMemory {
    pub(super) scope: Scope,
    pub(super) topic: Arc<MemoryTopic>,
    pub(super) why: api::RecallWhy,
}

impl FoundMemory {
    pub(super) fn key(&self) -> Key {
        (self.scope, self.topic.name.clone())
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct MemoryLookup {
    pub(super) query: String,
    pub(super) recent_tools: Vec<String>,
    /// Topics that were already shown.
    pub(super) exclude: HashSet<Key>,
    pub(super) limit: usize,
}

impl MemoryLookup {
    fn ask<'a>(&'a self, exclude: &'a [TopicId], limit: usize) -> CatalogQuery<'a> {
        CatalogQuery { question: &self.query, recent_tools: &self.recent_tools, exclude, limit }
    }
}

impl Library {
    /// Chooses topics with a keyword search, possibly none.
    pub(super) async fn choose(self: &Arc<Self>, wanted: MemoryLookup) -> Result<Vec<FoundMemory>> {
        let library = Arc::clone(self);
        // This takes milliseconds in a large directory, so it does not run on the request threads.
        blocking(move || Ok(library.held().choose(&wanted))).await
    }

    /// Returns the list that a model sees, and the topic of each row.
    fn manifest(&self, wanted: &MemoryLookup, now: UnixMicros) -> (Vec<TopicId>, Manifest) {
        let held = self.held();
        let ids = held.candidates(wanted);
        let entries = ids.iter().filter_map(|id| Some((*id, held.topics.get(id)?)));
        let (ids, rows) = entries.map(|(id, entry)| (id, row(entry, now))).unzip();
        (ids, Manifest::new(rows))
    }

    pub(crate) fn len(&self) -> usize {
        self.held().catalog.len()
    }

    /// Whether a topic only documents the usage of one of these tools.
    pub(super) fn is_manual(&self, key: &Key, tools: &[String]) -> bool {
        let held = self.held();
        held.id(key).is_some_and(|id| is_manual(&held.catalog, id, tools))
    }
}

impl LibraryState {
    fn choose(&self, wanted: &MemoryLookup) -> Vec<FoundMemory> {
        let exclude = self.ids_of(&wanted.exclude);
        let picks = select(&self.catalog, &wanted.ask(&exclude, wanted.limit));
        let found = picks.into_iter().filter_map(|pick| {
            let entry = self.topics.get(&pick.id)?;
            Some(found(entry, explained(api::Strategy::Embedded, &pick.why, None)))
        });
        found.collect()
    }

    fn ids_of(&self, keys: &HashSet<Key>) -> Vec<TopicId> {
        keys.iter().filter_map(|key| self.id(key)).collect()
    }

    /// Returns topics for a model to choose from: results of the keyword search, best first, then the newest others.
    fn candidates(&self, wanted: &MemoryLookup) -> Vec<TopicId> {
        let exclude = self.ids_of(&wanted.exclude);
        let mut ids = ranked(&self.catalog, &wanted.ask(&exclude, MOST_ROWS));
        if ids.len() < MOST_ROWS {
            let known: HashSet<TopicId> = ids.iter().chain(&exclude).copied().collect();
            let mut others: Vec<_> =
                self.topics.iter().filter(|(id, _)| !known.contains(id)).collect();
            others.sort_by_key(|(id, entry)| (Reverse(entry.topic.modified), **id));
            ids.extend(others.into_iter().map(|(id, _)| *id));
            ids.truncate(MOST_ROWS);
        }
        ids
    }
}

fn found(entry: &LibraryTopic, why: api::RecallWhy) -> FoundMemory {
    FoundMemory { scope: entry.scope, topic: Arc::clone(&entry.topic), why }
}

impl MemoryService {
    /// Updates the catalog to match the directories. Only reads files that changed.
    pub(super) async fn refresh_library(&self, project: &MemoryProject) -> Result<()> {
        let _one = project.library.following.lock().await;
        let private = self.snapshot(project.directory(Scope::Private)).await?;
        let team = self.snapshot(project.directory(Scope::Team)).await?;
        let shown = [private, team, self.snapshot(project.directory(Scope::Person)).await?];
        if project.library.follows(&shown) {
            return Ok(());
        }
        let library = Arc::clone(&project.library);
        let directories = Scope::ALL.map(|scope| Arc::clone(project.directory(scope)));
        blocking(move || {
            library.follow(&directories, &shown);
            Ok(())
        })
        .await
    }

    /// Lets a model choose. Returns `None` if no model was asked or its answer was unusable.
    pub(super) async fn choose_by_model(
        &self,
        library: &Arc<Library>,
        session: Option<SessionId>,
        own_model: &str,
        wanted: &MemoryLookup,
    ) -> Option<Vec<FoundMemory>> {
        let model = self.models.model_for(Purpose::Recall, own_model)?;
        if let Some(reason) = self.models.model_rests(session, Purpose::Recall) {
            tracing::debug!(%reason, "recalling without a model");
            return None;
        }
        let (ids, manifest) = library.manifest(wanted, self.cx.now());
        if ids.is_empty() {
            return None;
        }
        let asked = question(&manifest, &wanted.query, &wanted.recent_tools);
        let request = standalone_request(model, INSTRUCTION, &asked, CHOICE_TOKENS)?;
        let purpose = Purpose::Recall;
        let errand =
            Errand { session, purpose, request: &request, tools: &[], turns: 1, client: None };
        let finished = self.models.ask(errand).await.ended.ok()?;
        let picks = read_pick(&finished.text, &manifest);
        self.models.judged(session, purpose, picks.is_ok());
        let picks = match picks {
            Ok(picks) => picks,
            Err(fault) => {
                let step = ModelStep::Refused { message: fault.to_string() };
                self.models.tell_model(errand, step);
                return None;
            }
        };
        let held = library.held();
        let found = picks.into_iter().zip(1..).filter_map(|(row, place)| {
            let id = *ids.get(row)?;
            let why = why(&held.catalog, &wanted.query, id).unwrap_or_default();
            Some(found(held.topics.get(&id)?, explained(api::Strategy::Model, &why, Some(place))))
        });
        Some(found.take(wanted.limit).collect())
    }
}

fn row(entry: &LibraryTopic, now: UnixMicros) -> ManifestRow {
    ManifestRow {
        scope: entry.scope,
        name: entry.topic.name.clone(),
        kind: entry.topic.header.kind,
        age: age(entry.topic.modified, now),
        description: entry.description.clone(),
    }
}

fn explained(by: api::Strategy, why: &Why, place: Option<u64>) -> api::RecallWhy {
    let terms = why
        .terms
        .iter()
        .map(|(term, fields)| api::RecallTerm { term: term.clone(), fields: fields.clone() });
    // More than two digits would suggest a false precision.
    let score = f64::from((why.score * 100.0).round()) / 100.0;
    api::RecallWhy { by, terms: terms.collect(), score, place }
}
