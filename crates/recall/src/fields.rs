//! Index terms of a message, by speaker.

use bethink_transcript::{BlockKind, Message, Role, json};

use crate::terms::Analyzer;

/// A message's terms, separated by spaces, as [`analyze`](crate::analyze) returns them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub user: String,
    /// The assistant's text and thinking.
    pub assistant: String,
    /// Tool names and the values of their input. The names of input members are left out, because a tool's member names
    /// never change.
    pub tool_input: String,
    pub tool_result: String,
}

pub fn fields(message: &Message) -> Fields {
    let mut said = Analyzer::default();
    let mut input = Analyzer::default();
    let mut result = Analyzer::default();
    for block in &message.blocks {
        match &block.kind {
            BlockKind::Text | BlockKind::Thinking => said.add(&block.text()),
            BlockKind::ToolUse { name, .. } => {
                input.add(name);
                json::for_each_json_string(block.input(), |text| input.add(text));
            }
            BlockKind::ToolResult { .. } => result.add(&block.text()),
            BlockKind::RedactedThinking
            | BlockKind::Image
            | BlockKind::Document
            | BlockKind::Other(_) => {}
        }
    }
    let said = said.finish();
    let (user, assistant) = match message.role {
        Role::User => (said, String::new()),
        Role::Assistant => (String::new(), said),
    };
    Fields { user, assistant, tool_input: input.finish(), tool_result: result.finish() }
}

#[cfg(test)]
mod tests {
    use bethink_transcript::message::MessageSource;
    use bethink_transcript::{MessageId, MessageMeta, Seq, UnixMicros};
    use bytes::Bytes;

    use super::*;

    fn message(raw: &str) -> Message {
        let meta = MessageMeta {
            seq: Seq(1),
            id: MessageId::new("m").unwrap(),
            created_at: UnixMicros(0),
        };
        Message::parse(meta, Bytes::copy_from_slice(raw.as_bytes()), MessageSource::Client).unwrap()
    }

    #[test]
    fn each_block_goes_to_its_field() {
        let user = fields(&message(
            r#"{"role":"user","content":[{"type":"text","text":"Deploy tomorrow"},
            {"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"exit\nstatus"}]}]}"#,
        ));
        assert_eq!(
            (user.user.as_str(), user.tool_result.as_str()),
            ("deploy tomorrow", "exit status")
        );
        assert_eq!((user.assistant.as_str(), user.tool_input.as_str()), ("", ""));

        let assistant = fields(&message(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"maybe lock"},{"type":"text","text":"look"},
            {"type":"redacted_thinking","data":"secret"},
            {"type":"tool_use","id":"t","name":"Bash","input":{"command":"cat a\\b\ncargo","n":[{"deep":"yes"}]}}]}"#,
        ));
        assert_eq!(assistant.assistant, "mayb lock look");
        assert_eq!(assistant.tool_input, "bash cat cargo yes");
        assert_eq!((assistant.user.as_str(), assistant.tool_result.as_str()), ("", ""));
    }

    #[test]
    fn repeats_are_counted_over_the_blocks_of_a_field() {
        let text = r#"{"type":"text","text":"panic panic"}"#;
        let message = message(&format!(r#"{{"role":"user","content":[{text},{text},{text}]}}"#));
        assert_eq!(fields(&message).user, "panic panic panic");
    }
}
