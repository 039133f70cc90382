use bethink_transcript::message::MessageSource;
use bethink_transcript::{MessageId, MessageMeta, Seq};
use bytes::Bytes;

use super::*;
use crate::line::{LineKind, SessionLine};
use crate::reader::lines;

const UUID: &str = "529e5a52-3372-4bea-9fe3-e5f03b012638";

fn message(id: &str, raw: &str) -> Message {
    let meta = MessageMeta {
        seq: Seq(1),
        id: MessageId::new(id).unwrap(),
        created_at: UnixMicros(1_767_225_601_500_000),
    };
    Message::parse(meta, Bytes::copy_from_slice(raw.as_bytes()), MessageSource::Client).unwrap()
}

fn writer() -> RecordWriter {
    RecordWriter::new("s1", "/w", "2.1.3", "main")
}

fn read(file: Vec<u8>) -> Vec<SessionLine> {
    lines(Bytes::from(file)).0
}

#[test]
fn a_message_is_written_in_the_recorders_shape() {
    let line = writer().line_for(&message(UUID, r#"{"role":"user", "content":"hi"}"#));
    assert_eq!(
        String::from_utf8(line).unwrap(),
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s1","version":"2.1.3","gitBranch":"main","type":"user","message":{{"role":"user", "content":"hi"}},"uuid":"{UUID}","timestamp":"2026-01-01T00:00:01.500Z"}}"#
        ) + "\n"
    );
}

#[test]
fn records_continue_one_another() {
    let mut writer = writer();
    let mut file = writer.line_for(&message("m1", r#"{"role":"user","content":"a"}"#));
    file.extend(writer.line_for(&message("m2", r#"{"role":"user","content":"b"}"#)));
    let lines = read(file);
    let messages: Vec<_> = lines
        .iter()
        .map(|line| match &line.kind {
            LineKind::Message(line) => line,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(messages[0].parent_uuid, None);
    assert_eq!(messages[1].parent_uuid.as_deref(), Some(messages[0].message.id.as_str()));

    let mut again = self::writer();
    again.follow_id(messages[1].message.id.as_str());
    assert_eq!(again.parent.as_deref(), Some(messages[1].message.id.as_str()));
}

#[test]
fn ids_that_are_no_uuids_get_a_stable_one() {
    let writer = writer();
    let made = writer.uuid_of("m1");
    assert_eq!(Uuid::try_parse(&made).unwrap().get_version_num(), 5);
    assert_eq!(made, writer.uuid_of("m1"));
    assert_ne!(made, writer.uuid_of("m2"));
    assert_ne!(made, RecordWriter::new("s2", "/w", "", "").uuid_of("m1"));
    assert_eq!(writer.uuid_of(UUID), UUID);
}

#[test]
fn a_message_stays_on_one_line() {
    let raw = "{\r\n \"role\":\"user\",\n\"content\":\"a\\nb\"}";
    let lines = read(writer().line_for(&message("m1", raw)));
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].raw(), br#"{   "role":"user", "content":"a\nb"}"#);
}

#[test]
fn chunks_of_an_answer_carry_the_providers_id() {
    let check = |raw: &str, expect: &str| {
        let lines = read(writer().line_for(&message("m1", raw)));
        assert_eq!(String::from_utf8_lossy(lines[0].raw()), expect);
    };
    check(
        r#"{"id":"m1","role":"assistant","assistant_message_id":"msg_1","content":"x"}"#,
        r#"{"id":"msg_1","role":"assistant","assistant_message_id":"msg_1","content":"x"}"#,
    );
    let same = r#"{"id":"msg_1", "role":"assistant","assistant_message_id":"msg_1","content":"x"}"#;
    check(same, same);
    let none = r#"{"role":"assistant", "content":"x"}"#;
    check(none, none);
}

#[test]
fn a_compaction_reads_back_as_recorded() {
    let mut writer = writer();
    let mut file = writer.line_for(&message("m1", r#"{"role":"user","content":"a"}"#));
    let compacted = ExportedCompaction {
        id: "c1",
        trigger: "manual",
        pre_tokens: 1234,
        summary: "what \"was\"\ndone",
        created_at: UnixMicros(1_767_225_601_500_000),
        kept_from: Some("m1"),
        restored: &["the plan".to_owned()],
    };
    file.extend(writer.boundary_lines(&compacted));
    file.extend(writer.line_for(&message("m2", r#"{"role":"user","content":"b"}"#)));
    let (lines, facts) = lines(Bytes::from(file));
    let [compaction] = &facts.compactions[..] else { panic!("{facts:?}") };
    assert_eq!((compaction.trigger.as_str(), compaction.pre_tokens), ("manual", 1234));
    assert_eq!(compaction.summary, compacted.summary);
    assert_eq!(compaction.boundary_line, 2);
    assert!(compaction.is_apart && compaction.messages == 1);
    let LineKind::Boundary { kept_from, .. } = &lines[1].kind else { panic!("{lines:?}") };
    let LineKind::Message(first) = &lines[0].kind else { panic!("{lines:?}") };
    assert_eq!(kept_from.as_deref(), Some(first.message.id.as_str()));
    // Neither the summary nor what was restored is a message of the history.
    assert!(
        matches!(&lines[2..4], [two, three] if matches!((&two.kind, &three.kind), (LineKind::Other, LineKind::Other)))
    );
    let LineKind::Message(next) = &lines[4].kind else { panic!("{lines:?}") };
    let restored: serde_json::Value = serde_json::from_slice(&lines[3].head).unwrap();
    assert_eq!(next.parent_uuid.as_deref(), restored["uuid"].as_str());
    assert_eq!(restored["parentUuid"], compaction.summary_id.as_str());
}

#[test]
fn metadata_reads_back() {
    let tags = ["a".to_owned(), "b \"c\"".to_owned()];
    let file = writer().metadata_lines(Some("T\n2"), &tags);
    assert_eq!(
        String::from_utf8_lossy(&file).lines().next().unwrap(),
        r#"{"type":"custom-title","customTitle":"T\n2","sessionId":"s1"}"#
    );
    let (_, facts) = lines(Bytes::from(file));
    assert_eq!((facts.title.as_deref(), facts.titled), (Some("T\n2"), true));
    assert_eq!(facts.tags, tags);
    assert!(writer().metadata_lines(None, &[]).is_empty());
}
