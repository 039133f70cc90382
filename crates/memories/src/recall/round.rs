//! Searches memories for the newest user message, in parallel with its requests.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bethink_api::RecallManner;
use bethink_facts::{Facts, SaidKind};
use bethink_service::locked;
use bethink_sessions::{LoadedSession, RecallQuery, SessionFeature, SessionHandle};
use bethink_store::SessionRecord;
use bethink_transcript::{BlockKind, Message, Role, Seq};
use tokio::sync::watch;

use super::Key;
use super::choose::{FoundMemory, MemoryLookup};
use super::view::{OwnMemories, recent_tools, surfaced};
use crate::service::MemoryService;

/// How long a prompt waits for the keyword search, which takes milliseconds unless topics must be read first.
const PATIENCE: Duration = Duration::from_millis(100);
/// Number of results to search for. It exceeds the number needed, because some results may already have been shown.
const SPARE: usize = 20;

/// The session's current round, if there has been one.
#[derive(Debug, Default)]
struct CurrentRound(Mutex<Option<Arc<Round>>>);

impl SessionFeature for CurrentRound {}

/// The search for one user message, shared by all prompts that follow the message.
#[derive(Debug)]
pub(super) struct Round {
    /// The user message that the search is for.
    pub(super) of: Seq,
    query: String,
    found: Mutex<FoundSoFar>,
    looked: watch::Sender<bool>,
    /// The lookup for a model, until a prompt asks for memories. Prompts without memories cost no call.
    for_model: Mutex<Option<ModelLookup>>,
}

#[derive(Clone, Debug)]
struct ModelLookup {
    session: SessionRecord,
    /// The model of the session.
    own: String,
    wanted: MemoryLookup,
}

#[derive(Debug, Default)]
struct FoundSoFar {
    /// Topics that every session gets. They stay, because a compaction can remove them from the view.
    pinned: Vec<FoundMemory>,
    by_words: Vec<FoundMemory>,
    by_model: Option<Vec<FoundMemory>>,
}

impl Round {
    /// Waits until the keyword search has ended, but no longer than [`PATIENCE`].
    pub(super) async fn looked_up(&self) {
        let mut looked = self.looked.subscribe();
        drop(tokio::time::timeout(PATIENCE, looked.wait_for(|looked| *looked)).await);
    }

    /// Returns results that are ready and have not been shown, and whether a model chose them. A model's choice
    /// replaces the results of the keyword search.
    pub(super) fn ready(&self) -> (Vec<FoundMemory>, bool) {
        let found = locked(&self.found);
        match &found.by_model {
            Some(chosen) => (chosen.clone(), true),
            None => (found.by_words.clone(), false),
        }
    }

    /// Returns the topics that every session gets, shown or not.
    pub(super) fn pinned(&self) -> Vec<FoundMemory> {
        locked(&self.found).pinned.clone()
    }

    /// Drops results that a prompt has used. A model's choice that the prompt has not used is kept for the next prompt.
    pub(super) fn mark_used(&self, by_model: bool) {
        let mut found = locked(&self.found);
        found.by_words.clear();
        if by_model {
            found.by_model = None;
        }
    }
}

impl MemoryService {
    /// Starts the search as soon as a user message arrives, before the prompt is requested.
    pub(crate) fn recall_ahead(&self, handle: &SessionHandle, loaded: &LoadedSession) {
        let last = loaded.state.history.entries().last();
        if last.is_some_and(|entry| entry.message.role == Role::User) {
            self.round(handle, loaded, &RecallQuery::default());
        }
    }

    /// Returns the session's current round, and starts one if necessary.
    pub(super) fn round(
        &self,
        handle: &SessionHandle,
        loaded: &LoadedSession,
        asked: &RecallQuery,
    ) -> Option<Arc<Round>> {
        if self.cx.settings().memory.recall == "off" {
            return None;
        }
        let current = handle.feature::<CurrentRound>();
        let known = locked(&current.0).clone();
        let (of, words) = match newest_words(loaded, known.as_deref()) {
            NewestWords::Known => {
                let known = known.clone()?;
                match asked.query.as_ref().filter(|query| **query != known.query) {
                    Some(query) => (known.of, query.clone()),
                    None => return Some(known),
                }
            }
            NewestWords::Said(of, words) => (of, asked.query.clone().unwrap_or(words)),
            NewestWords::Nothing => return None,
        };
        let (found, looked) = (Mutex::default(), watch::Sender::new(false));
        let for_model = Mutex::default();
        let round = Arc::new(Round { of, query: words, found, looked, for_model });
        *locked(&current.0) = Some(Arc::clone(&round));
        let shown = surfaced(&loaded.state.decisions);
        if known.is_none() && shown.iter().any(|(_, after)| *after >= of) {
            // The search for this message ended before the daemon was restarted.
            round.looked.send_replace(true);
            return Some(round);
        }
        let tools = asked.recent_tools.clone().unwrap_or_else(|| recent_tools(loaded));
        self.search_in_background(&round, loaded, tools, shown.into_keys().collect());
        Some(round)
    }

    fn search_in_background(
        &self,
        round: &Arc<Round>,
        loaded: &LoadedSession,
        recent_tools: Vec<String>,
        exclude: HashSet<Key>,
    ) {
        let (memories, round) = (self.clone(), Arc::clone(round));
        let (session, own) = (loaded.session.clone(), loaded.state.model.name.clone());
        let query = round.query.clone();
        let wanted = MemoryLookup {
            queries: vec![query],
            manner: RecallManner::Injected,
            recent_tools,
            exclude,
            own: Some(OwnMemories::of(loaded)),
            limit: SPARE,
        };
        let lookup = ModelLookup { session, own, wanted };
        *locked(&round.for_model) = Some(lookup.clone());
        self.cx.spawn(async move {
            let stop = memories.cx.stopping().clone();
            tokio::select! {
                () = stop.cancelled() => {}
                () = memories.fill(&round, &lookup) => {}
            }
            round.looked.send_replace(true);
        });
    }

    async fn fill(&self, round: &Round, lookup: &ModelLookup) {
        let (session, dir) = (lookup.session.id, lookup.session.project_dir.as_str());
        let Ok(project) = self.project_of_session(&lookup.session).await else { return };
        let library = &project.library;
        if let Err(error) = self.refresh_library(&project).await {
            return tracing::warn!(%session, reason = %error.detail, "could not recall memories");
        }
        if library.len() == 0 {
            return;
        }
        let found = library.choose(lookup.wanted.clone()).await.unwrap_or_default();
        let found = self.unmerged_last(&project, dir, found).await;
        let pinned = match library.pinned() {
            pinned if pinned.is_empty() => pinned,
            pinned => self.unmerged_last(&project, dir, pinned).await,
        };
        *locked(&round.found) = FoundSoFar { pinned, by_words: found, by_model: None };
    }

    /// Lets a model choose in the background, once for each round.
    pub(super) fn choose_in_background(&self, round: &Arc<Round>) {
        let Some(lookup) = locked(&round.for_model).take() else { return };
        let (memories, round) = (self.clone(), Arc::clone(round));
        self.cx.spawn(async move {
            let stop = memories.cx.stopping().clone();
            let mut looked = round.looked.subscribe();
            let chosen = async {
                looked.wait_for(|looked| *looked).await.ok()?;
                let ModelLookup { session, own, mut wanted } = lookup;
                let project = memories.project_of_session(&session).await.ok()?;
                wanted.limit = super::MOST;
                let (library, id) = (&project.library, Some(session.id));
                let chosen = memories.choose_by_model(library, id, &own, &wanted).await.ok()?;
                Some(memories.unmerged_last(&project, &session.project_dir, chosen).await)
            };
            tokio::select! {
                () = stop.cancelled() => {}
                chosen = chosen => if chosen.is_some() { locked(&round.found).by_model = chosen },
            }
        });
    }
}

enum NewestWords {
    /// The current round already searches for the newest words.
    Known,
    Said(Seq, String),
    Nothing,
}

/// Finds the newest message with the user's own words.
fn newest_words(loaded: &LoadedSession, known: Option<&Round>) -> NewestWords {
    for entry in loaded.state.history.entries().iter().rev() {
        let message = &entry.message;
        if known.is_some_and(|round| message.seq <= round.of) {
            return NewestWords::Known;
        }
        if let Some(words) = words_of(message) {
            return NewestWords::Said(message.seq, words);
        }
    }
    NewestWords::Nothing
}

/// Returns the user's own words in a message, without text that programs added.
pub(super) fn words_of(message: &Message) -> Option<String> {
    let has_text = message.blocks.iter().any(|block| matches!(block.kind, BlockKind::Text));
    if message.role != Role::User || !has_text {
        return None;
    }
    let mut facts = Facts::default();
    facts.observe(message);
    let said = facts.user.iter().filter(|said| said.kind != SaidKind::Handover);
    let words: Vec<&str> = said.map(|said| &*said.text).collect();
    (!words.is_empty()).then(|| words.join("\n"))
}
