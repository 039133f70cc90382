//! Checks that the Messages API would accept the daemon's prompt: parses its bytes and runs the validator that every
//! prompt passes. The end-to-end tests have a validator of their own.

use bethink_transcript::message::MessageSource;
use bethink_transcript::{
    Message, MessageId, MessageMeta, PromptBlock, PromptMessage, Seq, UnixMicros, ValidPrompt,
};
use bytes::Bytes;
use serde_json::value::RawValue;

/// Returns the faults in a prompt's messages, one line each.
pub(crate) fn faults(messages: &str) -> Vec<String> {
    match read(messages).map(ValidPrompt::check) {
        Ok(Ok(_)) => Vec::new(),
        Ok(Err(faults)) => faults.iter().map(ToString::to_string).collect(),
        Err(problem) => vec![format!("could not read the messages: {problem}")],
    }
}

fn read(messages: &str) -> Result<Vec<PromptMessage>, String> {
    let raw: Vec<&RawValue> = serde_json::from_str(messages).map_err(|error| error.to_string())?;
    raw.into_iter().zip(1..).map(|(raw, seq)| message(raw, Seq(seq))).collect()
}

fn message(raw: &RawValue, seq: Seq) -> Result<PromptMessage, String> {
    let id = MessageId::new("prompt").map_err(|error| error.to_string())?;
    let meta = MessageMeta { seq, id, created_at: UnixMicros(0) };
    let bytes = Bytes::copy_from_slice(raw.get().as_bytes());
    let message = Message::parse(meta, bytes, MessageSource::Client)
        .map_err(|error| format!("message {}: {error}", seq.0 - 1))?;
    let blocks = message.blocks.iter().map(|block| PromptBlock::answered(block, seq, 0));
    Ok(PromptMessage { role: message.role, blocks: blocks.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USE: &str =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#;
    const RESULT: &str = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"y"}]}"#;
    const HELLO: &str = r#"{"role":"user","content":"hello"}"#;

    #[track_caller]
    fn check(messages: &[&str], expect: &[&str]) {
        let found = faults(&format!("[{}]", messages.join(",")));
        assert_eq!(found.is_empty(), expect.is_empty(), "{messages:?}: {found:?}");
        for part in expect {
            assert!(found.iter().any(|fault| fault.contains(part)), "{part}: {found:?}");
        }
    }

    #[test]
    fn a_good_prompt_has_no_faults() {
        check(&[HELLO, USE, RESULT], &[]);
        check(&[HELLO, r#"{"role":"assistant","content":"hi"}"#], &[]);
    }

    #[test]
    fn each_rule_is_seen_when_broken() {
        check(&[], &["no messages"]);
        check(&[HELLO, HELLO], &["the same role as the message before"]);
        check(&[HELLO, USE], &["has no result"]);
        check(&[HELLO, USE, HELLO], &["has no result"]);
        check(&[RESULT], &["has no call"]);
        check(&[HELLO, USE, RESULT, USE, RESULT], &["used before"]);
        check(&[r#"{"role":"user","content":" "}"#], &["empty text"]);
        check(&[r#"{"role":"user","content":[]}"#], &["is empty"]);
        check(&[r#"{"role":"user","content":[{"type":"text","text":"\n"}]}"#], &["empty text"]);
        check(&[HELLO, r#"{"role":"assistant","content":"hi "}"#], &["white space"]);
        check(&[r#"{"role":"assistant","content":"hi"}"#], &["is not a user message"]);
        check(
            &[r#"{"role":"system","content":"x"}"#],
            &["could not read the messages: message 0: role"],
        );
        let late = r#"{"role":"user","content":[{"type":"text","text":"y"},{"type":"tool_result","tool_use_id":"t","content":"x"}]}"#;
        check(&[HELLO, USE, late], &["comes after other blocks"]);
        check(&["3"], &["could not read the messages: message 0: : a message must be an object"]);
    }
}
