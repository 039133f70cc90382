//! Hits as clients receive them: the matching lines, the positions of the words in them, and the tool call that a result
//! answers.

use std::collections::HashSet;

use bethink_api as api;
use bethink_recall::{Question, highlights, phrase, snippet};
use bethink_service::rfc3339;
use bethink_transcript::json::for_each_json_string;
use bethink_transcript::{BlockKind, Message, SessionId};

/// Maximum length of a snippet, in characters: three lines of a terminal.
const SNIPPET_CHARS: usize = 240;
/// Maximum size, in bytes, of a text that is searched for phrases and adjacent words. Longer texts are program output,
/// in which a phrase means little and searching for it takes milliseconds.
const CLOSE_LOOK_BYTES: usize = 64 * 1024;

/// Reranks the messages that were read, and turns the best ones into hits.
pub(crate) struct Hits<'a> {
    question: &'a Question,
    read: Vec<ReadHit>,
    /// In a search across sessions, the ids of the messages seen so far. A fork shares messages with its parent, but
    /// each message is returned only once.
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

    /// Adds the scores for phrases and adjacent words. Computing these requires the text.
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
        // `name_call` completes the call once its message has been read.
        answers: result.map(|id| api::AnsweredCall { seq: 0, tool: id, input: String::new() }),
        created_at: rfc3339(message.created_at),
        person: None,
        project: None,
    }
}

/// Adds the name and the input of the tool call that the hit's first result answers.
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

/// Removes the tool call if it was not found in the previous message.
pub(crate) fn drop_unnamed_call(hit: &mut api::SearchHit) {
    hit.answers = hit.answers.take().filter(|answers| answers.seq > 0);
}

/// Returns all text of a message that a person can read.
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
