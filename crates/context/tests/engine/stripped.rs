//! Blocks that a provider refuses are left out of the view from then on.

use bethink_context::{Decision, Decisions, Stripped};
use serde_json::json;

use crate::histories::{answer, apply, call, history, push, read, result, say, seq, thought};

fn stripped(what: Stripped, from: u64, through: u64) -> Decision {
    Decision::Stripped { what, from: seq(from), through: seq(through), made_after: seq(through) }
}

#[test]
fn images_and_documents_become_words_wherever_they_stand() {
    let image = json!({ "type": "image", "source": { "type": "base64", "data": "aGk=" } });
    let mut history = history(&[
        json!({ "role": "user", "content": [{ "type": "text", "text": "look" }, image] }),
        call("A", "t1", "Read", "a.png"),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": [image] } ] }),
        answer("a gauge"),
    ]);
    let mut decisions = Decisions::default();
    apply(&mut decisions, &history, &[stripped(Stripped::Media, 1, 4)]);
    push(&mut history, &json!({ "role": "user", "content": [image] }));
    let read = read(&history, &decisions);
    assert_eq!(read.matches("left out: it was too large").count(), 2, "{read}");
    assert!(decisions.is_stripped(Stripped::Media, seq(4)));
    assert!(!decisions.is_stripped(Stripped::Media, seq(5)), "what comes later is shown");
}

#[test]
fn thinking_goes_from_a_message_on_and_what_is_thought_later_stays() {
    let mut history = history(&[
        say("go"),
        thought("A", "first"),
        call("A", "t1", "Bash", ""),
        result("t1", "ok"),
        thought("B", "second"),
        call("B", "t2", "Bash", ""),
        result("t2", "ok"),
    ]);
    let mut decisions = Decisions::default();
    apply(&mut decisions, &history, &[stripped(Stripped::Thinking, 5, 7)]);
    push(&mut history, &thought("C", "third"));
    push(&mut history, &call("C", "t3", "Bash", ""));
    let read = read(&history, &decisions);
    assert_eq!(read.matches("<thinking>").count(), 2, "{read}");
    assert!(read.contains("3 assistant: →Bash t2"), "{read}");
}
