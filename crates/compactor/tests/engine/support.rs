//! Runs a compaction with one call.

use std::sync::Arc;

use bethink_compactor::{
    CompactLimits, CompactionFailure, CompactionInput, CompactionOutcome, EmbeddedSummarizer,
    Restorable, Summarizer, Trigger, compact,
};
use bethink_context::{
    Decisions, Hints, History, HistoryEntry, ViewOptions, view, window_thresholds,
};
use bethink_facts::Facts;
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, UnixMicros, ValidPrompt};
use bytes::Bytes;
use serde_json::{Value, json};

pub(crate) fn say(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

pub(crate) fn answer(text: &str) -> Value {
    json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] })
}

pub(crate) fn call(id: &str, tool: &str, input: &Value) -> Value {
    json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": id, "name": tool, "input": input }
    ] })
}

pub(crate) fn result(id: &str, text: &str) -> Value {
    json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": text }
    ] })
}

pub(crate) fn history(messages: &[Value]) -> History {
    let mut history = History::default();
    for value in messages {
        let seq = history.last_seq().next();
        let meta = MessageMeta {
            seq,
            id: MessageId::new(&format!("m{seq}")).unwrap(),
            created_at: UnixMicros(0),
        };
        let message =
            Message::parse(meta, Bytes::from(value.to_string()), MessageSource::Client).unwrap();
        history.push(HistoryEntry::new(Arc::new(message)));
    }
    history
}

pub(crate) fn facts_of(history: &History) -> Facts {
    let mut facts = Facts::default();
    history.entries().iter().for_each(|entry| facts.observe(&entry.message));
    facts
}

pub(crate) struct Ask<'a> {
    pub(crate) window: u64,
    pub(crate) fixed_tokens: u64,
    pub(crate) restorable: Restorable,
    pub(crate) summary_tokens: Option<u64>,
    pub(crate) trigger: Trigger,
    pub(crate) ladder: Vec<&'a dyn Summarizer>,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Self {
            window: 30_000,
            fixed_tokens: 0,
            restorable: Restorable::default(),
            summary_tokens: None,
            trigger: Trigger::Manual,
            ladder: vec![&EmbeddedSummarizer],
        }
    }
}

pub(crate) fn try_compact(
    messages: &[Value],
    ask: &Ask<'_>,
) -> Result<CompactionOutcome, CompactionFailure> {
    let history = history(messages);
    let decisions = Decisions::default();
    let facts = facts_of(&history);
    let hints = Hints { session: "S".to_owned() };
    let input = CompactionInput {
        id: "c".to_owned(),
        history: &history,
        decisions: &decisions,
        facts: &facts,
        thresholds: window_thresholds(ask.window, 8_000, 0.0).unwrap(),
        fixed_tokens: ask.fixed_tokens,
        scale: 1.0,
        trigger: ask.trigger,
        focus: None,
        summary_tokens: ask.summary_tokens,
        restorable: &ask.restorable,
        limits: CompactLimits::default(),
        options: ViewOptions::default(),
        hints: &hints,
    };
    let outcome = compact(&input, &ask.ladder)?;
    let shown = view(&history, &outcome.decisions, ViewOptions::default());
    assert_eq!(shown.tokens() + ask.fixed_tokens, outcome.tokens_after);
    let thresholds = window_thresholds(ask.window, 8_000, 0.0).unwrap();
    let most = if ask.trigger == Trigger::Auto { thresholds.blocking } else { thresholds.auto };
    assert!(outcome.tokens_after < most, "{} of {most}", outcome.tokens_after);
    ValidPrompt::check(shown.messages).unwrap();
    Ok(outcome)
}
