//! A request to a model: the session's own bytes, and messages appended to them.

use std::sync::Arc;

use bethink_transcript::arrange::trim_end;
use bethink_transcript::prompt::{message_json, messages_json};
use bethink_transcript::{
    Block, BlockKind, CacheMark, PromptBlock, PromptMessage, Role, Seq, StructureFault, ValidPrompt,
};
use bytes::Bytes;

use crate::client_form::ClientForm;

/// A request. Equal requests are sent as equal bytes, so that the provider finds their prefix in its cache.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub model: String,
    /// System prompt as a JSON array of text blocks, including cache breakpoints, or as a JSON string; `[]` for none.
    pub system: Bytes,
    /// JSON array of tool definitions in the format of the Messages API; `[]` for none.
    pub tools: Bytes,
    pub prompt: ValidPrompt,
    /// Blocks of the prompt with a cache breakpoint.
    pub marks: Vec<CacheMark>,
    pub max_tokens: u64,
    /// The form of the client's own requests, if this request should use their prefix in the provider's cache.
    pub form: Arc<ClientForm>,
}

impl ModelRequest {
    /// Returns the `messages` of the Messages API.
    pub fn messages_json(&self) -> Vec<u8> {
        let messages = self.prompt.messages();
        if self.form.messages.is_empty() {
            return messages_json(messages, &self.marks);
        }
        let parts = messages.iter().enumerate().flat_map(|(at, message)| {
            let own = self.form.own(message).map(|own| own.into_iter().cloned().collect());
            own.unwrap_or_else(|| vec![message_json(at, message, &self.marks)])
        });
        let parts: Vec<Bytes> = parts.collect();
        [b"[", &*parts.join(&b","[..]), b"]"].concat()
    }

    /// Returns the approximate size of the request in bytes, for comparisons and limits.
    pub fn weight(&self) -> usize {
        let blocks = self.prompt.messages().iter().flat_map(|m| &m.blocks);
        let messages: usize = blocks.map(|block| block.json.len() + 1).sum();
        self.system.len() + self.tools.len() + messages
    }

    /// Returns the request with more messages appended; a message with the same role as the last message is joined to
    /// it. Existing messages keep their bytes and breakpoints. White space at the end of a final assistant message is
    /// removed, because providers reject it.
    pub fn followed_by(
        &self,
        more: Vec<PromptMessage>,
    ) -> Result<ModelRequest, Vec<StructureFault>> {
        let mut messages = self.prompt.messages().to_vec();
        for message in more.into_iter().filter(|message| !message.blocks.is_empty()) {
            match messages.last_mut() {
                Some(last) if last.role == message.role => last.blocks.extend(message.blocks),
                _ => messages.push(message),
            }
        }
        trim_end(&mut messages);
        Ok(ModelRequest { prompt: ValidPrompt::check(messages)?, ..self.clone() })
    }

    /// Returns the position after the last message, at which further messages are appended.
    pub fn end(&self) -> Seq {
        let last = self.prompt.messages().last().and_then(|message| message.blocks.last());
        last.map_or(Seq::ZERO, |block| block.origin.seq())
    }
}

/// Returns a model's answer as a message of the next request. Blocks keep their bytes, as signed thinking requires;
/// only unpaired surrogates outside thinking are replaced. Blank blocks, tool results and trailing thinking are left
/// out, because providers reject them.
pub fn answered<'a>(content: impl IntoIterator<Item = &'a Block>, after: Seq) -> PromptMessage {
    let blocks = content.into_iter().filter(|b| !matches!(b.kind, BlockKind::ToolResult { .. }));
    let blocks = blocks.map(|block| {
        let whole = block.mended.clone().filter(|_| !block.kind.is_thinking());
        let block = Block { json: whole.unwrap_or_else(|| block.json.clone()), ..block.clone() };
        PromptBlock::answered(&block, after, about_tokens(block.json.len()))
    });
    let mut blocks: Vec<PromptBlock> = blocks.filter(|block| !block.blank).collect();
    while blocks.last().is_some_and(|block| block.kind.is_thinking()) {
        blocks.pop();
    }
    PromptMessage { role: Role::Assistant, blocks }
}

/// Estimates the number of tokens in this many bytes: one per four bytes, the average for prose and code.
pub fn about_tokens(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixtures::{content, request, shown, text};

    /// Checks how an answer with these blocks appears in the next request.
    fn check(blocks: &[&str], expect: &[&str]) {
        let blocks: Vec<String> = blocks.iter().map(|block| (*block).to_owned()).collect();
        let message = answered(&content(Role::Assistant, &blocks), Seq(1));
        let got: Vec<_> = message.blocks.iter().map(|b| String::from_utf8_lossy(&b.json)).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn an_answer_is_repeated_as_it_came() {
        let thought = r#"{"type":"thinking" ,"thinking":"h\u006d","signature":"s"}"#;
        let call = r#"{"type":"tool_use","id":"t","name":"n","input":{"b": 1.0, "a":2}}"#;
        let own = r#"{"type":"server_tool_use", "id":"s1"}"#;
        check(&[thought, own, call], &[thought, own, call]);
    }

    #[test]
    fn what_no_provider_takes_back_is_left_out() {
        let (words, blank) = (r#"{"type":"text","text":"x "}"#, r#"{"type":"text","text":" \n"}"#);
        let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#;
        let result = r#"{"type":"tool_result","tool_use_id":"t","content":"I made it up"}"#;
        check(&[blank, thought, words, result, thought, blank], &[thought, words]);
        check(&[thought], &[]);
        // Half a surrogate pair is replaced, but never in signed thinking.
        let half = r#"{"type":"text","text":"\ud83d!"}"#;
        check(&[half], &[r#"{"type":"text","text":"\ufffd!"}"#]);
        let signed = r#"{"type":"thinking","thinking":"\ud83d","signature":"s"}"#;
        check(&[signed, words], &[signed, words]);
    }

    #[test]
    fn what_follows_joins_what_was_there() {
        let asked = request(&[]);
        let said = |role, words: &str| PromptMessage {
            role,
            blocks: crate::tests::fixtures::said(role, 2, &[text(words)]).blocks,
        };
        let longer = asked.followed_by(vec![
            said(Role::User, "also"),
            said(Role::Assistant, "well"),
            said(Role::Assistant, "so \u{a0}\n"),
        ]);
        insta::assert_snapshot!(shown(&longer.unwrap()), @r#"
        0 user: *"begin", "Summarise.", "also"
        1 assistant: "well", "so"
        "#);
        let blank = asked.followed_by(vec![said(Role::Assistant, " ")]).unwrap();
        assert_eq!(blank.messages_json(), asked.messages_json());
    }
}
