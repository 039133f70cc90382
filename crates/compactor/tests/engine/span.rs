//! The text of a collapsed span.

use std::sync::Arc;

use bethink_compactor::{SpanRequest, write_span};
use bethink_context::{Hints, History};
use bethink_transcript::Message;
use serde_json::{Value, json};

use crate::support::{answer, call, history, result, say};

fn request(history: &History, covered: usize, max_bytes: usize) -> SpanRequest {
    let all: Vec<Arc<Message>> = history.entries().iter().map(|e| Arc::clone(&e.message)).collect();
    let (messages, after) = all.split_at(covered);
    SpanRequest {
        id: "00000000-0000-7000-8000-000000000007".parse().unwrap(),
        messages: messages.to_vec(),
        after: after.to_vec(),
        max_bytes,
        hints: Hints { session: "S".to_owned() },
    }
}

fn write(history: &History, covered: usize, max_bytes: usize) -> String {
    let text = write_span(&request(history, covered, max_bytes)).unwrap();
    assert!(text.len() <= max_bytes, "{} bytes of {max_bytes}: {text}", text.len());
    text
}

fn story() -> Vec<Value> {
    vec![
        say("The gauge shows the tide of yesterday.\nMend it in gauge.rs, please."),
        call("t1", "Read", &json!({ "file_path": "/proj/src/gauge.rs" })),
        result("t1", "fn tide_now() -> Level { todo() }"),
        call(
            "t2",
            "Edit",
            &json!({ "file_path": "/proj/src/gauge.rs", "old_string": "fn tide_now() {}",
                "new_string": "fn tide_now() {}\nfn tide_at(t: Time) {}" }),
        ),
        result("t2", "done"),
        call("t3", "Bash", &json!({ "command": "cargo test -p gauge" })),
        result("t3", "error[E0425]: cannot find value `epoch`"),
        answer(
            "We should keep `tide_now` and put the time into `tide_at`, because callers pass it.",
        ),
        say("no, rename it to tide_of"),
        answer("Renamed: it is `tide_of` everywhere, and PortalBuoy reads it too."),
        // After the span.
        call("t4", "Bash", &json!({ "command": "cargo test -p gauge" })),
        result("t4", "test result: ok. 12 passed"),
    ]
}

#[test]
fn a_span_in_short() {
    let text = write(&history(&story()), 10, 3_000);
    insta::assert_snapshot!(text, @r#"
    [Messages 1 to 10 are shortened here; the messages below continue from them. Numbers in brackets are message numbers; `bethink expand 00000000-0000-7000-8000-000000000007 --session S` shows the messages in full]
    The user said:
    [1] The gauge shows the tide of yesterday.
    Mend it in gauge.rs, please.
    [9] no, rename it to tide_of
    Statements and decisions:
    - [8] (see the user's reply in [9]) We should keep `tide_now` and put the time into `tide_at`, because callers pass it.
    - [10] Renamed: it is `tide_of` everywhere, and PortalBuoy reads it too.
    Files:
    Paths are relative to /proj/src/.
    - gauge.rs (edited, read, last [4]):
      fn tide_at(t: Time) {}
    Commands and calls:
    - `cargo test -p gauge` failed in [6]: error[E0425]: cannot find value `epoch`
    Errors:
    - [7] Bash `cargo test -p gauge`: error[E0425]: cannot find value `epoch` → worked again in [12]
    "#);
}

#[test]
fn a_small_room_is_kept_and_too_small_a_one_refused() {
    let history = history(&story());
    for max_bytes in [400, 500, 700, 1_000, 2_000] {
        let text = write(&history, 10, max_bytes);
        assert!(text.starts_with("[Messages 1 to 10 are shortened here"), "{text}");
        assert!(text.contains("tide"), "{text}");
    }
    assert!(write_span(&request(&history, 10, 200)).is_err());
    assert!(write_span(&request(&history, 0, 3_000)).is_err());
}

#[test]
fn the_users_words_stand_there_as_they_were_said() {
    let words = "Use  two  spaces,\nand a \"quote\" & 潮.";
    let giant = "paste ".repeat(5_000);
    let history = history(&[say(words), answer("ok"), say(&giant), answer("read")]);
    let text = write(&history, 4, 3_000);
    assert!(text.contains(words), "{text}");
    assert!(text.contains("bytes left out") && text.contains("[3] paste"), "{text}");
}
