//! Hits as they are answered: what was said, where the words stand in it, and the call before a result.

use std::collections::HashSet;
use std::ops::ControlFlow;

use bethink_api as api;
use bethink_recall::{Question, for_each_json_string, highlights, snippet};
use bethink_transcript::{BlockKind, Message, SessionId};

use crate::clock::rfc3339;

const SNIPPET_CHARS: usize = 240;
/// Of the call before a result.
const CALL_CHARS: usize = 120;

/// Gathers hits up to a limit.
pub(crate) struct Hits<'a> {
    question: &'a Question,
    limit: usize,
    hits: Vec<api::SearchHit>,
    /// Ids met already: a fork holds the messages that it shares, and they are one hit.
    seen: Option<HashSet<String>>,
}

impl<'a> Hits<'a> {
    pub(crate) fn new(question: &'a Question, limit: usize, across_sessions: bool) -> Self {
        Self { question, limit, hits: Vec::new(), seen: across_sessions.then(HashSet::new) }
    }

    /// Breaks when there are enough.
    pub(crate) fn add(
        &mut self,
        session: SessionId,
        message: &Message,
        score: f32,
    ) -> ControlFlow<()> {
        let is_new = self.seen.as_mut().is_none_or(|seen| seen.insert(message.id.to_string()));
        if is_new {
            self.hits.push(hit(self.question, session, message, score));
        }
        match self.hits.len() < self.limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    pub(crate) fn finish(self) -> Vec<api::SearchHit> {
        self.hits
    }
}

fn hit(question: &Question, session: SessionId, message: &Message, score: f32) -> api::SearchHit {
    let snippet = snippet(&readable(message), &question.terms, SNIPPET_CHARS);
    let result = message.tool_results().next().map(|(id, ..)| id.to_string());
    api::SearchHit {
        session_id: session.0,
        title: None,
        seq: message.seq.0,
        message_id: message.id.to_string(),
        role: message.role.to_string(),
        score: f64::from(score),
        highlights: highlights(&snippet, &question.terms),
        snippet,
        // Whose call it answers is known when that is read.
        answers: result.map(|id| api::AnsweredCall { seq: 0, tool: id, input: String::new() }),
        created_at: rfc3339(message.created_at),
    }
}

/// Names the call that the hit's first result answers.
pub(crate) fn name_call(hit: &mut api::SearchHit, before: &Message) {
    let Some(answers) = &mut hit.answers else { return };
    let mut calls = before.tool_uses();
    let Some((_, name, block)) = calls.find(|(id, ..)| id.as_str() == answers.tool) else { return };
    let mut input = String::new();
    for_each_json_string(block.input(), |value| {
        if !input.is_empty() {
            input.push(' ');
        }
        input.push_str(value);
    });
    *answers = api::AnsweredCall {
        seq: before.seq.0,
        tool: name.to_owned(),
        input: snippet(&input, &[], CALL_CHARS),
    };
}

/// A result whose call is not the message before stands for itself.
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
