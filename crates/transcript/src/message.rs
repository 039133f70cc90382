//! One stored message: its original bytes, and beside them what bethink needs to know of it.

mod parse;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ids::{AssistantMessageId, MessageId, Seq, ToolUseId};
use crate::json;
use parse::{Head, blocks_of, explain, id_of, role_of, text_of, usage_of};

/// Most content blocks one message may carry. A message of the Messages API rarely has a hundred;
/// the limit keeps a hostile one from costing more than its bytes.
pub const MAX_BLOCKS: usize = 20_000;

/// Microseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnixMicros(pub i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Tokens that the provider reported for the call which produced an assistant message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
}

impl Usage {
    /// Size of the prompt, however much of it came from a cache.
    pub fn prompt(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_creation_input_tokens)
            .saturating_add(self.cache_read_input_tokens)
    }

    /// Size of the whole conversation after the call: what went in and what came out.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output_tokens)
    }
}

/// What a block is, as far as structure cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    ToolUse {
        id: ToolUseId,
        name: Arc<str>,
    },
    ToolResult {
        tool_use_id: ToolUseId,
        is_error: bool,
    },
    Thinking,
    RedactedThinking,
    Image,
    Document,
    /// Any other block, by its `type`; kept verbatim.
    Other(Arc<str>),
}

impl BlockKind {
    pub fn is_thinking(&self) -> bool {
        matches!(self, BlockKind::Thinking | BlockKind::RedactedThinking)
    }
}

/// One content block: its bytes exactly as they arrived, and its kind.
///
/// A message whose content is a bare string has one text block around that string's literal.
#[derive(Clone, Debug)]
pub struct Block {
    pub json: Bytes,
    pub kind: BlockKind,
    /// Images and documents in it, those nested in a tool result included.
    pub media: u16,
    /// The client marked it as a cache breakpoint; the prompt places its own.
    pub has_cache_control: bool,
    /// Its bytes as a provider accepts them, where half a surrogate pair stands in them.
    pub mended: Option<Bytes>,
}

impl Block {
    /// A block of a prompt, to read its text.
    pub fn shown(json: Bytes, kind: BlockKind) -> Self {
        Self { json, kind, media: 0, has_cache_control: false, mended: None }
    }

    pub fn as_str(&self) -> &str {
        // The bytes are a slice of a `str`, cut at the ends of a JSON value.
        std::str::from_utf8(&self.json).unwrap_or_default()
    }

    /// Readable text of the block: text, thinking, or the text parts of a tool result.
    pub fn text(&self) -> Cow<'_, str> {
        let Ok(parts) = serde_json::from_str::<Parts<'_>>(self.as_str()) else {
            return Cow::Borrowed("");
        };
        match (&self.kind, parts) {
            (BlockKind::Text, Parts { text: Some(raw), .. })
            | (BlockKind::Thinking, Parts { thinking: Some(raw), .. }) => string_of(raw),
            (BlockKind::ToolResult { .. }, Parts { content: Some(raw), .. }) => nested_text(raw),
            _ => Cow::Borrowed(""),
        }
    }

    /// The `input` of a tool call, as JSON.
    pub fn input(&self) -> &str {
        serde_json::from_str::<Parts<'_>>(self.as_str())
            .ok()
            .and_then(|parts| parts.input)
            .map_or("{}", RawValue::get)
    }
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

fn string_of(raw: &RawValue) -> Cow<'_, str> {
    if raw.get().starts_with('"') { json::decode_string(raw.get()) } else { Cow::Borrowed("") }
}

fn nested_text(raw: &RawValue) -> Cow<'_, str> {
    if raw.get().starts_with('"') {
        return json::decode_string(raw.get());
    }
    let Ok(parts) = serde_json::from_str::<Vec<Parts<'_>>>(raw.get()) else {
        return Cow::Borrowed("");
    };
    let texts: Vec<_> = parts.iter().filter_map(|p| p.text).map(string_of).collect();
    Cow::Owned(texts.join("\n"))
}

/// White space as providers and other languages see it: Unicode's, and the ASCII separators that
/// Rust does not count.
pub fn is_white(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// What is known of a message beside its body.
#[derive(Clone, Debug)]
pub struct MessageMeta {
    pub seq: Seq,
    pub id: MessageId,
    pub created_at: UnixMicros,
}

/// One message of a history. Immutable: a prompt that shows it differently says so elsewhere.
#[derive(Clone, Debug)]
pub struct Message {
    pub seq: Seq,
    pub id: MessageId,
    pub created_at: UnixMicros,
    pub role: Role,
    pub assistant_message_id: Option<AssistantMessageId>,
    pub model: Option<Box<str>>,
    pub usage: Option<Usage>,
    pub blocks: Box<[Block]>,
    raw: Bytes,
}

/// A message that is not one. `field` is a path below the message, such as `content[2].tool_use_id`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ParseError {
    pub field: String,
    pub problem: String,
}

impl ParseError {
    fn at(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

impl Message {
    /// Reads a message object: `{role, content, assistant_message_id?, model?, usage?, …}`.
    ///
    /// Unknown members and blocks are kept. The provider's own `id` of an assistant message counts
    /// as its `assistant_message_id` where `recorded` says that the object comes from the provider.
    pub fn parse(meta: MessageMeta, raw: Bytes, source: Source) -> Result<Self, ParseError> {
        let text = std::str::from_utf8(&raw).map_err(|e| {
            ParseError::at("", format!("not UTF-8 from byte {} on", e.valid_up_to()))
        })?;
        let head: Head<'_> = serde_json::from_str(text).map_err(|e| explain(text, &e))?;
        let role = role_of(head.role)?;
        let blocks = match head.content {
            None => {
                return Err(ParseError::at("content", "missing: a string or an array of blocks"));
            }
            Some(content) => blocks_of(&raw, content)?,
        };
        let own_id = match (source, role) {
            (Source::Provider, Role::Assistant) => head.id,
            _ => None,
        };
        let assistant_message_id = match (role, head.assistant_message_id.or(own_id)) {
            (Role::Assistant, Some(raw)) => {
                Some(id_of("assistant_message_id", raw, AssistantMessageId::new)?)
            }
            _ => None,
        };
        let model = head.model.map(|raw| text_of("model", raw)).transpose()?;
        let usage = usage_of(head.usage)?;
        let MessageMeta { seq, id, created_at } = meta;
        Ok(Self {
            seq,
            id,
            created_at,
            role,
            assistant_message_id,
            model: model.map(|m| m.into_owned().into_boxed_str()),
            usage,
            blocks: blocks.into_boxed_slice(),
            raw,
        })
    }

    /// The message object exactly as it arrived.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// Bytes that this message holds in memory, near enough to budget by.
    pub fn weight(&self) -> usize {
        self.raw.len() + self.blocks.len() * size_of::<Block>() + size_of::<Self>()
    }

    pub fn has_text(&self) -> bool {
        self.blocks.iter().any(|b| b.kind == BlockKind::Text)
    }

    pub fn tool_uses(&self) -> impl Iterator<Item = (&ToolUseId, &str, &Block)> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolUse { id, name } => Some((id, &**name, block)),
            _ => None,
        })
    }

    pub fn tool_results(&self) -> impl Iterator<Item = (&ToolUseId, bool, &Block)> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolResult { tool_use_id, is_error } => {
                Some((tool_use_id, *is_error, block))
            }
            _ => None,
        })
    }
}

/// Who wrote the message object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A client of the daemon: `id` is the message's own id.
    Client,
    /// A provider's answer as a recorder kept it: `id` is the assistant message's id.
    Provider,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> MessageMeta {
        MessageMeta { seq: Seq(1), id: MessageId::new("m1").unwrap(), created_at: UnixMicros(0) }
    }

    fn parse(text: &str) -> Result<Message, ParseError> {
        Message::parse(meta(), Bytes::copy_from_slice(text.as_bytes()), Source::Client)
    }

    #[test]
    fn unknown_blocks_and_members_keep_their_bytes() {
        let text = r#"{"role":"assistant" ,"x": 1e3,"content":[ {"type":"advisor", "z":[1, 2]},
            {"text":"hi\u0021","type":"text","citations": null}]}"#;
        let message = parse(text).unwrap();
        assert_eq!(message.raw(), text.as_bytes());
        assert_eq!(message.blocks[0].json, r#"{"type":"advisor", "z":[1, 2]}"#);
        assert_eq!(message.blocks[0].kind, BlockKind::Other("advisor".into()));
        assert_eq!(message.blocks[1].text(), "hi!");
    }

    #[test]
    fn a_string_is_one_text_block() {
        let message = parse(r#"{"role":"user","content":"a \"b\""}"#).unwrap();
        assert_eq!(message.blocks[0].json, r#"{"type":"text","text":"a \"b\""}"#);
        assert_eq!(message.blocks[0].text(), r#"a "b""#);
    }

    #[test]
    fn results_show_their_text_and_media() {
        let message = parse(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,
            "content":[{"type":"text","text":"one"},{"type":"image","source":{}},{"type":"text","text":"two"}]}]}"#,
        )
        .unwrap();
        let (id, is_error, block) = message.tool_results().next().unwrap();
        assert_eq!((id.as_str(), is_error, block.media), ("t1", true, 1));
        assert_eq!(block.text(), "one\ntwo");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, field) in [
            ("", ""),
            ("null", ""),
            ("[]", ""),
            (r#"{"role":"user"}"#, "content"),
            (r#"{"role":"user","content":null}"#, "content"),
            (r#"{"role":"user","content":7}"#, "content"),
            (r#"{"role":"robot","content":"x"}"#, "role"),
            (r#"{"content":"x"}"#, "role"),
            (r#"{"role":"user","content":["x"]}"#, "content[0]"),
            (r#"{"role":"user","content":[{"text":"x"}]}"#, "content[0].type"),
            (r#"{"role":"user","content":[{"type":"text"}]}"#, "content[0].text"),
            (r#"{"role":"user","content":[{"type":"text","text":1}]}"#, "content[0].text"),
            (r#"{"role":"user","content":[{"type":"tool_result"}]}"#, "content[0].tool_use_id"),
            (r#"{"role":"assistant","content":[{"type":"tool_use","id":""}]}"#, "content[0].id"),
            (r#"{"role":"user","content":"x","usage":{"input_tokens":-1}}"#, "usage.input_tokens"),
            (
                r#"{"role":"user","content":"x","usage":{"output_tokens":1e99}}"#,
                "usage.output_tokens",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().field, field, "{text}");
        }
    }

    #[test]
    fn a_providers_id_joins_the_chunks() {
        let text = r#"{"role":"assistant","id":"msg_1","content":"x"}"#;
        let bytes = Bytes::from_static(text.as_bytes());
        let recorded = Message::parse(meta(), bytes.clone(), Source::Provider).unwrap();
        assert_eq!(recorded.assistant_message_id.unwrap().as_str(), "msg_1");
        assert!(
            Message::parse(meta(), bytes, Source::Client).unwrap().assistant_message_id.is_none()
        );
    }
}
