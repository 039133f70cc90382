//! Where a history may be cut: only between API rounds.
//!
//! An API round is one assistant message with all its chunks, plus the user message with its tool results. A cut inside
//! a round would separate a call from its result, or thinking from the text after it.

use std::collections::HashMap;

use crate::ids::{AssistantMessageId, ToolUseId};
use crate::message::{Block, BlockKind, Message, Role};

/// Returns the indexes at which `messages` may be cut, in ascending order. A cut at `i` keeps `messages[i..]`. Includes
/// `0`, and also `messages.len()`, unless the last round is still waiting for a result.
pub fn cut_points<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<usize> {
    let mut spans = Spans::default();
    let mut count = 0;
    for (i, message) in messages.into_iter().enumerate() {
        spans.observe(i, message);
        count = i + 1;
    }
    spans.cut_points(count)
}

/// Finds the ranges that must stay whole.
#[derive(Default)]
struct Spans<'a> {
    chunks: HashMap<&'a AssistantMessageId, usize>,
    /// Calls without a result: their message and block.
    waiting: HashMap<&'a ToolUseId, (usize, &'a Block)>,
    /// The last message in which the user said something and did not only return results.
    last_speech: Option<usize>,
    /// Where the newest assistant message begins, and its id.
    newest: Option<(usize, Option<&'a AssistantMessageId>)>,
    /// First and last message of each range.
    whole: Vec<(usize, usize)>,
}

impl<'a> Spans<'a> {
    fn observe(&mut self, i: usize, message: &'a Message) {
        if let Some(id) = &message.assistant_message_id {
            // Chunks belong together only within one round; after the user spoke, the same id starts a
            // new message (see `arrange`).
            match self.chunks.get(id) {
                Some(&first) if self.last_speech.is_none_or(|spoke| spoke < first) => {
                    self.whole.push((first, i));
                }
                _ => {
                    self.chunks.insert(id, i);
                }
            }
        }
        if message.role == Role::Assistant {
            let id = message.assistant_message_id.as_ref();
            if !self.newest.is_some_and(|(_, known)| known.is_some() && known == id) {
                self.newest = Some((i, id));
            }
        }
        for (id, _, block) in message.tool_uses() {
            // A client may use an id again, but a copy of a waiting call is the same call (see `arrange`).
            if self.waiting.get(id).is_none_or(|(_, known)| known.json != block.json) {
                self.waiting.insert(id, (i, block));
            }
        }
        let is_result = |block: &Block| matches!(block.kind, BlockKind::ToolResult { .. });
        let only_results = !message.blocks.is_empty() && message.blocks.iter().all(is_result);
        for (id, _, _) in message.tool_results() {
            if let Some((called, _)) = self.waiting.remove(id) {
                self.whole.push((called, i));
            }
        }
        if message.role == Role::User && !only_results {
            self.last_speech = Some(i);
        }
    }

    fn cut_points(&self, count: usize) -> Vec<usize> {
        let mut open = vec![true; count + 1];
        let mut block = |first: usize, last: usize| {
            for place in open.iter_mut().take(last + 1).skip(first + 1) {
                *place = false;
            }
        };
        for &(first, last) in &self.whole {
            block(first, last);
        }
        // A call without a result is still running if neither side has said anything since.
        let newest = self.newest.map_or(0, |(start, _)| start);
        for &(called, _) in self.waiting.values() {
            if called >= newest && self.last_speech.is_none_or(|spoke| spoke < called) {
                block(called, count);
            }
        }
        open.iter().enumerate().filter(|(_, open)| **open).map(|(i, _)| i).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{MessageId, Seq};
    use crate::message::{MessageMeta, MessageSource, UnixMicros};
    use bytes::Bytes;

    /// `u` speech, `r1,r2` results, `a` words, `a#1` a chunk with id 1, `a#1+t1` with a call, `a+t1=2` with another input.
    fn check(history: &str, expect: &[usize]) {
        let messages: Vec<Message> =
            history.split_whitespace().enumerate().map(|(i, word)| message(i, word)).collect();
        assert_eq!(cut_points(&messages), expect, "{history}");
    }

    fn message(i: usize, word: &str) -> Message {
        let raw = if let Some(ids) = word.strip_prefix('r') {
            let blocks: Vec<String> = ids
                .split(",r")
                .map(|id| {
                    format!(r#"{{"type":"tool_result","tool_use_id":"t{id}","content":"ok"}}"#)
                })
                .collect();
            format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","))
        } else if word == "u" {
            r#"{"role":"user","content":"x"}"#.to_owned()
        } else {
            let mut parts = word.split('+');
            let id = parts.next().and_then(|a| a.split_once('#')).map(|(_, id)| id);
            let mut blocks = vec![r#"{"type":"text","text":"x"}"#.to_owned()];
            blocks.extend(parts.map(|t| {
                let (t, input) = t.split_once('=').unwrap_or((t, "1"));
                format!(r#"{{"type":"tool_use","id":"{t}","name":"n","input":{{"n":{input}}}}}"#)
            }));
            let id = id.map_or(String::new(), |id| format!(r#""assistant_message_id":"{id}","#));
            format!(r#"{{"role":"assistant",{id}"content":[{}]}}"#, blocks.join(","))
        };
        let meta = MessageMeta {
            seq: Seq(i as u64 + 1),
            id: MessageId::new(&format!("m{i}")).unwrap(),
            created_at: UnixMicros(0),
        };
        Message::parse(meta, Bytes::from(raw), MessageSource::Client).unwrap()
    }

    #[test]
    fn cuts_fall_on_round_boundaries() {
        check("", &[0]);
        check("u a u a", &[0, 1, 2, 3, 4]);
        check("u a+t1 r1 a", &[0, 1, 3, 4]);
        check("u a#1 a#1+t1 r1 a#2", &[0, 1, 4, 5]);
        check("u a#1+t1 r1 a#1+t2 r2 a#2", &[0, 1, 5, 6]);
        check("u a+t1+t2 r1 r2 u", &[0, 1, 4, 5]);
        check("u a+t1+t2 r1,r2 u", &[0, 1, 3, 4]);
    }

    #[test]
    fn a_call_under_way_stays_whole_and_an_abandoned_one_does_not_hold_up_the_rest() {
        check("u a+t1", &[0, 1]);
        check("u a+t1+t2 r1", &[0, 1]);
        check("u a+t1 u a", &[0, 1, 2, 3, 4]);
        check("u a+t1 a+t2 r2 a+t3 r3", &[0, 1, 2, 4, 6]);
        check("u a#1+t1 a#1+t2 r2", &[0, 1]);
    }

    /// Some clients use the ids of calls again. Each call stays with its own result.
    #[test]
    fn a_call_whose_id_was_used_before_stays_whole() {
        check("u a+t1 r1 a+t1 r1 u", &[0, 1, 3, 5, 6]);
        check("u a+t1 r1 a+t1", &[0, 1, 3]);
        check("u a+t1 u a+t1=2 r1", &[0, 1, 2, 3, 5]);
        check("u a+t1 a+t1 r1", &[0, 1, 4]);
    }

    #[test]
    fn an_id_met_again_after_speech_starts_anew() {
        check("a#1 u a#1 u", &[0, 1, 2, 3, 4]);
    }
}
