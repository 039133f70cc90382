//! Messages, their structure, and what makes a prompt valid.
//!
//! This crate defines the shapes of the Anthropic Messages API as bethink stores and shows them, and the structural
//! rules for prompts. It repairs histories that break these rules, in the view only. `bethink-context` decides what a
//! prompt shows of a message, and `bethink-store` stores messages.
//!
//! Reading order: [`ids`] → [`json`] → [`message`] → [`cuts`] → [`prompt`] → [`arrange`] → [`validate`];
//! [`text`], [`typed`], [`tool_kind`], [`todos`] and [`edit_tool`] are independent.

pub mod arrange;
pub mod cuts;
pub mod edit_tool;
pub mod ids;
pub mod json;
pub mod message;
pub mod prompt;
pub mod text;
pub mod todos;
pub mod tool_kind;
pub mod typed;
pub mod validate;

pub use ids::{
    AssistantMessageId, CallId, CollapseId, CompactionId, JobId, MessageId, Seq, SessionId,
    ToolUseId,
};
pub use message::{
    Block, BlockKind, Message, MessageMeta, ParseError, Role, TokenUsage, UnixMicros,
};
pub use prompt::{CacheMark, Origin, PromptBlock, PromptMessage, Variant};
pub use tool_kind::{ToolKind, ToolSelection};
pub use validate::{StructureFault, ValidPrompt};
