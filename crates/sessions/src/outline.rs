//! The outline of a session: facts about each message, without its text.

use bethink_api as api;
use bethink_service::{Result, blocking, next_batch, parse_stored, rfc3339};
use bethink_transcript::typed;
use bethink_transcript::{
    AssistantMessageId, Block, BlockKind, Message, Role, Seq, SessionId, ToolKind, ToolUseId,
};
use serde::Deserialize;

use crate::service::SessionService;

/// Minimum number of messages in a response, unless the history ends first. Clients request the rest separately, so
/// that no response takes long.
const PAGE: usize = 5_000;

impl SessionService {
    /// Outlines the messages after `after`: [`PAGE`] of them, and the rest of the last batch.
    pub async fn outline(&self, id: SessionId, after: Seq) -> Result<api::Outline> {
        let session = self.cx.store().session(id).await?;
        let (mut messages, mut through) = (Vec::new(), after);
        let mut answer = None;
        while through < session.last_seq && messages.len() < PAGE {
            let batch = self.cx.store().messages(id, next_batch(through)).await?;
            let Some(last) = batch.last() else { break };
            through = last.seq;
            let parsed =
                blocking(move || batch.into_iter().map(parse_stored).collect::<Result<Vec<_>>>());
            for message in parsed.await? {
                messages.push(outlined(&message));
                count_once(&mut messages, &message, &mut answer);
            }
        }
        Ok(api::Outline { messages, more: through < session.last_seq })
    }
}

/// Keeps the usage of an answer only in its last message. Clients that store an answer as several messages repeat the
/// usage in each, and only the last message's usage covers all of the output.
fn count_once(
    messages: &mut [api::OutlineMessage],
    message: &Message,
    answer: &mut Option<(AssistantMessageId, usize)>,
) {
    let Some(id) = &message.assistant_message_id else { return };
    let newest = messages.len() - 1;
    let earlier = answer.as_ref().filter(|(known, _)| known == id).map(|(_, at)| *at);
    if let Some(earlier) = earlier.and_then(|at| messages.get_mut(at)) {
        earlier.usage = None;
    }
    *answer = Some((id.clone(), newest));
}

fn outlined(message: &Message) -> api::OutlineMessage {
    let texts = || message.blocks.iter().filter(|block| block.kind == BlockKind::Text);
    let result = |(id, failed, _): (&ToolUseId, bool, &Block)| api::OutlineResult {
        id: id.to_string(),
        failed,
    };
    let usage = message.usage.map(|usage| api::OutlineUsage {
        prompt: usage.prompt(),
        cached: usage.cache_read_input_tokens,
        output: usage.output_tokens,
    });
    api::OutlineMessage {
        seq: message.seq.0,
        kind: kind(message, texts()),
        created_at: rfc3339(message.created_at),
        says: texts().any(|block| !block.text().trim().is_empty()),
        calls: message.tool_uses().map(|(id, tool, block)| call(id, tool, block)).collect(),
        results: message.tool_results().map(result).collect(),
        usage,
    }
}

fn kind<'a>(message: &Message, mut texts: impl Iterator<Item = &'a Block>) -> api::OutlineKind {
    if message.role == Role::Assistant {
        return api::OutlineKind::Assistant;
    }
    if !message.is_instruction && texts.any(|block| is_typed(&block.text())) {
        return api::OutlineKind::Typed;
    }
    match message.tool_results().next() {
        Some(_) => api::OutlineKind::Results,
        None if message.has_text() || message.is_instruction => api::OutlineKind::Inserted,
        // A person sent only an image.
        None => api::OutlineKind::Typed,
    }
}

/// Whether a person typed a part of this text. The arguments of a slash command are typed.
fn is_typed(text: &str) -> bool {
    typed::command_arguments(text).is_some()
        || typed::title(text).is_some()
        || typed::is_markup(text)
}

fn call(id: &ToolUseId, tool: &str, block: &Block) -> api::OutlineCall {
    #[derive(Default, Deserialize)]
    struct Arguments {
        file_path: Option<String>,
        path: Option<String>,
        notebook_path: Option<String>,
    }
    let Arguments { file_path, path, notebook_path } =
        serde_json::from_str(block.input()).unwrap_or_default();
    let edits = ToolKind::of(tool).is_some_and(ToolKind::changes_files);
    api::OutlineCall {
        id: id.to_string(),
        tool: tool.to_owned(),
        path: file_path.or(path).or(notebook_path),
        edits,
    }
}

#[cfg(test)]
mod tests {
    use bethink_transcript::message::MessageSource;
    use bethink_transcript::{MessageId, MessageMeta, UnixMicros};
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn read(message: &serde_json::Value) -> api::OutlineMessage {
        let id = MessageId::new("m1").unwrap();
        let meta = MessageMeta { seq: Seq(7), id, created_at: UnixMicros(0) };
        let raw = Bytes::from(message.to_string());
        outlined(&Message::parse(meta, raw, MessageSource::Client).unwrap())
    }

    fn user(text: &str) -> api::OutlineKind {
        read(&json!({"role": "user", "content": text})).kind
    }

    #[test]
    fn what_a_person_typed_differs_from_what_a_client_inserted() {
        assert_eq!(user("Paint the gate."), api::OutlineKind::Typed);
        assert_eq!(
            user("<system-reminder>Be brief.</system-reminder>"),
            api::OutlineKind::Inserted
        );
        let both = "<system-reminder>Be brief.</system-reminder>\nPaint the gate.";
        assert_eq!(user(both), api::OutlineKind::Typed);
        assert_eq!(user("<div> why is this not centered?"), api::OutlineKind::Typed);
        assert_eq!(user("<new_element>Be brief.</new_element>"), api::OutlineKind::Inserted);
        assert_eq!(user("<skill>Paint gates.</skill>"), api::OutlineKind::Inserted);
        let command = "<command-name>/review</command-name><command-args>the gate</command-args>";
        assert_eq!(user(command), api::OutlineKind::Typed);
    }

    #[test]
    fn results_say_whether_they_failed() {
        let result = |is_error: bool| {
            let block = json!({"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": is_error});
            read(&json!({"role": "user", "content": [block]}))
        };
        assert_eq!(result(false).kind, api::OutlineKind::Results);
        assert!(!result(false).results[0].failed);
        assert!(result(true).results[0].failed);
    }

    #[test]
    fn the_usage_of_an_answer_counts_once() {
        let part = |answer: &str, output: u64| {
            let usage =
                json!({"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": output});
            let message = json!({"role": "assistant", "assistant_message_id": answer, "content": "x", "usage": usage});
            let meta = MessageMeta {
                seq: Seq(1),
                id: MessageId::new("m1").unwrap(),
                created_at: UnixMicros(0),
            };
            let raw = Bytes::from(message.to_string());
            Message::parse(meta, raw, MessageSource::Client).unwrap()
        };
        let (mut messages, mut answer) = (Vec::new(), None);
        for message in [part("a", 1), part("a", 40), part("b", 7)] {
            messages.push(outlined(&message));
            count_once(&mut messages, &message, &mut answer);
        }
        let outputs: Vec<_> = messages.iter().map(|m| m.usage.map(|usage| usage.output)).collect();
        assert_eq!(outputs, [None, Some(40), Some(7)]);
        let usage = messages[1].usage.unwrap();
        assert_eq!((usage.prompt, usage.cached), (95, 90));
    }

    #[test]
    fn calls_name_their_file() {
        let call = |name: &str, input: serde_json::Value| {
            let block = json!({"type": "tool_use", "id": "t", "name": name, "input": input});
            read(&json!({"role": "assistant", "content": [block]}))
        };
        let edit = call("Edit", json!({"file_path": "/garden/gate.rs", "old_string": "a"}));
        assert_eq!(edit.calls[0].path.as_deref(), Some("/garden/gate.rs"));
        assert!(edit.calls[0].edits && !edit.says);
        let search = call("Grep", json!({"pattern": "gate", "path": "/garden"}));
        assert!(!search.calls[0].edits);
        assert_eq!(call("Bash", json!({"command": "ls"})).calls[0].path, None);
        assert_eq!(call("Read", json!({"file_path": 7})).calls[0].path, None);
    }
}
