mod scripted;

use std::time::{Duration, Instant};

use crate::conversation::PromptPart;
use bethink_harness::{Request, until};
use bethink_model_server::{Fault, Script};
use bethink_service::{ErrorKind, ServiceError};
use serde_json::{Value, json};

use super::*;
use scripted::{Memo, World};

const PATIENCE: Duration = Duration::from_secs(10);

fn body(text: &str) -> Value {
    json!({"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": text}]})
}

fn changed(system: Option<&str>, text: &str) -> UpstreamPrompt {
    let written = |role: &str, text: &str| {
        let message = json!({"role": role, "content": [{"type": "text", "text": text}]});
        PromptPart::written(message.to_string())
    };
    let messages = vec![written("user", text), written("assistant", "Yes."), PromptPart::Client(0)];
    UpstreamPrompt::Changed { system_added: system.map(str::to_owned), messages }
}

#[test]
fn what_the_memory_says_goes_up() {
    let world = World::new(Memo::saying([changed(Some("Mind."), "so far")]), Script::good());
    assert_eq!(world.post("/anthropic/v1/messages", &body("hi")).status, 200);
    let sent: Value = serde_json::from_slice(&world.seen().body).unwrap();
    assert_eq!(sent["system"], json!([{"type": "text", "text": "Mind."}]));
    assert_eq!(sent["messages"][0]["content"][0]["text"], "so far");
    assert_eq!(sent["messages"][2], body("hi")["messages"][0]);
    let world = World::new(Memo::saying([changed(Some("Mind."), "so far")]), Script::good());
    assert_eq!(world.post("/openai/v1/chat/completions", &body("hi")).status, 200);
    let sent: Value = serde_json::from_slice(&world.seen().body).unwrap();
    let said: Vec<&str> = (0..4).filter_map(|n| sent["messages"][n]["content"].as_str()).collect();
    assert_eq!(said, ["Mind.", "so far", "Yes.", "hi"]);
    assert_eq!(world.memo.ends(1), [(1, AnswerOutcome::Whole)]);
}

#[test]
fn a_count_is_of_what_would_go_up_and_is_not_heard() {
    let world = World::new(Memo::saying([changed(None, "so far")]), Script::good());
    let path = "/anthropic/v1/messages/count_tokens";
    let long = world.post(path, &body("hi")).ok()["input_tokens"].as_u64().unwrap();
    let short = world.post(path, &body("hi")).ok()["input_tokens"].as_u64().unwrap();
    assert!(long > short, "{long} {short}");
    assert!(world.memo.ends(0).is_empty());
}

#[test]
fn a_prompt_that_is_too_long_is_tried_smaller_twice_at_most() {
    let smaller =
        || [UpstreamPrompt::Unchanged, UpstreamPrompt::Unchanged, UpstreamPrompt::Unchanged];
    let memo = Memo { smaller: smaller().into(), ..Memo::default() };
    let world = World::new(memo, Script::always(Fault::Overflow));
    let answer = world.post("/anthropic/v1/messages", &body("hi"));
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("prompt is too long"), "{}", answer.text());
    assert_eq!(world.server.counts().requests, 3);
    assert_eq!(world.memo.ends(1), [(3, AnswerOutcome::Broken)], "only for the newest ticket");

    let memo = Memo { smaller: smaller().into(), ..Memo::default() };
    let world = World::new(memo, Script::first(&[Fault::Overflow]));
    assert_eq!(world.post("/anthropic/v1/messages", &body("hi")).status, 200);
    assert_eq!(world.memo.ends(1), [(2, AnswerOutcome::Whole)]);

    let memo = Memo { smaller: smaller().into(), ..Memo::default() };
    let world = World::new(memo, Script::first(&[Fault::OverflowAfterOk, Fault::OverflowAfterOk]));
    let mut streamed = body("hi");
    streamed["stream"] = json!(true);
    let answer = world.post("/anthropic/v1/messages", &streamed);
    assert!(answer.text().contains("message_stop"), "{}", answer.text());
    assert_eq!(
        world.memo.ends(1),
        [(3, AnswerOutcome::Whole)],
        "reported as the first event of a stream"
    );
    let world = World::new(Memo::default(), Script::always(Fault::OverflowAfterOk));
    let answer = world.post("/anthropic/v1/messages", &streamed);
    assert!(answer.status == 200 && answer.text().starts_with("event: error"), "{}", answer.text());

    let world = World::new(Memo::default(), Script::always(Fault::Overflow));
    assert_eq!(world.post("/anthropic/v1/messages", &body("hi")).status, 400);
    assert_eq!(world.server.counts().requests, 1, "there is no smaller prompt");
}

#[test]
fn a_refusal_that_is_no_matter_of_size_is_not_tried_again() {
    let smaller = [UpstreamPrompt::Unchanged].into();
    let world = World::new(Memo { smaller, ..Memo::default() }, Script::always(Fault::Overloaded));
    assert_eq!(world.post("/anthropic/v1/messages", &body("hi")).status, 529);
    assert_eq!(world.server.counts().requests, 1);
}

#[test]
fn a_memory_that_fails_stops_no_work() {
    let fails = |kind| Memo { fails: Some(ServiceError::new(kind, "no")), ..Memo::default() };
    let world = World::new(fails(ErrorKind::StorageFull), Script::good());
    assert_eq!(world.post("/anthropic/v1/messages", &body("hi")).status, 200);
    assert_eq!(String::from_utf8(world.seen().body).unwrap(), body("hi").to_string());
    assert!(world.memo.ends(0).is_empty());
    let world = World::new(fails(ErrorKind::NotFound), Script::good());
    assert_eq!(world.post("/anthropic/v1/messages", &body("hi")).status, 404);
    assert_eq!(world.server.counts().requests, 0);
}

/// The client disconnects before a request is sent, while a summary is being written.
#[test]
fn a_client_that_goes_while_the_memory_thinks_ends_it() {
    for _ in 0..5 {
        let world = World::new(Memo { hangs: true, ..Memo::default() }, Script::good());
        let connection = world.open("/anthropic/v1/messages", &body("hi"));
        assert!(until(PATIENCE, || world.memo.thinks().then_some(())).is_some());
        let start = Instant::now();
        drop(connection);
        assert!(until(PATIENCE, || (!world.memo.thinks()).then_some(())).is_some());
        assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
        assert_eq!(world.server.counts().requests, 0);
    }
}

/// The outcome of each request is reported to the planner exactly once.
#[test]
fn every_end_is_heard_once() {
    let odd = [Fault::HangAtAccept, Fault::HugeStream, Fault::HugeEvent, Fault::GzipBomb];
    let faults = Fault::ALL.iter().filter(|fault| !odd.contains(fault) && fault.is_quick());
    for fault in faults {
        for stream in [false, true] {
            let world = World::new(Memo::default(), Script::always(*fault));
            let mut asked = body("hi");
            asked["stream"] = json!(stream);
            let sent = world.send(&Request::new("POST", "/anthropic/v1/messages").json(&asked));
            let heard = world.memo.ends(1);
            assert_eq!(heard.len(), 1, "{fault:?}: {heard:?}");
            let ended = sent.is_ok_and(|answer| answer.status == 200);
            assert!(ended || heard[0].1 != AnswerOutcome::Cancelled, "{fault:?}: {heard:?}");
        }
    }
}
