//! What a session keeps when its messages leave memory, so that a rename, an undo or an eviction changes no prompt. The
//! part that cannot be derived again is also stored, for a restart.

use bethink_compactor::Breakers;
use bethink_context::FixedTokens;
use bethink_transcript::{Role, Seq};

use crate::last_prompt::{LastPrompt, ProviderWindow, smaller};
use crate::loaded::{LoadedSession, Recovering};

#[derive(Clone, Debug)]
pub(crate) struct RememberedState {
    breakers: Breakers,
    window: Option<ProviderWindow>,
    recovering: Recovering,
    last_prompt: Option<LastPrompt>,
    fixed: FixedTokens,
    reduce_only_when_full: bool,
}

impl RememberedState {
    pub(crate) fn of(loaded: &LoadedSession) -> Self {
        Self {
            breakers: loaded.breakers.clone(),
            window: loaded.window.clone(),
            recovering: loaded.recovering.clone(),
            last_prompt: loaded.last_prompt.clone(),
            fixed: loaded.state.fixed,
            reduce_only_when_full: loaded.reduce_only_when_full,
        }
    }

    /// Returns what is known about a session that has not been in memory since the daemon started.
    pub(crate) fn after_restart(
        breakers: &Breakers,
        window: Option<ProviderWindow>,
        loaded: &LoadedSession,
    ) -> Self {
        let state = &loaded.state;
        let boundary = state.decisions.boundary.as_ref();
        let answers = |after: Seq| {
            let entries = state.history.from(after.next()).iter();
            entries.filter(|entry| entry.message.role == Role::Assistant).count()
        };
        let turns = boundary.map(|boundary| answers(boundary.made_after));
        let turns = turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
        Self {
            breakers: breakers.clone().after_turns(turns),
            window,
            recovering: Recovering::default(),
            last_prompt: LastPrompt::of_history(state),
            fixed: FixedTokens::default(),
            reduce_only_when_full: false,
        }
    }

    /// Restores this state in a session whose messages and decisions were loaded.
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
        loaded.reduce_only_when_full = self.reduce_only_when_full;
    }
}
