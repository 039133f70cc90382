//! One small session, read message by message, and the facts collected from it.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use bethink_facts::rows::failure;
use bethink_facts::{CommandPurpose, Facts, SaidKind};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use bytes::Bytes;
use serde_json::{Value, json};

fn messages(values: &[Value]) -> Vec<Message> {
    let parse = |(i, value): (usize, &Value)| {
        let seq = Seq(i as u64 + 1);
        let id = MessageId::new(&format!("m{seq}")).unwrap();
        let meta = MessageMeta { seq, id, created_at: UnixMicros(0) };
        Message::parse(meta, Bytes::from(value.to_string()), MessageSource::Client).unwrap()
    };
    values.iter().enumerate().map(parse).collect()
}

fn read(values: &[Value]) -> Facts {
    let mut facts = Facts::default();
    messages(values).iter().for_each(|message| facts.observe(message));
    facts
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn says(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

fn calls(id: &str, name: &str, input: &Value) -> Value {
    json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": name, "input": input }] })
}

fn gives(id: &str, text: &str, is_error: bool) -> Value {
    json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error }
    ] })
}

fn story() -> Vec<Value> {
    vec![
        user("Mend TideGauge in gauge.rs, keep the file format."),
        says("Two ways: a table or a file. Which do you prefer?"),
        user("a table"),
        calls("t1", "Bash", &json!({ "command": "cargo test -p gauge" })),
        gives("t1", "error: TideGauge::read_level panicked", true),
        calls(
            "t2",
            "Edit",
            &json!({ "file_path": "/proj/gauge.rs",
            "old_string": "fn read_level() {}", "new_string": "fn read_level() {}\nfn empty_table() {}" }),
        ),
        gives("t2", "done", false),
        calls("t3", "Bash", &json!({ "command": "cargo test --workspace" })),
        gives("t3", "test result: ok. 9 passed", false),
        says("I used a table rather than a file because two writers would race."),
        calls("t4", "Write", &json!({ "file_path": "/proj/notes.md", "content": "x" })),
        gives(
            "t4",
            "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nno notes please",
            true,
        ),
    ]
}

#[test]
fn typed_facts_of_a_story() {
    let facts = read(&story());
    let said: Vec<_> = facts.user.iter().map(|s| (s.seq.0, s.kind)).collect();
    use SaidKind::{Answer, Ask, Correction};
    assert_eq!(said, [(1, Ask), (3, Answer), (12, Correction)]);
    assert_eq!(facts.user[1].question.as_deref(), Some("Which do you prefer?"));
    assert!(
        facts.decisions.iter().any(|d| d.seq.0 == 10 && d.text.contains("because two writers"))
    );
    assert!(facts.decisions.iter().any(|d| d.by_user && d.text.contains("keep the file format")));
    let tests: Vec<_> =
        facts.tools.commands.iter().filter(|c| c.purpose == CommandPurpose::Test).collect();
    assert_eq!(tests.iter().map(|c| c.failed).collect::<Vec<_>>(), [Some(true), Some(false)]);
    let edited = facts.tools.files().iter().find(|f| f.name() == "gauge.rs").unwrap();
    assert_eq!((edited.edits, &*edited.symbols[1].name), (1, "empty_table"));
    let says: Vec<&str> = edited.written().iter().map(|line| &*line.text).collect();
    assert_eq!(says, ["fn empty_table() {}"]);
    // The user refused this one.
    let refused = facts.tools.files().iter().find(|f| f.name() == "notes.md").unwrap();
    assert_eq!((refused.edits, refused.created, refused.written().len()), (0, false, 0));
}

#[test]
fn a_failed_test_is_shown_with_its_fix() {
    let facts = read(&story());
    assert_eq!(
        failure(&facts.tools.failures[0]),
        "[5] Bash `cargo test -p gauge`: error: TideGauge::read_level panicked → changed gauge.rs; other tests passed in [9]"
    );
}

#[test]
fn a_failure_that_the_same_command_no_longer_reports_is_not_open() {
    let run = |n: usize, text: &str| {
        let id = format!("t{n}");
        [calls(&id, "Bash", &json!({ "command": "mise run test" })), gives(&id, text, true)]
    };
    let (tide, lamp) = ("--- FAIL: TestTide (0.1s)", "--- FAIL: TestLamp (0.1s)");
    // After each text: the message of which the first failure says that it was no longer reported.
    for (texts, expect) in [
        (vec![tide, lamp], Some(4)),
        (vec![tide, lamp, lamp], Some(4)),
        (vec![tide, tide], None),
        (vec![tide, lamp, tide], None),
        (vec![tide, lamp, tide, lamp], Some(8)),
        // The compiler failed, so no test ran.
        (vec![tide, "error[E0308]: mismatched types"], None),
    ] {
        let runs: Vec<Value> =
            texts.iter().enumerate().flat_map(|(n, text)| run(n, text)).collect();
        let facts = read(&runs);
        let first = &facts.tools.failures[0];
        assert_eq!(first.gone.map(|seq| seq.0), expect, "{texts:?}");
        assert_eq!(first.is_open(), expect.is_none(), "{texts:?}");
    }
    let facts = read(&[run(0, tide), run(1, lamp)].concat());
    assert_eq!(
        failure(&facts.tools.failures[0]),
        "[2] Bash `mise run test`: --- FAIL: TestTide (0.1s) → no longer reported in [4]"
    );
}

#[test]
fn a_message_is_read_once() {
    let all = messages(&story());
    let mut facts = Facts::default();
    for message in all.iter().chain(&all[..3]) {
        facts.observe(message);
    }
    let once = read(&story());
    assert_eq!(facts.user, once.user);
    assert_eq!(
        facts.names.get("TideGauge").unwrap().count,
        once.names.get("TideGauge").unwrap().count
    );
}

#[test]
fn names_in_recent_and_frequent_use_rank_first() {
    let mut values = vec![user("look at old_helper once")];
    for _ in 0..30 {
        values.push(says("now new_helper, then the rest"));
        values.push(user("go on"));
    }
    let facts = read(&values);
    let ranked = facts.names.ranked(&facts.moment());
    let place = |name: &str| ranked.iter().position(|r| r.name == name).unwrap();
    assert!(place("new_helper") < place("old_helper"), "{ranked:?}");
    assert!(ranked.iter().all(|r| (0.0..=1.0).contains(&r.need)));
}

#[test]
fn names_from_programs_count_as_seen() {
    let facts = read(&[user("<local-command-stdout>made_by_program</local-command-stdout>")]);
    assert!(facts.user.is_empty());
    assert_eq!(facts.names.get("made_by_program").unwrap().spoken, 0);
}
