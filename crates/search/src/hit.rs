//! Hits as clients see them: the text, where the words are in it, and the call before a result.

use std::collections::HashSet;

use bethink_api as api;
use bethink_recall::{Question, highlights, phrase, snippet};
use bethink_service::rfc3339;
use bethink_transcript::json::for_each_json_string;
use bethink_transcript::{BlockKind, Message, SessionId};

const SNIPPET_CHARS: usize = 240;
/// Longest text that is searched for words in sequence: longer ones are program output, where sequences mean
/// little and cost milliseconds.
const CLOSE_LOOK_BYTES: usize = 64 * 1024;

/// Reranks the messages that were read, and makes hits of the best.
pub(crate) struct Hits<'a> {
    question: &'a Question,
    read: Vec<ReadHit>,
    /// Ids seen already: a fork shares messages with its parent, and each is one hit.
    seen: Option<HashSet<String>>,
}

struct ReadHit {
    session: SessionId,
    message: Message,
    text: String,
    score: f32,
}

impl<'a> Hits<'a> {
    pub(crate) fn new(question: &'a Question, across_sessions: bool) -> Self {
        Self { question, read: Vec::new(), seen: across_sessions.then(HashSet::new) }
    }

    /// Adds scores that need the text: phrases and adjacent words.
    pub(crate) fn look_at(&mut self, session: SessionId, message: Message, score: f32) {
        let is_new = self.seen.as_mut().is_none_or(|seen| seen.insert(message.id.to_string()));
        let text = readable(&message);
        let Question { terms, phrases, needs_phrases, .. } = self.question;
        if is_new && (!needs_phrases || phrase::holds(&text, phrases)) {
            let together = match text.len() <= CLOSE_LOOK_BYTES {
                true => phrase::together(&text, terms) + phrase::held(&text, phrases),
                false => 0.0,
            };
            let score = score + together;
            self.read.push(ReadHit { session, message, text, score });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.read.len()
    }

    pub(crate) fn best(mut self, limit: usize) -> Vec<api::SearchHit> {
        self.read.sort_by(|one, other| other.score.total_cmp(&one.score));
        self.read.iter().take(limit).map(|read| hit(self.question, read)).collect()
    }
}

fn hit(question: &Question, read: &ReadHit) -> api::SearchHit {
    let ReadHit { session, message, text, score } = read;
    let snippet = snippet(text, &question.terms, SNIPPET_CHARS);
    let result = message.tool_results().next().map(|(id, ..)| id.to_string());
    api::SearchHit {
        session_id: session.0,
        title: None,
        seq: message.seq.0,
        message_id: message.id.to_string(),
        role: message.role,
        score: f64::from(*score),
        highlights: highlights(&snippet, &question.terms),
        snippet,
        // The call that it answers is known once that message is read.
        answers: result.map(|id| api::AnsweredCall { seq: 0, tool: id, input: String::new() }),
        created_at: rfc3339(message.created_at),
    }
}

/// Names the call that the hit's first result answers.
pub(crate) fn name_call(hit: &mut api::SearchHit, before: &Message) {
    let Some(answers) = &mut hit.answers else { return };
    let mut calls = before.tool_uses();
    let Some((_, name, block)) = calls.find(|(id, ..)| id.as_str() == answers.tool) else { return };
    *answers = api::AnsweredCall {
        seq: before.seq.0,
        tool: name.to_owned(),
        input: bethink_facts::subject(block.input()),
    };
}

/// A result whose call is not in the message before is a hit on its own.
pub(crate) fn drop_unnamed_call(hit: &mut api::SearchHit) {
    hit.answers = hit.answers.take().filter(|answers| answers.seq > 0);
}

/// Everything in a message that a person can read.
fn readable(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.blocks {
        match &block.kind {
            BlockKind::ToolUse { name, .. } => {
                text.push_str(name);
                text.push(' ');
                for_each_json_string(block.input(), |value| {
                    text.push_str(value);
                    text.push(' ');
                });
            }
            _ => text.push_str(&block.text()),
        }
        text.push('\n');
    }
    text
}
