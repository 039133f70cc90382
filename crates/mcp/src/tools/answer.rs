//! A tool's description and answer.

use std::sync::Arc;

use bethink_service::ServiceError;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::{Map, Value};

/// The result of a call, as data for programs and as text for a model.
#[derive(Debug)]
pub(crate) struct ToolAnswer<T> {
    pub(crate) value: T,
    pub(crate) text: String,
    /// Whether the tool ran but did not achieve its purpose.
    pub(crate) is_error: bool,
}

impl<T> ToolAnswer<T> {
    pub(crate) fn new(value: T, text: String) -> Self {
        Self { value, text, is_error: false }
    }
}

pub(crate) type Answered<T> = Result<ToolAnswer<T>, ServiceError>;

/// A tool's effect, which clients learn before they call the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Reads,
    Adds,
    /// Replaces something: a file whose old content is kept as a version, or a list that is always sent as a whole.
    Replaces,
}

/// Describes a tool that takes `I` and answers with `O`.
pub(super) fn tool<I: JsonSchema + 'static, O: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    effect: Effect,
    description: &'static str,
) -> Tool {
    let mut tool = Tool::new(name, description, JsonObject::new())
        .with_input_schema::<I>()
        .with_output_schema::<O>()
        .with_annotations(effect.annotations(title));
    for schema in [Some(&mut tool.input_schema), tool.output_schema.as_mut()] {
        schema.into_iter().for_each(|schema| simplify(Arc::make_mut(schema)));
    }
    tool
}

/// Removes `null` from the description of optional fields, so that no model sends it. Also removes Rust's integer formats, such
/// as `uint64`, because the validators of several clients print a warning for each of them.
fn simplify(schema: &mut JsonObject) {
    if let Some(Value::Array(types)) = schema.get_mut("type")
        && let Some(kind) = types.iter().find(|kind| *kind != "null").cloned()
    {
        schema.insert("type".to_owned(), kind);
    }
    let is_integer = schema.get("type").is_some_and(|kind| kind == "integer");
    schema.retain(|key, value| match key.as_str() {
        "default" => !value.is_null(),
        "format" => !is_integer,
        _ => true,
    });
    for key in ["properties", "$defs"] {
        let below = schema.get_mut(key).and_then(Value::as_object_mut);
        let below = below.into_iter().flat_map(Map::values_mut);
        below.filter_map(Value::as_object_mut).for_each(simplify);
    }
    schema.get_mut("items").and_then(Value::as_object_mut).into_iter().for_each(simplify);
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
