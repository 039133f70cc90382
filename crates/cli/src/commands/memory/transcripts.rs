//! Shows what extraction would find in transcripts. Needs no daemon, and neither imports nor writes anything.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bethink_api::MemoryKind;
use bethink_extractor::embedded::teach::{TaughtSentence, taught_by};
use bethink_extractor::embedded::{
    Extraction, ExtractionInput, FoundCandidate, draft, extract, parsed,
};
use bethink_facts::{Facts, RecordedStatement};
use bethink_session_file::{LineKind, SessionFileReader, Thread};
use bethink_terminal::words::plural;
use bethink_terminal::{Screen, StyledText, Tone};
use bethink_transcript::text::one_line;
use bethink_transcript::{MessageId, Seq};
use serde::Serialize;

use crate::app::CliApp;
use crate::commands::import::files;
use crate::failure::{CliFailure, Done};

/// How certain it is that a statement is worth remembering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Certainty {
    /// Certain enough to be written to memory.
    Sure,
    /// The statement would wait as a candidate.
    Candidate,
}

/// A statement in a transcript that would be remembered or become a candidate.
#[derive(Debug, Serialize)]
struct FoundStatement<'a> {
    file: &'a Path,
    session_id: Option<&'a str>,
    /// Absent for a prompt that was typed while the agent was working, because such a prompt is not a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_uuid: Option<&'a str>,
    quote: &'a str,
    certainty: Certainty,
    #[serde(rename = "type")]
    kind: MemoryKind,
    rule: &'a str,
    /// The sentence that the statement follows or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i32>,
    /// RFC 3339.
    said_at: String,
}

/// What the user said in a transcript.
#[derive(Default)]
struct ReadTranscript {
    said: Vec<RecordedStatement>,
    ids: HashMap<Seq, MessageId>,
    session_id: Option<String>,
}

pub(super) fn extract_from(app: &mut CliApp, paths: &[PathBuf]) -> Done {
    let files = files(paths)?;
    let mut count = 0;
    for file in &files {
        let bytes = std::fs::read(file).map_err(|error| CliFailure::file("read", file, &error))?;
        let read = read(bytes);
        let found = extract(&ExtractionInput {
            said: &read.said,
            known: &[],
            refused: &[],
            session: read.session_id.as_deref().unwrap_or_default(),
        });
        for statement in statements(file, &read, &found) {
            count += 1;
            show(&mut app.screen, &statement)?;
        }
    }
    if app.screen.json || app.screen.quiet {
        return Ok(());
    }
    let found = plural(count, "statement", "statements");
    let files = plural(files.len() as u64, "transcript", "transcripts");
    let hint = "nothing was written; to import these transcripts and learn from them, run `bethink import PATH`";
    Ok(app.screen.hint(format!("{found} found in {files}; {hint}"))?)
}

fn read(bytes: Vec<u8>) -> ReadTranscript {
    let mut out = ReadTranscript::default();
    let mut facts = Facts::default();
    let mut seq = Seq::ZERO;
    let mut take = |line: LineKind| match line {
        LineKind::Message(mut line) if line.thread == Thread::Main && !line.is_meta => {
            seq = seq.next();
            line.message.seq = seq;
            out.ids.insert(seq, line.message.id.clone());
            facts.observe(&line.message);
        }
        LineKind::Queued { text, at } => {
            seq = seq.next();
            facts.observe_queued(seq, &text, at);
        }
        _ => {}
    };
    let mut reader = SessionFileReader::default();
    reader.feed(bytes.into(), |line| take(line.kind));
    let file = reader.finish(|line| take(line.kind));
    out.session_id = file.session_id;
    out.said = facts.user.iter().flat_map(RecordedStatement::in_parts).collect();
    out
}

/// Returns what was found, memories first.
fn statements<'a>(
    file: &'a Path,
    read: &'a ReadTranscript,
    found: &'a Extraction,
) -> Vec<FoundStatement<'a>> {
    let taught = taught_by(&parsed::statements(&read.said)).taught;
    let is_written = |taught: &&TaughtSentence<'_>| {
        found.writes.iter().any(|w| w.seq == taught.seq && w.sentence == taught.sentence)
    };
    let uuid = |seq: Seq| read.ids.get(&seq).map(MessageId::as_str);
    let sure = taught.iter().filter(is_written).map(|taught| FoundStatement {
        file,
        session_id: read.session_id.as_deref(),
        message_uuid: uuid(taught.seq),
        quote: taught.sentence,
        certainty: Certainty::Sure,
        kind: taught.lesson.kind(),
        rule: taught.rule,
        before: None,
        score: None,
        said_at: draft::time(taught.at),
    });
    let candidates = found.candidates.iter().map(|candidate: &FoundCandidate| FoundStatement {
        file,
        session_id: read.session_id.as_deref(),
        message_uuid: uuid(candidate.seq),
        quote: &candidate.sentence,
        certainty: Certainty::Candidate,
        kind: candidate.kind,
        rule: candidate.rule,
        before: candidate.before.as_deref(),
        score: Some(candidate.score),
        said_at: draft::time(candidate.at),
    });
    sure.chain(candidates).collect()
}

fn show(screen: &mut Screen, found: &FoundStatement<'_>) -> Done {
    if screen.json {
        return Ok(screen.record(found)?);
    }
    let (tone, word) = match found.certainty {
        Certainty::Sure => (Tone::Good, "sure"),
        Certainty::Candidate => (Tone::Warn, "candidate"),
    };
    let name = found.file.file_name().unwrap_or_default().to_string_lossy();
    let line = StyledText::new()
        .put(tone, format!("{word} "))
        .dim(format!("[{}, {}] ", found.kind, found.rule))
        .plain(one_line(found.quote))
        .dim(format!("  {name}"));
    Ok(screen.flowing(line, 2)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_transcript_shows_what_it_would_teach_and_where_it_was_said() {
        let line = |uuid: &str, text: &str| {
            json!({
                "type": "user", "uuid": uuid, "sessionId": "s1", "timestamp": "2026-03-02T10:00:00Z",
                "message": { "role": "user", "content": text },
            })
            .to_string()
        };
        let queued = json!({
            "type": "queue-operation", "operation": "enqueue", "timestamp": "2026-03-02T10:01:00Z",
            "content": "no, leave it, the risk is too big",
        });
        let lines = [
            line("u1", "From now on, use pnpm for installs."),
            queued.to_string(),
            line("u2", "go on"),
        ];
        let read = read(lines.join("\n").into_bytes());
        let input = ExtractionInput { said: &read.said, known: &[], refused: &[], session: "s1" };
        let found = extract(&input);
        let found = statements(Path::new("/a.jsonl"), &read, &found);
        let shown: Vec<_> =
            found.iter().map(|found| (found.certainty, found.message_uuid, found.quote)).collect();
        assert_eq!(
            shown,
            [
                (Certainty::Sure, Some("u1"), "From now on, use pnpm for installs."),
                (Certainty::Candidate, None, "no, leave it, the risk is too big"),
            ]
        );
        assert_eq!((found[0].session_id, &*found[0].said_at), (Some("s1"), "2026-03-02T10:00:00Z"));
    }
}
