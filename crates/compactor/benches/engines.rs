//! The engines on a session of about 200,000 tokens: one prompt, one compaction, one message's text.

use std::hint::black_box;
use std::sync::Arc;

use bethink_compactor::{
    CompactLimits, CompactionInput, EmbeddedSummarizer, Restorable, Trigger, compact,
};
use bethink_context::{
    Decisions, Hints, History, HistoryEntry, ViewOptions, assemble, view, window_thresholds,
};
use bethink_facts::Facts;
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros, ValidPrompt};
use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Rounds that make about 200,000 estimated tokens.
const ROUNDS: usize = 170;

fn source(round: usize) -> String {
    (0..60)
        .map(|line| {
            format!(
                "    let value_{line} = self.table.rows[{line}].nextJob(round_{round}, \"tide\");\n"
            )
        })
        .collect()
}

fn push(history: &mut History, raw: String) {
    let seq = history.last_seq().next();
    let Ok(id) = MessageId::new(&format!("m{seq}")) else { return };
    let meta = MessageMeta { seq, id, created_at: UnixMicros(0) };
    if let Ok(message) = Message::parse(meta, Bytes::from(raw), MessageSource::Client) {
        history.push(HistoryEntry::new(Arc::new(message)));
    }
}

fn session() -> History {
    let mut history = History::default();
    push(
        &mut history,
        r#"{"role":"user","content":"Make the scheduler skip empty tables."}"#.into(),
    );
    for round in 0..ROUNDS {
        let text = serde_json::Value::String(source(round));
        push(
            &mut history,
            format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"Next: file {round}."}},{{"type":"tool_use","id":"t{round}","name":"Read","input":{{"file_path":"/src/file_{round}.rs"}}}}]}}"#
            ),
        );
        push(
            &mut history,
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{round}","content":{text}}}]}}"#
            ),
        );
    }
    history
}

fn prompt(history: &History, decisions: &Decisions) -> usize {
    let shown = view(history, decisions, ViewOptions::default());
    ValidPrompt::check(shown.messages).map_or(0, |p| assemble(&p, &[], "[]", false).messages.len())
}

fn compaction(history: &History, decisions: &Decisions) -> u64 {
    let Ok(thresholds) = window_thresholds(200_000, 20_000, 0.0) else { return 0 };
    let mut facts = Facts::default();
    history.entries().iter().for_each(|entry| facts.observe(&entry.message));
    let input = CompactionInput {
        id: "c".to_owned(),
        history,
        decisions,
        facts: &facts,
        thresholds,
        fixed_tokens: 0,
        scale: 1.0,
        trigger: Trigger::Manual,
        focus: None,
        summary_tokens: None,
        restorable: &Restorable::default(),
        limits: CompactLimits::default(),
        options: ViewOptions::default(),
        hints: &Hints::default(),
    };
    compact(&input, &[&EmbeddedSummarizer]).map_or(0, |outcome| outcome.tokens_after)
}

fn engines(criterion: &mut Criterion) {
    let history = session();
    let decisions = Decisions::default();
    let bytes = prompt(&history, &decisions) as u64;
    let mut group = criterion.benchmark_group("200k tokens");
    group.throughput(Throughput::Bytes(bytes));
    group.bench_function("prompt", |b| b.iter(|| prompt(black_box(&history), &decisions)));
    let value: serde_json::Value = {
        let shown = view(&history, &decisions, ViewOptions::default());
        ValidPrompt::check(shown.messages)
            .ok()
            .and_then(|p| serde_json::from_slice(&assemble(&p, &[], "[]", false).messages).ok())
            .unwrap_or_default()
    };
    group.bench_function("serde_json::to_vec of the same", |b| {
        b.iter(|| serde_json::to_vec(black_box(&value)).map_or(0, |v| v.len()));
    });
    group.sample_size(10);
    group.bench_function("compaction", |b| b.iter(|| compaction(black_box(&history), &decisions)));
    group.finish();

    let text = source(1);
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("names", |b| {
        b.iter(|| {
            let mut names = 0;
            bethink_names::for_each_name(black_box(&text), |_| names += 1);
            names
        });
    });
    group.bench_function("index terms", |b| b.iter(|| bethink_recall::analyze(black_box(&text))));
    let message = session().from(Seq(3)).first().map(|e| Arc::clone(&e.message));
    if let Some(message) = message {
        group.bench_function("parse a message", |b| {
            b.iter(|| {
                let meta =
                    MessageMeta { seq: Seq(1), id: message.id.clone(), created_at: UnixMicros(0) };
                Message::parse(meta, message.raw().clone(), MessageSource::Client)
                    .map(|m| m.blocks.len())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, engines);
criterion_main!(benches);
