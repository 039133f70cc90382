//! The state of a session that prompts are made from, without clock, disk or anything that services keep.

use bethink_api::{LastCompaction, ModelSpec};
use bethink_transcript::{Role, Seq, SessionId, UnixMicros};

use crate::decision::Decisions;
use crate::history::History;
use crate::measure::PromptShape;
use crate::system_tools::FixedTokens;
use crate::thinking::preserves_thinking;
use crate::thresholds::WindowThresholds;
use crate::todos::TodoList;
use crate::usage::Learner;
use crate::view::ViewOptions;

#[derive(Clone, Debug)]
pub struct SessionState {
    pub id: SessionId,
    pub model: ModelSpec,
    pub thresholds: WindowThresholds,
    pub history: History,
    pub decisions: Decisions,
    /// The newest message; zero in an empty session.
    pub last_seq: Seq,
    pub last_compaction: Option<LastCompaction>,
    pub todos: TodoList,
    /// The prompt that was handed out last.
    pub shape: Option<PromptShape>,
    pub last_prompt: Option<UnixMicros>,
    /// Tokens of system and tools at the last prompt.
    pub fixed: FixedTokens,
    /// What the provider's figures say about this session's estimates.
    pub learner: Learner,
}

impl SessionState {
    /// The view options for its model.
    pub fn view_options(&self) -> ViewOptions {
        let model = &self.model;
        ViewOptions {
            preserved_thinking: preserves_thinking(model.preserved_thinking, &model.name),
        }
    }

    /// When the provider last saw this session's prefix, as far as is known.
    pub fn last_activity(&self) -> Option<UnixMicros> {
        let newest_first = self.history.entries().iter().rev();
        let mut answers = newest_first.filter(|e| e.message.role == Role::Assistant);
        self.last_prompt.max(answers.next().map(|e| e.message.created_at))
    }
}
