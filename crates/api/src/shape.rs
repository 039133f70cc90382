//! OpenAPI descriptions of JSON that the Rust types store as raw text.
//!
//! All of them allow more fields: the daemon stores fields that it does not know, because providers add new ones.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::{ContextReport, Role};

/// A message in the format of the Anthropic Messages API. bethink stores the object exactly as it was sent, including
/// fields that it does not know.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Message)]
pub struct MessageShape {
    /// An ID that the client chooses, unique in the session. A message that is sent again with the same ID is stored
    /// once.
    pub id: Option<String>,
    pub role: Role,
    pub content: MessageContentShape,
    /// The provider's ID of an assistant message, a string. Messages with the same ID are parts of one reply.
    #[schema(value_type = Value, required = false)]
    pub assistant_message_id: Option<Value>,
    /// The model that wrote an assistant message.
    pub model: Option<String>,
    /// The tokens that the provider reported for an assistant message, such as `input_tokens`.
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Value>,
    /// RFC 3339; the time of the append if absent.
    pub created_at: Option<String>,
    #[serde(flatten)]
    pub more: HashMap<String, Value>,
}

/// Text, or a list of content blocks.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = MessageContent)]
#[serde(untagged)]
pub enum MessageContentShape {
    Text(String),
    Blocks(Vec<ContentBlockShape>),
}

/// A content block of the Messages API, or one of a type that bethink does not know.
#[derive(Debug, Serialize, Deserialize)]
pub struct ContentBlockShape(pub Value);

impl PartialSchema for ContentBlockShape {
    fn schema() -> RefOr<Schema> {
        let any = AnyOfBuilder::new().item(Ref::from_schema_name("KnownBlock"));
        let any = any.item(Ref::from_schema_name("OtherBlock"));
        any.description(Some("A content block. It is stored exactly as it was sent.")).into()
    }
}

impl ToSchema for ContentBlockShape {
    fn name() -> Cow<'static, str> {
        "ContentBlock".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((KnownBlockShape::name().into_owned(), KnownBlockShape::schema()));
        schemas.push((OtherBlockShape::name().into_owned(), OtherBlockShape::schema()));
        KnownBlockShape::schemas(schemas);
    }
}

/// A content block of the Messages API. Its `type` determines its other fields.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = KnownBlock)]
pub struct KnownBlockShape {
    #[serde(rename = "type")]
    pub kind: KnownBlockType,
    /// The text of a `text` block.
    #[schema(value_type = String, required = false)]
    pub text: Option<String>,
    /// The ID of a `tool_use` block.
    #[schema(value_type = String, required = false)]
    pub id: Option<String>,
    /// The tool that a `tool_use` block calls.
    #[schema(value_type = String, required = false)]
    pub name: Option<String>,
    /// The arguments of a `tool_use` block.
    #[schema(value_type = Value, required = false)]
    pub input: Option<Value>,
    /// The `tool_use` block that a `tool_result` block answers.
    #[schema(value_type = String, required = false)]
    pub tool_use_id: Option<String>,
    /// The content of a `tool_result` block: text or a list of content blocks.
    #[schema(value_type = Value, required = false)]
    pub content: Option<Value>,
    #[serde(flatten)]
    pub more: HashMap<String, Value>,
}

/// The type of a content block of the Messages API.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBlockType {
    Text,
    ToolUse,
    ToolResult,
    Image,
    Document,
    Thinking,
    RedactedThinking,
}

/// A content block of any other type.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = OtherBlock)]
pub struct OtherBlockShape {
    /// The type of the block.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(flatten)]
    pub more: HashMap<String, Value>,
}

/// One text block of the system prompt.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = SystemText)]
pub struct SystemTextShape {
    #[serde(rename = "type")]
    pub kind: SystemTextType,
    /// The text of one part of the system prompt.
    pub text: String,
    /// Set if the provider should cache the prompt up to this block.
    #[schema(value_type = Object, required = false)]
    pub cache_control: Option<Value>,
}

/// The type of a text block of the system prompt.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SystemTextType {
    Text,
}

/// The next model call: send `system`, `messages` and `tools` to the model.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Prompt)]
pub struct NextPrompt {
    /// The system prompt, in the order in which the model reads it.
    pub system: Vec<SystemTextShape>,
    /// A valid conversation that fits the window.
    pub messages: Vec<MessageShape>,
    /// The tool definitions of the request, as they were sent.
    pub tools: Vec<Value>,
    pub report: ContextReport,
}
