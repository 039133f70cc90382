//! A recorded session as a sequence of the model calls that its agent made.

use bethink_session_file::{LineKind, Thread, lines};
use bethink_transcript::{Message, Role};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

/// One message of the main thread, ready to append.
#[derive(Debug)]
pub struct Recorded {
    pub role: Role,
    /// Id of the assistant message, which is the same for all of its chunks; otherwise the message's own id.
    pub speaker: String,
    pub content: Box<RawValue>,
}

#[derive(Debug, Default)]
pub struct Recording {
    pub messages: Vec<Recorded>,
    /// The model of the first answer.
    pub model: Option<String>,
    /// Number of lines that could not be read.
    pub damaged: u64,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

impl Recording {
    /// Reads the main thread, without Claude Code's own summaries: the daemon makes its own.
    pub fn read(file: Bytes) -> Self {
        let mut recording = Self::default();
        for line in lines(file).0 {
            match line.kind {
                LineKind::Damaged(_) => recording.damaged += 1,
                LineKind::Message(line) if line.thread == Thread::Main && !line.is_summary => {
                    recording.take(&line.message);
                }
                _ => {}
            }
        }
        recording
    }

    fn take(&mut self, message: &Message) {
        let head = serde_json::from_slice::<Head<'_>>(message.raw());
        let Ok(content) = head.map(|head| head.content.to_owned()) else { return };
        if matches!(content.get(), "\"\"" | "[]" | "null") {
            return;
        }
        self.model = self.model.take().or_else(|| message.model.as_deref().map(str::to_owned));
        let spoken = message.assistant_message_id.as_ref().map(|id| id.as_str().to_owned());
        let speaker = spoken.unwrap_or_else(|| message.id.as_str().to_owned());
        self.messages.push(Recorded { role: message.role, speaker, content });
    }

    /// Whether the agent called its model after this message. This is the case if all tool results of the turn have
    /// arrived, and the next message is not another chunk of the same answer.
    pub fn is_turn(&self, i: usize) -> bool {
        let is_user = |message: &Recorded| message.role == Role::User;
        if !self.messages.get(i).is_some_and(is_user) {
            return false;
        }
        let Some(next) = self.messages.get(i + 1) else { return true };
        let speaking = self.messages[..i].iter().rev().find(|message| !is_user(message));
        !is_user(next) && speaking.is_none_or(|speaking| speaking.speaker != next.speaker)
    }

    pub fn turns(&self) -> u64 {
        (0..self.messages.len()).filter(|&i| self.is_turn(i)).count() as u64
    }
}

impl Recorded {
    /// Returns the message to append, without the recorded usage, which belongs to another prompt.
    pub fn message(&self) -> Result<Box<RawValue>, serde_json::Error> {
        #[derive(serde::Serialize)]
        struct Body<'a> {
            role: &'a str,
            content: &'a RawValue,
            #[serde(skip_serializing_if = "Option::is_none")]
            assistant_message_id: Option<&'a str>,
        }
        let speaker = (self.role == Role::Assistant).then_some(self.speaker.as_str());
        let content = &self.content;
        to_raw_value(&Body { role: self.role.as_str(), content, assistant_message_id: speaker })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(lines: &[&str]) -> Recording {
        Recording::read(Bytes::from(lines.join("\n")))
    }

    fn user(uuid: &str, content: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":{content}}}}}"#
        )
    }

    fn assistant(uuid: &str, id: &str, content: &str) -> String {
        format!(
            r#"{{"type":"assistant","uuid":"{uuid}","timestamp":"2026-01-01T00:00:00Z","message":{{"id":"{id}","role":"assistant","model":"m","content":{content},"usage":{{"input_tokens":9}}}}}}"#
        )
    }

    #[test]
    fn a_prompt_is_asked_for_once_a_turn() {
        let result = |uuid, id| {
            user(uuid, &format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}]"#))
        };
        let call = |uuid, id: &str| {
            assistant(
                uuid,
                "msg_1",
                &format!(r#"[{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}]"#),
            )
        };
        // a parallel call is recorded as chunk, result, chunk, result
        let lines = [
            user("u1", r#""go""#),
            call("a1", "t1"),
            result("u2", "t1"),
            call("a2", "t2"),
            result("u3", "t2"),
            assistant("a3", "msg_2", r#"[{"type":"text","text":"done"}]"#),
        ];
        let recording = recording(&lines.each_ref().map(String::as_str));
        let turns: Vec<bool> = (0..6).map(|i| recording.is_turn(i)).collect();
        assert_eq!(turns, [true, false, false, false, true, false]);
        assert_eq!((recording.turns(), recording.model.as_deref()), (2, Some("m")));
    }

    #[test]
    fn content_goes_on_as_it_was_recorded() {
        let odd = r#"[{"type":"text", "text":"\u00e9",  "later":1.50}]"#;
        let recording = recording(&[&assistant("a", "msg_1", odd), "{broken"]);
        let sent = recording.messages[0].message().unwrap();
        assert_eq!(
            sent.get(),
            format!(r#"{{"role":"assistant","content":{odd},"assistant_message_id":"msg_1"}}"#)
        );
        assert_eq!(recording.damaged, 1);
    }
}
