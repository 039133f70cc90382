//! Who chooses: the words of the question, or a model that is shown what there is.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::Scope;
use bethink_memdir::age::age;
use bethink_model::Request;
use bethink_recall::topics::manifest::{INSTRUCTION, MOST_ROWS, question};
use bethink_recall::topics::select::{is_manual, ranked, select, why};
use bethink_recall::topics::{Ask, Manifest, Row, TopicId, Why, read_pick};
use bethink_transcript::{PromptMessage, Seq, SessionId, UnixMicros, ValidPrompt, json};
use bytes::Bytes;

use super::library::{Entry, Held};
use super::{Key, Library};
use crate::hot::tokens;
use crate::memory::Topic;
use crate::models::{Errand, Purpose};
use crate::{Daemon, Refusal, Result};

/// Tokens of a choice: five names, and what a model thinks before it says them.
const CHOICE_TOKENS: u64 = 1_024;

/// A memory that was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) scope: Scope,
    pub(super) topic: Arc<Topic>,
    pub(super) why: api::RecallWhy,
}

impl Found {
    pub(super) fn key(&self) -> Key {
        (self.scope, self.topic.name.clone())
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) query: String,
    pub(super) recent_tools: Vec<String>,
    /// Told already.
    pub(super) exclude: HashSet<Key>,
    pub(super) limit: usize,
}

impl Wanted {
    fn ask<'a>(&'a self, exclude: &'a [TopicId], limit: usize) -> Ask<'a> {
        Ask { question: &self.query, recent_tools: &self.recent_tools, exclude, limit }
    }
}

impl Library {
    /// By the words; none where nothing fits.
    pub(super) async fn choose(self: &Arc<Self>, wanted: Wanted) -> Result<Vec<Found>> {
        let library = Arc::clone(self);
        // Milliseconds in a large directory; the threads of requests have better to do.
        let work = move || library.held().choose(&wanted);
        tokio::task::spawn_blocking(work).await.map_err(Refusal::internal)
    }

    /// What a model is shown, and the topics behind its rows.
    fn manifest(&self, wanted: &Wanted, now: UnixMicros) -> (Vec<TopicId>, Manifest) {
        let held = self.held();
        let ids = held.candidates(wanted);
        let entries = ids.iter().filter_map(|id| Some((*id, held.entry(*id)?)));
        let (ids, rows) = entries.map(|(id, entry)| (id, row(entry, now))).unzip();
        (ids, Manifest::new(rows))
    }

    pub(crate) fn len(&self) -> usize {
        self.held().catalog.len()
    }

    /// Whether a topic only tells how to use one of these tools.
    pub(super) fn is_manual(&self, key: &Key, tools: &[String]) -> bool {
        let held = self.held();
        held.id(key).is_some_and(|id| is_manual(&held.catalog, id, tools))
    }
}

impl Held {
    fn choose(&self, wanted: &Wanted) -> Vec<Found> {
        let exclude = self.ids_of(&wanted.exclude);
        let picks = select(&self.catalog, &wanted.ask(&exclude, wanted.limit));
        let found = picks.into_iter().filter_map(|pick| {
            let entry = self.entry(pick.id)?;
            Some(found(entry, told("embedded", &pick.why, None)))
        });
        found.collect()
    }

    fn ids_of(&self, keys: &HashSet<Key>) -> Vec<TopicId> {
        keys.iter().filter_map(|key| self.id(key)).collect()
    }

    /// What a model may choose from, the likeliest first; what no word speaks for follows, newest first.
    fn candidates(&self, wanted: &Wanted) -> Vec<TopicId> {
        let exclude = self.ids_of(&wanted.exclude);
        let mut ids = ranked(&self.catalog, &wanted.ask(&exclude, MOST_ROWS));
        if ids.len() < MOST_ROWS {
            let known: HashSet<TopicId> = ids.iter().chain(&exclude).copied().collect();
            let mut others: Vec<_> = self.entries().filter(|(id, _)| !known.contains(id)).collect();
            others.sort_by_key(|(id, entry)| (Reverse(entry.topic.modified), *id));
            ids.extend(others.into_iter().map(|(id, _)| id));
            ids.truncate(MOST_ROWS);
        }
        ids
    }
}

fn found(entry: &Entry, why: api::RecallWhy) -> Found {
    Found { scope: entry.scope, topic: Arc::clone(&entry.topic), why }
}

impl Daemon {
    /// By a model; `None` where none is asked, or none answered in a way that can be used.
    pub(super) async fn choose_by_model(
        &self,
        library: &Arc<Library>,
        session: Option<SessionId>,
        own_model: &str,
        wanted: &Wanted,
    ) -> Option<Vec<Found>> {
        let model = self.model_for(Purpose::Recall, own_model)?;
        if let Some(reason) = self.model_rests(session, Purpose::Recall) {
            tracing::debug!(%reason, "recall is embedded");
            return None;
        }
        let (ids, manifest) = library.manifest(wanted, self.now());
        if ids.is_empty() {
            return None;
        }
        let request = request(model, &question(&manifest, &wanted.query, &wanted.recent_tools))?;
        let purpose = Purpose::Recall;
        let errand = Errand { session, purpose, request: &request, tools: &[], turns: 1 };
        let finished = self.ask(errand).await.ended.ok()?;
        let picks = read_pick(&finished.text, &manifest);
        self.judged(session, purpose, picks.is_ok());
        let picks = match picks {
            Ok(picks) => picks,
            Err(fault) => {
                let step = serde_json::json!({ "step": "refused", "message": fault.to_string() });
                self.tell_model(errand, &step);
                return None;
            }
        };
        let held = library.held();
        let found = picks.into_iter().zip(1..).filter_map(|(row, place)| {
            let id = *ids.get(row)?;
            let why = why(&held.catalog, &wanted.query, id).unwrap_or_default();
            Some(found(held.entry(id)?, told("model", &why, Some(place))))
        });
        Some(found.take(wanted.limit).collect())
    }
}

fn row(entry: &Entry, now: UnixMicros) -> Row {
    Row {
        scope: entry.scope,
        name: entry.topic.name.clone(),
        kind: entry.topic.header.kind,
        age: age(entry.topic.modified, now),
        description: entry.description.clone(),
    }
}

/// It stands alone: the choice needs the list and what was said, not the session's whole prompt.
fn request(model: String, question: &str) -> Option<Request> {
    let system = format!(r#"[{{"type":"text","text":{}}}]"#, json::encode_string(INSTRUCTION));
    let said = PromptMessage::said(question, Seq::ZERO, tokens(question));
    Some(Request {
        model,
        system: Bytes::from(system),
        tools: Bytes::from_static(b"[]"),
        prompt: ValidPrompt::check(vec![said]).ok()?,
        marks: Vec::new(),
        max_tokens: CHOICE_TOKENS,
    })
}

fn told(by: &str, why: &Why, place: Option<u64>) -> api::RecallWhy {
    let terms = why.terms.iter().map(|(term, fields)| api::RecallTerm {
        term: term.clone(),
        fields: fields.iter().map(|field| field.as_str().to_owned()).collect(),
    });
    // Two digits: more would claim to be a measurement.
    let score = f64::from((why.score * 100.0).round()) / 100.0;
    api::RecallWhy { by: by.to_owned(), terms: terms.collect(), score, place }
}
