//! The search for the newest user message, in parallel to its requests.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bethink_facts::{Facts, SaidKind};
use bethink_service::locked;
use bethink_sessions::{LoadedSession, RecallQuery, SessionFeature, SessionHandle};
use bethink_transcript::{BlockKind, Message, Role, Seq, SessionId};
use tokio::sync::watch;

use super::Key;
use super::choose::{FoundMemory, MemoryLookup};
use super::view::{recent_tools, surfaced};
use crate::service::MemoryService;

/// How long a prompt waits for the search by words, which takes milliseconds unless the directory is being read
/// for the first time.
const PATIENCE: Duration = Duration::from_millis(100);
/// Extra results, because some may already be shown.
const SPARE: usize = 20;

/// The current round of a session, if one began.
#[derive(Debug, Default)]
struct CurrentRound(Mutex<Option<Arc<Round>>>);

impl SessionFeature for CurrentRound {}

/// All prompts that follow one user message.
#[derive(Debug)]
pub(super) struct Round {
    /// The user message.
    pub(super) of: Seq,
    query: String,
    found: Mutex<FoundSoFar>,
    looked: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct FoundSoFar {
    by_words: Vec<FoundMemory>,
    by_model: Option<Vec<FoundMemory>>,
}

impl Round {
    /// Waits until the search by words is done, or takes too long.
    pub(super) async fn looked_up(&self) {
        let mut looked = self.looked.subscribe();
        drop(tokio::time::timeout(PATIENCE, looked.wait_for(|looked| *looked)).await);
    }

    /// What is ready and not shown yet, and whether a model chose it. A model's choice takes precedence over
    /// its candidates.
    pub(super) fn ready(&self) -> (Vec<FoundMemory>, bool) {
        let found = locked(&self.found);
        match &found.by_model {
            Some(chosen) => (chosen.clone(), true),
            None => (found.by_words.clone(), false),
        }
    }

    /// Marks what was ready as shown, or as considered for a prompt. A model's choice since then is left for
    /// the next prompt.
    pub(super) fn told(&self, by_model: bool) {
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

    /// The session's current round, started if necessary.
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
            Newest::Known => {
                let known = known.clone()?;
                match asked.query.as_ref().filter(|query| **query != known.query) {
                    Some(query) => (known.of, query.clone()),
                    None => return Some(known),
                }
            }
            Newest::Said(of, words) => (of, asked.query.clone().unwrap_or(words)),
            Newest::Nothing => return None,
        };
        let (found, looked) = (Mutex::default(), watch::Sender::new(false));
        let round = Arc::new(Round { of, query: words, found, looked });
        *locked(&current.0) = Some(Arc::clone(&round));
        let told = surfaced(&loaded.state.decisions);
        if known.is_none() && told.iter().any(|(_, after)| *after >= of) {
            // From before the daemon was restarted.
            round.looked.send_replace(true);
            return Some(round);
        }
        let tools = asked.recent_tools.clone().unwrap_or_else(|| recent_tools(loaded));
        self.look_beside(&round, loaded, tools, told.into_keys().collect());
        Some(round)
    }

    fn look_beside(
        &self,
        round: &Arc<Round>,
        loaded: &LoadedSession,
        recent_tools: Vec<String>,
        exclude: HashSet<Key>,
    ) {
        let (memories, round) = (self.clone(), Arc::clone(round));
        let (dir, own) = (loaded.session.project_dir.clone(), loaded.state.model.name.clone());
        let (session, query) = (loaded.session.id, round.query.clone());
        let wanted = MemoryLookup { query, recent_tools, exclude, limit: SPARE };
        self.cx.spawn(async move {
            let stop = memories.cx.stopping().clone();
            tokio::select! {
                () = stop.cancelled() => {}
                () = memories.fill(&round, session, &dir, &own, wanted) => {}
            }
            round.looked.send_replace(true);
        });
    }

    async fn fill(
        &self,
        round: &Round,
        session: SessionId,
        dir: &str,
        own: &str,
        mut wanted: MemoryLookup,
    ) {
        let Ok(project) = self.project(dir).await else { return };
        let library = &project.library;
        if let Err(error) = self.refresh_library(&project).await {
            return tracing::warn!(%session, reason = %error.detail, "could not recall memories");
        }
        if library.len() == 0 {
            return;
        }
        let found = library.choose(wanted.clone()).await.unwrap_or_default();
        locked(&round.found).by_words = found;
        round.looked.send_replace(true);
        wanted.limit = super::MOST;
        if let Some(chosen) = self.choose_by_model(library, Some(session), own, &wanted).await {
            locked(&round.found).by_model = Some(chosen);
        }
    }
}

enum Newest {
    /// The words of the current round.
    Known,
    Said(Seq, String),
    Nothing,
}

/// The newest user message with words of the user, and these words.
fn newest_words(loaded: &LoadedSession, known: Option<&Round>) -> Newest {
    for entry in loaded.state.history.entries().iter().rev() {
        let message = &entry.message;
        if known.is_some_and(|round| message.seq <= round.of) {
            return Newest::Known;
        }
        if let Some(words) = words_of(message) {
            return Newest::Said(message.seq, words);
        }
    }
    Newest::Nothing
}

/// The user's own words in a message, without text that programs added.
fn words_of(message: &Message) -> Option<String> {
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
