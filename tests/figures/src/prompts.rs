//! Measures building the prompt of a 200,000-token session, compared with plain serialization of the same prompt.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use bethink_context::{Decisions, History, HistoryEntry, ViewOptions, assemble, view};
use bethink_harness::say;
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros, ValidPrompt};
use bytes::Bytes;
use serde_json::Value;

use crate::recording::{self, Recorded};
use crate::table::{Goal, Row};
use crate::{median, ms, timed};

const TOKENS: u64 = 200_000;
const ROUNDS: usize = 200;

/// Builds the prompt of the longest recording, or of a generated session.
pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let longest = files.iter().max_by_key(|f| std::fs::metadata(f).map_or(0, |m| m.len()));
    let recorded: Vec<Value> = longest
        .map(|f| recording::load(f).iter().map(Recorded::wire).collect())
        .unwrap_or_default();
    let made = (0..).flat_map(|n| say::work(n, 3000));
    let history = fill(recorded.into_iter().chain(made));
    let decisions = Decisions::default();
    let build = || {
        let view = view(&history, &decisions, ViewOptions::default());
        let prompt = ValidPrompt::check(view.messages).expect("a valid prompt");
        assemble(&prompt, &[], "[]", false).messages
    };
    let plain: Value = serde_json::from_slice(&build()).expect("JSON");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(timed(|| black_box(build())).0);
        theirs.push(timed(|| black_box(serde_json::to_vec(&plain).expect("bytes"))).0);
    }
    let ratio = median(&ours).as_secs_f64() / median(&theirs).as_secs_f64();
    let detail = format!(
        "{} messages, {} kB: {} against {}",
        history.entries().len(),
        build().len() / 1000,
        ms(median(&ours)),
        ms(median(&theirs)),
    );
    let what = "building a 200,000-token prompt, to serde_json::to_vec";
    vec![Row::new(what, ratio, "", Goal::AtMost(1.0)).detail(detail)]
}

fn fill(messages: impl Iterator<Item = Value>) -> History {
    let mut history = History::default();
    let mut tokens = 0;
    for (message, seq) in messages.zip(1..) {
        let id = MessageId::new(&format!("m{seq}")).expect("an id");
        let meta = MessageMeta { seq: Seq(seq), id, created_at: UnixMicros(0) };
        let raw = Bytes::from(message.to_string());
        let message = Message::parse(meta, raw, MessageSource::Client).expect("a message");
        let entry = HistoryEntry::new(Arc::new(message));
        tokens += entry.tokens();
        history.push(entry);
        if tokens >= TOKENS {
            break;
        }
    }
    history
}
