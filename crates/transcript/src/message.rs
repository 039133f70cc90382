//! One stored message: its original bytes, and what bethink needs to know about them.

mod block;
mod parse;

pub use bethink_api::Role;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::ids::{AssistantMessageId, MessageId, Seq, ToolUseId};

pub use block::{Block, BlockKind, ParseError, TextPlace};
pub use parse::MessageObject;

/// The most content blocks in one message. Real messages rarely have a hundred; the limit prevents a hostile message
/// from taking up much more memory than its own size.
pub const MAX_BLOCKS: usize = 20_000;

/// Microseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnixMicros(pub i64);

/// Tokens that the provider reported for the call that produced an assistant message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_creation_input_tokens: u64,
    pub cache_read_input_tokens: u64,
}

impl TokenUsage {
    /// Number of tokens in the prompt, including those that came from a cache.
    pub fn prompt(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_creation_input_tokens)
            .saturating_add(self.cache_read_input_tokens)
    }

    /// Number of tokens in the whole conversation after the call: input and output.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output_tokens)
    }
}

/// White space as providers and other languages define it: Unicode's, and the ASCII separators that Rust
/// does not count.
pub fn is_white(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// What is known about a message besides its body.
#[derive(Clone, Debug)]
pub struct MessageMeta {
    pub seq: Seq,
    pub id: MessageId,
    pub created_at: UnixMicros,
}

/// One message of a history. A message never changes: if a prompt shows it differently, a decision records that.
#[derive(Clone, Debug)]
pub struct Message {
    pub seq: Seq,
    pub id: MessageId,
    pub created_at: UnixMicros,
    pub role: Role,
    pub assistant_message_id: Option<AssistantMessageId>,
    pub model: Option<Box<str>>,
    pub usage: Option<TokenUsage>,
    /// Whether a program wrote the message in the role `system` or `developer`. `said_as` then contains that role.
    pub is_instruction: bool,
    pub blocks: Box<[Block]>,
    raw: Bytes,
}

impl Message {
    /// Reads a message object: `{role, content, assistant_message_id?, model?, usage?, …}`.
    ///
    /// Unknown members and blocks are kept. If the object comes from the provider, its `id` counts as the
    /// `assistant_message_id`.
    pub fn parse(meta: MessageMeta, raw: Bytes, source: MessageSource) -> Result<Self, ParseError> {
        let message = MessageObject::whole(&raw)?.message(meta, source)?;
        Ok(Self { raw, ..message })
    }

    /// The message object exactly as it arrived.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// Returns the approximate size of this message in memory, in bytes.
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
pub enum MessageSource {
    /// A client of the daemon: `id` is the message's own id.
    Client,
    /// A recorded answer from a provider: `id` is the assistant message's id.
    Provider,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> MessageMeta {
        MessageMeta { seq: Seq(1), id: MessageId::new("m1").unwrap(), created_at: UnixMicros(0) }
    }

    fn parse(text: &str) -> Result<Message, ParseError> {
        Message::parse(meta(), Bytes::copy_from_slice(text.as_bytes()), MessageSource::Client)
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
    fn what_is_no_json_is_told_as_serde_tells_it() {
        for (text, field, problem) in [
            (
                r#"{"role":"user","role":"user","content":""}"#,
                "",
                "not a message object: duplicate field `role`",
            ),
            (r#"{"role":"user","content":"x""#, "", "not a message object: EOF"),
            (r#"{"role":"user","content":"x"}}"#, "", "not a message object: trailing characters"),
            (
                r#"{"role":"user","content":[{"type":"text","text":"","type":"text"}]}"#,
                "content[0]",
                "not a block: duplicate field `type` at line 1 column",
            ),
            (
                r#"{"role":"user","content":[{"type":"text","text":"","\ud800":1}]}"#,
                "content[0]",
                "not a block: ",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.field, field, "{text}");
            assert!(error.problem.starts_with(problem), "{text}: {error}");
        }
    }

    #[test]
    fn texts_and_inputs_are_found_whatever_stands_around_them() {
        for (block, text, input) in [
            (r#"{"type":"text","text":"a\n","x":[{"text":"no"}]}"#, "a\n", "{}"),
            (r#"{ "thinking" : "hm" , "type":"thinking","signature":"s" }"#, "hm", "{}"),
            (r#"{"input": {"a":[1]},"type":"tool_use","id":"t","name":"n"}"#, "", r#"{"a":[1]}"#),
            (r#"{"type":"tool_use","id":"t","name":"n","input":null}"#, "", "{}"),
            (r#"{"type":"tool_result","tool_use_id":"t","content":"ok"}"#, "ok", "{}"),
            (r#"{"type":"tool_result","tool_use_id":"t","content":["ok"]}"#, r#"["ok"]"#, "{}"),
            (r#"{"type":"t\u0065xt","t\u0065xt":"escaped"}"#, "escaped", "{}"),
            (r#"{"type":"advisor","text":"a","input":[]}"#, "", "{}"),
        ] {
            let message = parse(&format!(r#"{{"role":"user","content":[ {block} ]}}"#)).unwrap();
            let [found] = &*message.blocks else { panic!("{block}") };
            assert_eq!((&*found.text(), &found.json), (text, &Bytes::from(block)), "{block}");
            let is_call = matches!(found.kind, BlockKind::ToolUse { .. });
            assert!(!is_call || found.input() == input, "{block}");
            assert_eq!(Block::shown(found.json.clone(), found.kind.clone()).place, found.place);
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_mended_and_the_message_stays() {
        for (content, mended) in [
            (r#""a\ud83d""#, Some(r#"{"type":"text","text":"a\ufffd"}"#)),
            (r#"[{"type":"text","text":"\ud83d\ude00"}]"#, None),
            (r#"[{"type":"text","text":"\udE00"}]"#, Some(r#"{"type":"text","text":"\ufffd"}"#)),
        ] {
            let text = format!(r#"{{"role":"user","content":{content}}}"#);
            let message = parse(&text).unwrap();
            assert_eq!(message.raw(), text.as_bytes());
            assert_eq!(message.blocks[0].mended.as_deref(), mended.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn what_a_provider_would_reject_is_mended() {
        let call = |members: &str| format!(r#"{{"type":"tool_use","id":"t","name":"n"{members}}}"#);
        let result = |content: &str| {
            format!(r#"{{"type":"tool_result","tool_use_id":"t","content":{content}}}"#)
        };
        for (block, mended, text) in [
            (call(r#","input":{"a":1}"#), None, ""),
            (call(""), Some(call(r#","input":{}"#)), ""),
            (call(r#","input":"{\"a\":1}""#), Some(call(r#","input":{"a":1}"#)), ""),
            (
                call(r#","input":"{}{\"b\":2}""#),
                Some(call(r#","input":{"input":"{}{\"b\":2}"}"#)),
                "",
            ),
            (
                call(r#","input":"{\"a\":\"\\ud83d\"}""#),
                Some(call(r#","input":{"a":"\ufffd"}"#)),
                "",
            ),
            (call(r#","input":"ls""#), Some(call(r#","input":{"input":"ls"}"#)), ""),
            (call(r#","input":[1]"#), Some(call(r#","input":{"input":[1]}"#)), ""),
            (result(r#""ok""#), None, "ok"),
            (result(r#"[{"type":"text","text":"ok"}]"#), None, "ok"),
            (result("[]"), None, ""),
            (result("null"), None, ""),
            (result(r#"{"a":1}"#), Some(result(r#""{\"a\":1}""#)), r#"{"a":1}"#),
            (result("5"), Some(result(r#""5""#)), "5"),
            (result(r#"["a",{}]"#), Some(result(r#""[\"a\",{}]""#)), r#"["a",{}]"#),
            (result(r#"[{"a":1}]"#), Some(result(r#""[{\"a\":1}]""#)), r#"[{"a":1}]"#),
            (result("[[]]"), Some(result(r#""[[]]""#)), "[[]]"),
        ] {
            let message = parse(&format!(r#"{{"role":"user","content":[{block}]}}"#)).unwrap();
            let found = &message.blocks[0];
            assert_eq!(found.json, block);
            assert_eq!(found.mended.as_deref(), mended.as_deref().map(str::as_bytes), "{block}");
            assert_eq!(found.text(), text, "{block}");
        }
        let deep = format!("{}1{}", r#"{\"a\":"#.repeat(100), "}".repeat(100));
        let message = parse(&format!(
            r#"{{"role":"user","content":[{}]}}"#,
            call(&format!(r#","input":"{deep}""#))
        ));
        let mended = message.unwrap().blocks[0].mended.clone().unwrap();
        assert!(mended.ends_with(b"\"}}"), "the text stays text");
    }

    #[test]
    fn a_providers_id_joins_the_chunks() {
        let text = r#"{"role":"assistant","id":"msg_1","content":"x"}"#;
        let bytes = Bytes::from_static(text.as_bytes());
        let recorded = Message::parse(meta(), bytes.clone(), MessageSource::Provider).unwrap();
        assert_eq!(recorded.assistant_message_id.unwrap().as_str(), "msg_1");
        assert!(
            Message::parse(meta(), bytes, MessageSource::Client)
                .unwrap()
                .assistant_message_id
                .is_none()
        );
    }
}
