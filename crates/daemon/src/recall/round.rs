//! What is found for the user's newest words, beside the requests that the words came with.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bethink_facts::{Facts, SaidKind};
use bethink_transcript::{BlockKind, Message, Role, Seq, SessionId};
use tokio::sync::watch;

use super::Key;
use super::attach::{Asked, recent_tools, surfaced};
use super::choose::{Found, Wanted};
use crate::Daemon;
use crate::hot::{HotSession, Slot};

/// How long a prompt waits for the words of a question to be looked up, which takes milliseconds unless the
/// directory is being read for the first time.
const PATIENCE: Duration = Duration::from_millis(100);
/// Found more than are told, because some may turn out to be known.
const SPARE: usize = 20;

/// The round that a session is in, if one began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recalling(Arc<Mutex<Option<Arc<Round>>>>);

impl Recalling {
    fn current(&self) -> MutexGuard<'_, Option<Arc<Round>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All prompts that follow one thing that the user said.
#[derive(Debug)]
pub(super) struct Round {
    /// The message that said it.
    pub(super) of: Seq,
    query: String,
    found: Mutex<FoundSoFar>,
    looked: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct FoundSoFar {
    by_words: Option<Vec<Found>>,
    by_model: Option<Vec<Found>>,
}

impl Round {
    fn new(of: Seq, query: String) -> Self {
        Self { of, query, found: Mutex::default(), looked: watch::Sender::new(false) }
    }

    fn found(&self) -> MutexGuard<'_, FoundSoFar> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The words have been looked up, or it takes too long.
    pub(super) async fn looked_up(&self) {
        let mut looked = self.looked.subscribe();
        drop(tokio::time::timeout(PATIENCE, looked.wait_for(|looked| *looked)).await);
    }

    /// What is ready, once: a model's choice rather than what it chose from.
    pub(super) fn take(&self) -> Vec<Found> {
        let mut found = self.found();
        let by_words = found.by_words.take();
        found.by_model.take().or(by_words).unwrap_or_default()
    }
}

impl Daemon {
    /// Begins to look as soon as the user has spoken, ahead of the prompt.
    pub(crate) fn recall_ahead(&self, slot: &Slot, hot: &HotSession) {
        let last = hot.history.entries().last();
        if last.is_some_and(|entry| entry.message.role == Role::User) {
            self.round(slot, hot, &Asked::default());
        }
    }

    /// The round that the session is in; begins where it did not yet.
    pub(super) fn round(&self, slot: &Slot, hot: &HotSession, asked: &Asked) -> Option<Arc<Round>> {
        if self.settings().memory.recall == "off" {
            return None;
        }
        let known = slot.recall.current().clone();
        let (of, words) = match newest_words(hot, known.as_deref()) {
            Newest::Known => {
                let known = known.clone()?;
                let other = asked.query.as_ref().filter(|query| **query != known.query);
                match other {
                    Some(query) => (known.of, query.clone()),
                    None => return Some(known),
                }
            }
            Newest::Said(of, words) => (of, asked.query.clone().unwrap_or(words)),
            Newest::Nothing => return None,
        };
        let round = Arc::new(Round::new(of, words));
        *slot.recall.current() = Some(Arc::clone(&round));
        let told = surfaced(&hot.decisions);
        if known.is_none() && told.iter().any(|(_, after)| *after >= of) {
            // Before the daemon was started anew.
            round.looked.send_replace(true);
            return Some(round);
        }
        let tools = asked.recent_tools.clone().unwrap_or_else(|| recent_tools(hot));
        self.look_beside(&round, hot, tools, told.into_keys().collect());
        Some(round)
    }

    fn look_beside(
        &self,
        round: &Arc<Round>,
        hot: &HotSession,
        recent_tools: Vec<String>,
        exclude: HashSet<Key>,
    ) {
        let (daemon, round) = (self.clone(), Arc::clone(round));
        let (dir, own) = (hot.session.project_dir.clone(), hot.model.name.clone());
        let (session, query) = (hot.session.id, round.query.clone());
        let wanted = Wanted { query, recent_tools, exclude, limit: SPARE };
        self.spawn(async move {
            let stop = daemon.stopping();
            tokio::select! {
                () = stop.cancelled() => {}
                () = daemon.fill(&round, session, &dir, &own, wanted) => {}
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
        mut wanted: Wanted,
    ) {
        let Ok(project) = self.project(dir).await else { return };
        let library = &project.library;
        if let Err(refusal) = library.follow(&project, self).await {
            return tracing::warn!(%session, reason = %refusal.detail, "nothing recalled");
        }
        if library.len() == 0 {
            return;
        }
        let found = library.choose(wanted.clone()).await.unwrap_or_default();
        round.found().by_words = Some(found);
        round.looked.send_replace(true);
        wanted.limit = super::MOST;
        if let Some(chosen) = self.choose_by_model(library, Some(session), own, &wanted).await {
            round.found().by_model = Some(chosen);
        }
    }
}

enum Newest {
    /// Those that the round is about.
    Known,
    Said(Seq, String),
    Nothing,
}

/// The newest message in which the user says something, with the words.
fn newest_words(hot: &HotSession, known: Option<&Round>) -> Newest {
    for entry in hot.history.entries().iter().rev() {
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

/// What the user says in a message, without what programs put there.
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
