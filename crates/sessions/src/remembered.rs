//! What a session keeps when its messages leave memory, so that a rename, an undo or an eviction changes no prompt. The
//! part that cannot be found out again is also stored, for a restart.

use bethink_compactor::Breakers;
use bethink_context::measure::PromptShape;
use bethink_context::thresholds::MIN_WINDOW;
use bethink_context::{FixedTokens, History, SessionState, Thresholds, view, window_thresholds};
use bethink_service::Result;
use bethink_transcript::{Role, Seq, UnixMicros};
use serde::{Deserialize, Serialize};

use crate::kept_state::KeptState;
use crate::loaded::{LoadedSession, Recovering};
use crate::service::SessionService;

/// A window that is smaller than the model's is said to be, because the provider refused a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProviderWindow {
    model: String,
    /// The window of the session's model, in tokens.
    window: u64,
    /// What the provider accepts, in tokens.
    accepts: u64,
}

/// The prompt that was handed out last, without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastPrompt {
    /// Its newest message.
    through: Seq,
    around: Option<[u64; 2]>,
    boundary: Option<String>,
    at: Option<UnixMicros>,
}

#[derive(Clone, Debug)]
pub(crate) struct RememberedState {
    breakers: Breakers,
    window: Option<ProviderWindow>,
    recovering: Recovering,
    last_prompt: Option<LastPrompt>,
    fixed: FixedTokens,
}

impl RememberedState {
    pub(crate) fn of(loaded: &LoadedSession) -> Self {
        Self {
            breakers: loaded.breakers.clone(),
            window: loaded.window.clone(),
            recovering: loaded.recovering.clone(),
            last_prompt: loaded.last_prompt.clone(),
            fixed: loaded.state.fixed,
        }
    }

    /// Returns what is known of a session that this daemon has not had in memory.
    pub(crate) fn after_restart(kept: KeptState, loaded: &LoadedSession) -> Self {
        let state = &loaded.state;
        let boundary = state.decisions.boundary.as_ref();
        let answers = |after: Seq| {
            let entries = state.history.from(after.next()).iter();
            entries.filter(|entry| entry.message.role == Role::Assistant).count()
        };
        let turns = boundary.map(|boundary| answers(boundary.made_after));
        let turns = turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
        Self {
            breakers: kept.breakers.after_turns(turns),
            window: kept.window,
            recovering: Recovering::default(),
            last_prompt: LastPrompt::of_history(loaded),
            fixed: FixedTokens::default(),
        }
    }

    /// Gives it to a session whose messages and decisions were loaded.
    pub(crate) fn restore(self, loaded: &mut LoadedSession) {
        let state = &mut loaded.state;
        loaded.window = self.window.filter(|window| window.is_of(state));
        if let Some(window) = &loaded.window {
            state.thresholds = smaller(&state.thresholds, window.accepts);
        }
        (loaded.breakers, loaded.recovering) = (self.breakers, self.recovering);
        state.fixed = self.fixed;
        state.shape = self.last_prompt.as_ref().map(|prompt| prompt.shape(state));
        state.last_prompt = self.last_prompt.as_ref().and_then(|prompt| prompt.at);
        loaded.last_prompt = self.last_prompt;
    }
}

impl ProviderWindow {
    pub(crate) fn new(state: &SessionState, accepts: u64) -> Self {
        Self { model: state.model.name.clone(), window: state.model.context_window, accepts }
    }

    /// Whether the session still has the model whose window is smaller.
    fn is_of(&self, state: &SessionState) -> bool {
        (&self.model, self.window) == (&state.model.name, state.model.context_window)
    }
}

impl LastPrompt {
    pub(crate) fn new(state: &SessionState, shape: &PromptShape, at: UnixMicros) -> Self {
        let boundary = shape.boundary.clone();
        Self { through: state.last_seq, around: shape.around, boundary, at: Some(at) }
    }

    /// Finds out which messages the last prompt had: those before the newest answer. Returns `None` if no prompt with the
    /// result of a tool was handed out.
    fn of_history(loaded: &LoadedSession) -> Option<Self> {
        let state = &loaded.state;
        let shown = state.decisions.shown_through();
        let newest =
            state.history.entries().iter().rposition(|e| e.message.role == Role::Assistant)?;
        let begins = |at: &usize| {
            let before = state.history.entries().get(at.wrapping_sub(1));
            before.is_none_or(|before| before.message.role == Role::User)
        };
        let answer = state.history.entries().get((0..=newest).rev().find(begins)?)?.message.seq;
        let through = Seq(answer.0.saturating_sub(1)).max(shown);
        // A compaction since then is not in that prompt.
        let boundary = state.decisions.boundary.as_ref();
        let boundary = boundary.filter(|boundary| boundary.made_after < answer);
        let boundary = boundary.map(|boundary| boundary.id.clone());
        (shown > Seq::ZERO).then_some(Self { through, around: None, boundary, at: None })
    }

    /// Makes the shape of the prompt again. A prompt is a view of history, so the messages and the decisions suffice.
    fn shape(&self, state: &SessionState) -> PromptShape {
        let boundary = self.boundary.clone();
        if boundary.as_ref() != state.decisions.boundary.as_ref().map(|boundary| &boundary.id) {
            return PromptShape::with_other_boundary(self.around, boundary);
        }
        let mut history = History::default();
        let entries = state.history.entries().iter();
        let entries = entries.take_while(|entry| entry.message.seq <= self.through);
        entries.cloned().for_each(|entry| history.push(entry));
        let shown = view(&history, &state.decisions, state.view_options());
        PromptShape::new(&shown.messages, self.around, boundary)
    }
}

/// Returns the thresholds of a window in which the provider accepts no more than `accepts` tokens.
pub(crate) fn smaller(known: &Thresholds, accepts: u64) -> Thresholds {
    let output = known.window.saturating_sub(known.effective);
    let window = accepts.max(MIN_WINDOW);
    let thresholds = window_thresholds(window, output, 0.0).ok();
    thresholds.filter(|_| window < known.window).unwrap_or(*known)
}

impl SessionService {
    /// Stores breakers and window if they changed, for a restart.
    pub(crate) async fn keep_remembered(&self, loaded: &mut LoadedSession) -> Result<()> {
        let mut kept = KeptState::parse(&loaded.session.state);
        let breakers = loaded.breakers.clone().after_turns(None);
        if kept.breakers == breakers && kept.window == loaded.window {
            return Ok(());
        }
        (kept.breakers, kept.window) = (breakers, loaded.window.clone());
        self.keep_state(loaded, &kept).await
    }
}
