//! The state of a session from which prompts are made, without clock, disk or services.

use bethink_api::{LastCompaction, ModelSpec};
use bethink_transcript::{Role, Seq, SessionId, UnixMicros};

use crate::decision::Decisions;
use crate::history::History;
use crate::measure::PromptShape;
use crate::system_tools::FixedTokens;
use crate::thinking::preserves_thinking;
use crate::thresholds::Thresholds;
use crate::todos::TodoList;
use crate::usage::Learner;
use crate::view::ViewOptions;

#[derive(Clone, Debug)]
pub struct SessionState {
    pub id: SessionId,
    pub model: ModelSpec,
    pub thresholds: Thresholds,
    pub history: History,
    pub decisions: Decisions,
    /// The number of the newest message; zero in an empty session.
    pub last_seq: Seq,
    pub last_compaction: Option<LastCompaction>,
    pub todos: TodoList,
    /// The prompt that was handed out last.
    pub shape: Option<PromptShape>,
    pub last_prompt: Option<UnixMicros>,
    /// Number of tokens in the system prompt and tools of the last prompt.
    pub fixed: FixedTokens,
    /// Learns from the provider's figures how to correct this session's estimates.
    pub learner: Learner,
}

impl SessionState {
    /// Returns the view options for its model.
    pub fn view_options(&self) -> ViewOptions {
        let model = &self.model;
        ViewOptions {
            preserved_thinking: preserves_thinking(model.preserved_thinking, &model.name),
        }
    }

    /// Returns the time at which the provider last saw this session's prefix, if known.
    pub fn last_activity(&self) -> Option<UnixMicros> {
        let newest_first = self.history.entries().iter().rev();
        let mut answers = newest_first.filter(|e| e.message.role == Role::Assistant);
        self.last_prompt.max(answers.next().map(|e| e.message.created_at))
    }
}
