//! Chooses topics for a question: with a keyword search, or with a model that sees a list of the topics.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::Scope;
use bethink_memdir::age::age;
use bethink_memdir::header::MemoryRecall;
use bethink_models::{Errand, Purpose};
use bethink_recall::topics::manifest::{INSTRUCTION, MOST_ROWS, question};
use bethink_recall::topics::select::{
    is_answered, is_manual, merged, nearest, ranked, select, why,
};
use bethink_recall::topics::{CatalogQuery, Manifest, ManifestRow, Pick, TopicId, Why, read_pick};
use bethink_service::{ModelStep, Result, blocking};
use bethink_transcript::{SessionId, UnixMicros};

use super::Key;
use super::library::{LibraryState, LibraryTopic};
use super::view::OwnMemories;
use crate::directory::MemoryTopic;
use crate::project::MemoryProject;
use crate::recall::library::Library;
use crate::service::MemoryService;
use crate::standalone::standalone_request;

/// Maximum length of a model's answer, in tokens: five names, and its thinking before them.
const CHOICE_TOKENS: u64 = 1_024;
/// Maximum number of topics that are searched on the request thread, which takes a fraction of a millisecond.
const FEW_TOPICS: usize = 500;
/// Maximum number of pinned topics that count, the newest first. It is the maximum for one message, so all of them fit the
/// first prompt.
const MOST_PINNED: usize = super::MOST;

#[derive(Clone, Debug)]
pub(super) struct FoundMemory {
    pub(super) scope: Scope,
    pub(super) topic: Arc<MemoryTopic>,
    pub(super) why: api::RecallWhy,
    pub(super) certainty: api::RecallCertainty,
    /// The branch on which the memory was learned, if the checkout does not contain that branch.
    pub(super) unmerged: Option<String>,
}

impl FoundMemory {
    pub(super) fn key(&self) -> Key {
        (self.scope, self.topic.name.clone())
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct MemoryLookup {
    /// Wordings of the same question.
    pub(super) queries: Vec<String>,
    pub(super) manner: api::RecallManner,
    pub(super) recent_tools: Vec<String>,
    /// Topics that were already shown.
    pub(super) exclude: HashSet<Key>,
    /// Memories that the session itself taught. They are left out.
    pub(super) own: Option<OwnMemories>,
    pub(super) limit: usize,
}

impl MemoryLookup {
    fn ask<'a>(
        &'a self,
        question: &'a str,
        exclude: &'a [TopicId],
        limit: usize,
    ) -> CatalogQuery<'a> {
        CatalogQuery { question, recent_tools: &self.recent_tools, exclude, limit }
    }

    /// Whether the keyword search is enough, so that meanings need not be compared.
    fn is_answered(&self, picks: &[Pick]) -> bool {
        self.manner == api::RecallManner::Injected || is_answered(picks)
    }
}

impl Library {
    /// Chooses topics with a keyword search, possibly none. For an explicit question, also chooses topics that are
    /// similar in meaning, unless the keyword search answers it. If only a few new topics have no vectors yet, waits a
    /// moment for these.
    pub(super) async fn choose(self: &Arc<Self>, wanted: MemoryLookup) -> Result<Vec<FoundMemory>> {
        let library = Arc::clone(self);
        let by_words = move |wanted: &MemoryLookup| library.held().picks_by_words(wanted);
        // This takes milliseconds in a large directory, which do not run on the request threads.
        let (picks, wanted) = match self.len() <= FEW_TOPICS {
            true => (by_words(&wanted), wanted),
            false => blocking(move || Ok((by_words(&wanted), wanted))).await?,
        };
        if picks.iter().all(|picks| wanted.is_answered(picks)) {
            return Ok(self.held().found(picks, wanted.limit));
        }
        self.meanings.wait_for_few().await;
        let library = Arc::clone(self);
        blocking(move || Ok(library.with_meaning(picks, &wanted))).await
    }

    /// Like [`Self::choose`], but blocks, and uses only the vectors that already exist.
    pub(super) fn choose_now(&self, wanted: &MemoryLookup) -> Vec<FoundMemory> {
        let picks = self.held().picks_by_words(wanted);
        self.with_meaning(picks, wanted)
    }

    /// For wordings that the keyword search does not answer, replaces its picks with the topics that are most similar in words
    /// and meaning.
    fn with_meaning(&self, mut picks: Vec<Vec<Pick>>, wanted: &MemoryLookup) -> Vec<FoundMemory> {
        for (question, picks) in wanted.queries.iter().zip(&mut picks) {
            if !wanted.is_answered(picks) {
                let similar = self.meanings.similar_to(question, self);
                *picks = self.held().picks_with_meaning(question, wanted, &similar);
            }
        }
        self.held().found(picks, wanted.limit)
    }

    /// Adds to a model's choice the other topics that are most similar to an explicit question.
    pub(super) async fn with_nearest(
        self: &Arc<Self>,
        mut chosen: Vec<FoundMemory>,
        mut wanted: MemoryLookup,
    ) -> Result<Vec<FoundMemory>> {
        if wanted.manner == api::RecallManner::Injected {
            return Ok(chosen);
        }
        wanted.exclude.extend(chosen.iter().map(FoundMemory::key));
        wanted.limit -= chosen.len().min(wanted.limit);
        let mut near = self.choose(wanted).await?;
        near.iter_mut().for_each(|found| found.certainty = api::RecallCertainty::Perhaps);
        chosen.append(&mut near);
        Ok(chosen)
    }

    /// Returns the list that a model sees, and the topic of each row.
    fn manifest(&self, wanted: &MemoryLookup, now: UnixMicros) -> (Vec<TopicId>, Manifest) {
        let held = self.held();
        let ids = held.candidates(wanted);
        let entries = ids.iter().filter_map(|id| Some((*id, held.topics.get(id)?)));
        let (ids, rows) = entries.map(|(id, entry)| (id, row(entry, now))).unzip();
        (ids, Manifest::new(rows))
    }

    /// Returns the topics that every session gets, newest first.
    pub(super) fn pinned(&self) -> Vec<FoundMemory> {
        self.held().pinned()
    }

    pub(crate) fn len(&self) -> usize {
        self.held().catalog.len()
    }

    /// Whether a topic only documents how to use one of these tools.
    pub(super) fn is_manual(&self, key: &Key, tools: &[String]) -> bool {
        let held = self.held();
        held.id(key).is_some_and(|id| is_manual(&held.catalog, id, tools))
    }
}

impl LibraryState {
    /// Returns the picks for each wording. Similarity in meaning never decides which memories are injected.
    fn picks_by_words(&self, wanted: &MemoryLookup) -> Vec<Vec<Pick>> {
        let exclude = self.left_out(wanted);
        let picks = wanted.queries.iter().map(|question| {
            let ask = wanted.ask(question, &exclude, wanted.limit);
            match wanted.manner {
                api::RecallManner::Injected => select(&self.catalog, &ask),
                api::RecallManner::Asked => nearest(&self.catalog, &ask, &[]),
            }
        });
        picks.collect()
    }

    fn picks_with_meaning(
        &self,
        question: &str,
        wanted: &MemoryLookup,
        similar: &[(TopicId, f32)],
    ) -> Vec<Pick> {
        let exclude = self.left_out(wanted);
        nearest(&self.catalog, &wanted.ask(question, &exclude, wanted.limit), similar)
    }

    fn found(&self, picks: Vec<Vec<Pick>>, limit: usize) -> Vec<FoundMemory> {
        let found = merged(picks, limit).into_iter().filter_map(|pick| {
            let entry = self.topics.get(&pick.id)?;
            Some(FoundMemory {
                scope: entry.scope,
                topic: Arc::clone(&entry.topic),
                why: explained(api::Strategy::Embedded, &pick.why, None),
                certainty: pick.certainty,
                unmerged: None,
            })
        });
        found.collect()
    }

    fn left_out(&self, wanted: &MemoryLookup) -> Vec<TopicId> {
        let mut ids: Vec<TopicId> = wanted.exclude.iter().filter_map(|key| self.id(key)).collect();
        if wanted.manner == api::RecallManner::Injected {
            ids.extend(self.decided_to_be(MemoryRecall::Never));
        }
        if let Some(own) = &wanted.own {
            let taught = self.topics.iter().filter(|(_, entry)| own.has(&entry.topic));
            ids.extend(taught.map(|(id, _)| *id));
        }
        ids
    }

    fn decided_to_be(&self, recall: MemoryRecall) -> impl Iterator<Item = TopicId> {
        self.decided.iter().filter(move |(_, decided)| **decided == recall).map(|(id, _)| *id)
    }

    /// Returns the newest pinned topics, at most [`MOST_PINNED`].
    fn pinned(&self) -> Vec<FoundMemory> {
        let ids = self.decided_to_be(MemoryRecall::Always);
        let mut pinned: Vec<&LibraryTopic> = ids.filter_map(|id| self.topics.get(&id)).collect();
        pinned.sort_by_key(|entry| {
            (Reverse(entry.topic.modified), entry.scope, entry.topic.name.clone())
        });
        let why = api::RecallWhy { pinned: true, ..api::RecallWhy::default() };
        let found = pinned.into_iter().take(MOST_PINNED).map(|entry| FoundMemory {
            scope: entry.scope,
            topic: Arc::clone(&entry.topic),
            why: why.clone(),
            certainty: api::RecallCertainty::Sure,
            unmerged: None,
        });
        found.collect()
    }

    /// Returns topics for a model to choose from: results of the keyword search, best first, then the newest of the
    /// other topics.
    fn candidates(&self, wanted: &MemoryLookup) -> Vec<TopicId> {
        let exclude = self.left_out(wanted);
        let question = wanted.queries.join("\n");
        let mut ids = ranked(&self.catalog, &wanted.ask(&question, &exclude, MOST_ROWS));
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

impl MemoryService {
    /// Moves memories from branches that the checkout of `dir` does not contain to the end of the list.
    pub(super) async fn unmerged_last(
        &self,
        project: &MemoryProject,
        dir: &str,
        mut found: Vec<FoundMemory>,
    ) -> Vec<FoundMemory> {
        let unmerged = self.unmerged(project, dir).await;
        for one in &mut found {
            one.unmerged = unmerged.get(&one.key()).cloned();
        }
        found.sort_by_key(|one| one.unmerged.is_some());
        found
    }

    /// Updates the catalog to match the directories. Only reads files that changed.
    pub(super) async fn refresh_library(&self, project: &Arc<MemoryProject>) -> Result<()> {
        let _one = project.library.following.lock().await;
        let shown = self.snapshots(project).await?;
        if project.library.follows(&shown) {
            return Ok(());
        }
        let library = Arc::clone(&project.library);
        let directories = Arc::clone(project);
        blocking(move || {
            library.follow(&shown, |key| directories.text_of(key));
            // The next question can wait for the vectors of new topics.
            library.meanings.missing(&library);
            Ok(())
        })
        .await?;
        self.follow_meaning(project);
        Ok(())
    }

    /// Lets a model choose. If it does not, returns why, or `None` if no model is configured or there is nothing to choose.
    pub(super) async fn choose_by_model(
        &self,
        library: &Arc<Library>,
        session: Option<SessionId>,
        own_model: &str,
        wanted: &MemoryLookup,
    ) -> std::result::Result<Vec<FoundMemory>, Option<String>> {
        let model = self.models.model_for(Purpose::Recall, own_model).ok_or(None)?;
        if let Some(reason) = self.models.model_rests(session, Purpose::Recall) {
            tracing::debug!(%reason, "recalling without a model");
            return Err(Some(reason.to_string()));
        }
        let (ids, manifest) = library.manifest(wanted, self.cx.now());
        if ids.is_empty() {
            return Err(None);
        }
        let said = wanted.queries.join("\n");
        let asked = question(&manifest, &said, &wanted.recent_tools);
        let request = standalone_request(model, INSTRUCTION, &asked, CHOICE_TOKENS).ok_or(None)?;
        let purpose = Purpose::Recall;
        let errand =
            Errand { session, purpose, request: &request, tools: &[], turns: 1, client: None };
        let ended = self.models.ask(errand).await.ended;
        let finished = ended.map_err(|error| Some(error.to_string()))?;
        let picks = read_pick(&finished.text, &manifest);
        self.models.judged(session, purpose, picks.is_ok());
        let picks = match picks {
            Ok(picks) => picks,
            Err(fault) => {
                let message = fault.to_string();
                self.models.tell_model(errand, ModelStep::Refused { message: message.clone() });
                return Err(Some(message));
            }
        };
        let held = library.held();
        let found = picks.into_iter().zip(1..).filter_map(|(row, place)| {
            let id = *ids.get(row)?;
            let entry = held.topics.get(&id)?;
            let why = why(&held.catalog, &said, id).unwrap_or_default();
            Some(FoundMemory {
                scope: entry.scope,
                topic: Arc::clone(&entry.topic),
                why: explained(api::Strategy::Model, &why, Some(place)),
                certainty: api::RecallCertainty::Sure,
                unmerged: None,
            })
        });
        Ok(found.take(wanted.limit).collect())
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
    api::RecallWhy { by, terms: terms.collect(), score, place, pinned: false }
}
