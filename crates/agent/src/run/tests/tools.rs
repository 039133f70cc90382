//! Which calls are made, and what the model is told about the others.

use super::*;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn allowed_calls_are_made_and_answered_in_order_in_one_message() {
    let thought = r#"{"type":"thinking", "thinking":"hm\u0020","signature":"s"}"#.to_owned();
    let first = [
        thought,
        text("I edit. "),
        call("t1", "edit", NOTES),
        call("t2", "edit", r#"{"path":"../notes.md"}"#),
        call("t3", "edit", NOTES),
    ];
    let (script, world, edit) =
        (Script::new([calls(&first), says("done")]), World::default(), Edit::default());
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert_eq!((done.text.as_str(), &done.ended, done.turns), ("done", &Ended::Done, 2));
    assert_eq!(edit.made.lock().unwrap().len(), 2);
    assert_eq!(done.denials.len(), 1);
    let second = &script.asked()[1];
    insta::assert_snapshot!(reads(second, 1), @r#"
    1 assistant: {"type":"thinking", "thinking":"hm\u0020","signature":"s"}
    1 assistant: I edit. 
    1 assistant: {"type":"tool_use","id":"t1","name":"edit","input":{"path":"notes.md"}}
    1 assistant: {"type":"tool_use","id":"t2","name":"edit","input":{"path":"../notes.md"}}
    1 assistant: {"type":"tool_use","id":"t3","name":"edit","input":{"path":"notes.md"}}
    2 user: t1 ok: edited
    2 user: t2 error: Denied: only notes.md
    2 user: t3 ok: edited
    "#);
    let first = script.asked()[0].messages_json();
    assert!(second.messages_json().starts_with(first.strip_suffix(b"]").unwrap()));
    let ok = |ok| AgentStep::Called { tool: "edit".to_owned(), ok };
    let denied = AgentStep::Denied(done.denials[0].clone());
    assert_eq!(*world.steps.lock().unwrap(), [denied, ok(true), ok(true)]);
}

#[test]
fn what_is_not_allowed_is_denied_and_the_model_told_why() {
    let huge = format!(r#"{{"path":"{}"}}"#, "x".repeat(300_000));
    let first = [
        call("t1", "bash", "{}"),
        call("t2", "edit", "{}"),
        call("t1", "edit", NOTES),
        call("t3", "", NOTES),
        call("t4", "edit file\\u0007", NOTES),
        call("t5", "edit", "[1]"),
        call("t6", "edit", "null"),
        call("t7", "edit", &huge),
        call("t8", "edit", NOTES),
    ];
    let (script, world, edit) =
        (Script::new([calls(&first), says("well")]), World::default(), Edit::default());
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert_eq!(done.denials.len(), 9);
    assert!(edit.made.lock().unwrap().is_empty());
    insta::assert_snapshot!(reads(&script.asked()[1], 1), @r#"
    1 assistant: {"type":"tool_use","id":"t1","name":"bash","input":{}}
    1 assistant: {"type":"tool_use","id":"t2","name":"edit","input":{}}
    1 assistant: {"type":"tool_use","id":"t8","name":"edit","input":{"path":"notes.md"}}
    2 user: t1 error: You may not call "bash" here. Allowed tools: edit.
    2 user: t2 error: Denied: only notes.md
    2 user: t8 error: Not called: at most 5 calls are allowed per answer. Repeat this call in your next answer.
    2 user: A call to "edit" was left out: its id was already used.
    A call to "" was left out: a tool's name must consist of 1 to 128 letters, digits, _ or -.
    A call to "edit file" was left out: a tool's name must consist of 1 to 128 letters, digits, _ or -.
    A call to "edit" was left out: its input is not a JSON object.
    A call to "edit" was left out: its input is not a JSON object.
    A call to "edit" was left out: its input is 300011 bytes; at most 262144 are allowed.
    "#);
}

/// A tool that denies every call with a long reason.
struct Talks;

impl Tool for Talks {
    fn name(&self) -> &str {
        "talk"
    }

    fn permit(&self, _: ToolCall<'_>) -> Permit {
        Permit::Deny("no ".repeat(10_000))
    }

    fn run<'a>(&'a self, _: ToolCall<'a>) -> Done<'a> {
        Box::pin(async { Ok(String::new()) })
    }
}

#[test]
fn a_reason_is_bounded() {
    let script = Script::new([calls(&[call("t1", "talk", "{}")]), says("well")]);
    let done = forked(&script, &World::default(), &[&Talks], BUDGET).unwrap();
    assert!(done.denials[0].reason.len() < 600);
    assert!(reads(&script.asked()[1], 2).len() < 600);
}

#[test]
fn an_id_of_an_earlier_turn_is_used_too() {
    let same = [call("t1", "edit", NOTES)];
    let (script, world, edit) = (
        Script::new([calls(&same), calls(&same), says("well")]),
        World::default(),
        Edit::default(),
    );
    let done = forked(&script, &world, &[&edit], BUDGET).unwrap();
    assert_eq!((edit.made.lock().unwrap().len(), done.denials.len()), (1, 1));
    insta::assert_snapshot!(reads(&script.asked()[2], 1), @r#"
    1 assistant: {"type":"tool_use","id":"t1","name":"edit","input":{"path":"notes.md"}}
    2 user: t1 ok: edited
    2 user: A call to "edit" was left out: its id was already used.
    "#);
}

#[test]
fn a_call_in_an_answer_that_was_cut_off_is_not_made() {
    let cut = reply(Stop::MaxTokens, &[text("I"), call("t1", "edit", NOTES)]);
    let (script, edit) = (Script::new([Ok(cut), says("done")]), Edit::default());
    let budget = Budget { max_output: 1, ..BUDGET };
    let done = forked(&script, &World::default(), &[&edit], budget).unwrap();
    assert_eq!((edit.made.lock().unwrap().len(), done.denials.len()), (0, 1));
    insta::assert_snapshot!(reads(&script.asked()[1], 2), @"2 user: t1 error: Not called: your answer was cut off at the output limit. Repeat the call in a shorter answer.");
}

/// A tool whose calls end only after two of them have begun.
#[derive(Default)]
struct Meet(AtomicUsize);

impl Tool for Meet {
    fn name(&self) -> &str {
        "meet"
    }

    fn permit(&self, _: ToolCall<'_>) -> Permit {
        Permit::Allow
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Done<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let met = || self.0.load(Ordering::SeqCst) >= 2;
            poll_fn(|_| if met() { Poll::Ready(()) } else { Poll::Pending }).await;
            if call.input == "{}" { Ok("é".repeat(40_000)) } else { Err(" ".to_owned()) }
        })
    }
}

#[test]
fn calls_of_one_answer_run_at_the_same_time_and_their_output_is_bounded() {
    let first = [call("t1", "meet", "{}"), call("t2", "meet", r#"{"n":1}"#)];
    let script = Script::new([calls(&first), says("done")]);
    forked(&script, &World::default(), &[&Meet::default()], BUDGET).unwrap();
    let read = reads(&script.asked()[1], 2);
    let (long, empty) = read.split_once("\n2 user: t2").unwrap();
    assert!(
        long.ends_with("é\n[cut here; the whole text is 80000 bytes]"),
        "{}",
        &long[long.len() - 60..]
    );
    assert!(long.len() < 50_100);
    assert_eq!(empty, " error: (no output)");
}
