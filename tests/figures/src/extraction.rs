//! Reports what the embedded extraction would write after recorded sessions. Every memory and every candidate is a row for
//! a person to read. The program checks that each one occurs literally in the user's message.

use std::path::{Path, PathBuf};

use bethink_extractor::embedded::{Extraction, ExtractionInput, extract};
use bethink_facts::{Facts, RecordedStatement};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use bytes::Bytes;

use crate::recording;
use crate::table::{Goal, Row};

pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let (mut statements, mut written, mut candidates, mut traced) = (0, 0, 0, 0);
    let mut rows = Vec::new();
    for file in files {
        let said = statements_of(file);
        let found = extract(&ExtractionInput {
            said: &said,
            known: &[],
            refused: &[],
            session: "recorded",
        });
        statements += said.len();
        written += found.writes.len();
        candidates += found.candidates.len();
        let own = found.writes.iter().map(|w| (w.seq, &w.sentence));
        let own = own.chain(found.candidates.iter().map(|c| (c.seq, &c.sentence)));
        traced += own.filter(|(seq, sentence)| stands(&said, *seq, sentence)).count();
        rows.extend(shown(file, &found));
    }
    let found = written + candidates;
    let share = if found == 0 { 1.0 } else { traced as f64 / found as f64 };
    rows.extend([
        Row::new("statements of users looked at", statements as f64, "", Goal::None),
        Row::new("memories from them, embedded", written as f64, "", Goal::None)
            .detail("the rows above, to be judged by reading"),
        Row::new("candidates from them", candidates as f64, "", Goal::None)
            .detail("at most five a session, the best first"),
        Row::new("of them in the user's own words", share, "", Goal::AtLeast(1.0)),
    ]);
    rows
}

/// Returns what the user said in a recorded session.
pub(crate) fn statements_of(file: &Path) -> Vec<RecordedStatement> {
    let mut facts = Facts::default();
    for (at, recorded) in recording::load(file).iter().enumerate() {
        let meta = MessageMeta {
            seq: Seq(at as u64 + 1),
            id: MessageId::new(&format!("m{at}")).expect("an id"),
            created_at: UnixMicros(0),
        };
        let raw = Bytes::from(recorded.wire().to_string());
        if let Ok(message) = Message::parse(meta, raw, MessageSource::Client) {
            facts.observe(&message);
        }
    }
    facts.user
}

fn stands(said: &[RecordedStatement], seq: Seq, sentence: &str) -> bool {
    said.iter().any(|said| said.seq == seq && said.text.contains(sentence))
}

/// Makes a row for each memory.
fn shown(file: &Path, found: &Extraction) -> Vec<Row> {
    let file = file.file_stem().unwrap_or_default().to_string_lossy();
    let row = |what: String, seq: Seq| Row::new(what, seq.0 as f64, "", Goal::None).detail(&*file);
    let written = found.writes.iter();
    let written = written
        .map(|w| row(format!("memory {} ({}) of message: {}", w.name, w.rule, w.sentence), w.seq));
    let candidates = found.candidates.iter().map(|c| {
        row(format!("candidate, {} points ({}) of message: {}", c.score, c.rule, c.sentence), c.seq)
    });
    let dropped = found.dropped.iter();
    let dropped = dropped
        .map(|(seq, text, why)| row(format!("not written, {why:?}, of message: {text}"), *seq));
    written.chain(candidates).chain(dropped).collect()
}
