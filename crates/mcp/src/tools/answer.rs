//! What every tool answers with, and what it tells of itself.

use bethink_service::ServiceError;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;

/// What came of a call: for programs, and for a model.
#[derive(Debug)]
pub(crate) struct ToolAnswer<T> {
    pub(crate) value: T,
    pub(crate) text: String,
    /// The tool ran, and what it was asked for could not be done.
    pub(crate) is_error: bool,
}

impl<T> ToolAnswer<T> {
    pub(crate) fn new(value: T, text: String) -> Self {
        Self { value, text, is_error: false }
    }
}

pub(crate) type Answered<T> = Result<ToolAnswer<T>, ServiceError>;

/// What a client may think of a tool before it calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    Adds,
    /// Takes the place of something; what stood there is kept as a version, or is a list that is always sent whole.
    Replaces,
}

/// A tool that takes `I` and answers with `O`.
pub(super) fn tool<I: JsonSchema + 'static, O: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    effect: Effect,
    description: &'static str,
) -> Tool {
    Tool::new(name, description, JsonObject::new())
        .with_input_schema::<I>()
        .with_output_schema::<O>()
        .with_annotations(effect.annotations(title))
}

impl Effect {
    fn annotations(self, title: &str) -> ToolAnnotations {
        let hints = ToolAnnotations::with_title(title).open_world(false);
        match self {
            Self::Reads => hints.read_only(true).destructive(false).idempotent(true),
            Self::Adds => hints.read_only(false).destructive(false).idempotent(false),
            Self::Replaces => hints.read_only(false).destructive(true).idempotent(false),
        }
    }
}
