//! The prompt that was handed out last, and the window that its provider accepts.

use bethink_context::measure::PromptShape;
use bethink_context::thresholds::MIN_WINDOW;
use bethink_context::{History, SessionState, Thresholds, view, window_thresholds};
use bethink_transcript::{Role, Seq, UnixMicros};
use serde::{Deserialize, Serialize};

/// A context window that the provider reported when it refused a prompt. It is smaller than the window in the session's
/// model settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProviderWindow {
    model: String,
    /// The window of the session's model, in tokens.
    window: u64,
    /// Number of tokens that the provider accepts.
    pub(crate) accepts: u64,
}

/// The prompt that was handed out last, without its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastPrompt {
    /// The newest message in the prompt.
    through: Seq,
    around: Option<[u64; 2]>,
    boundary: Option<String>,
    pub(crate) at: Option<UnixMicros>,
}

impl ProviderWindow {
    pub(crate) fn new(state: &SessionState, accepts: u64) -> Self {
        Self { model: state.model.name.clone(), window: state.model.context_window, accepts }
    }

    /// Whether the session still uses the model with this smaller window.
    pub(crate) fn is_of(&self, state: &SessionState) -> bool {
        (&self.model, self.window) == (&state.model.name, state.model.context_window)
    }
}

impl LastPrompt {
    pub(crate) fn new(state: &SessionState, shape: &PromptShape, at: UnixMicros) -> Self {
        let boundary = shape.boundary.clone();
        Self { through: state.last_seq, around: shape.around, boundary, at: Some(at) }
    }

    /// Determines which messages the last prompt contained: those before the newest answer. Returns `None` if no prompt
    /// with a tool result was handed out.
    pub(crate) fn of_history(state: &SessionState) -> Option<Self> {
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

    /// Computes the shape of the prompt again. A prompt is a view of history, so the messages and the decisions
    /// suffice.
    pub(crate) fn shape(&self, state: &SessionState) -> PromptShape {
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
