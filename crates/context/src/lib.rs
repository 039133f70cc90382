//! The context pipeline: how a history becomes a prompt that fits the context window.
//!
//! At its core is `view(history, decisions, options)`, which is pure: the same inputs give the same bytes. Stages (budget,
//! snip, microcompact, collapse) make [`Decision`]s, which are frozen once a prompt that uses them has been handed out. Nothing
//! here uses a clock, a disk or a network: times and settings are arguments, decisions are return values. `bethink-compactor`
//! writes summaries, `bethink-store` stores sessions, and the services perform the side effects.

pub mod assemble;
pub mod budget;
pub mod cache;
pub mod collapse;
pub mod collapse_stage;
pub mod decision;
pub mod history;
pub mod measure;
pub mod microcompact;
pub mod placeholder;
mod report;
pub mod session;
pub mod snip;
mod stage;
pub mod system_tools;
pub mod thinking;
pub mod thresholds;
pub mod turn;
pub mod usage;
pub mod view;

pub use assemble::{PromptBody, SystemBlock, UnknownPart, assemble, order_system, system_json};
pub use bethink_transcript::todos;
pub use bethink_transcript::todos::TodoList;
pub use collapse::in_view;
pub use collapse_stage::{CollapsePlan, CollapsePolicy, Fill, StagedSpan, drain_collapses};
pub use decision::{
    Attachment, Boundary, Collapsed, Compacted, Decision, Decisions, INSTRUCTIONS, Stripped,
};
pub use history::{History, HistoryEntry, VisibleCall};
pub use measure::{Measure, PromptShape, measure};
pub use placeholder::Hints;
pub use report::empty_report;
pub use session::SessionState;
pub use system_tools::{FixedTokens, ProjectTexts, SystemAndTools};
pub use thresholds::{Thresholds, WindowTooSmall, fill_level, window_thresholds};
pub use turn::{NoPrompt, StageLimits, Turn, TurnInputs, compacts_at, reductions, turn};
pub use usage::Learner;
pub use view::{View, ViewOptions, view};
