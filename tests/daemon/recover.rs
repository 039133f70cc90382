//! After a provider refused a prompt: the step for each class of error, and the next prompt.

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, EventStream, Home, Request, prompt, say, until};
use serde_json::{Value, json};

/// An error in Anthropic's format.
fn refusal(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011C"})
}

fn too_long(input: u64, limit: u64) -> Value {
    let message = format!("prompt is too long: {input} tokens > {limit} maximum");
    json!({"status": 400, "error": refusal("invalid_request_error", &message)})
}

/// A session whose prompts are refused, and its event stream.
struct Refused {
    daemon: Daemon,
    session: String,
    events: EventStream,
}

impl Refused {
    fn new(daemon: Daemon, window: u64, messages: &[Value]) -> Self {
        let session = daemon.session(window);
        if !messages.is_empty() {
            daemon.append(&session, messages);
        }
        let events = daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
        Self { daemon, session, events }
    }

    /// A session with turns of work, and a last request.
    fn worked(window: u64, turns: usize) -> Self {
        let mut messages: Vec<Value> = (0..turns).flat_map(|n| say::work(n, 3000)).collect();
        messages.push(say::user("Go on."));
        Self::new(Daemon::fresh(), window, &messages)
    }

    fn path(&self, what: &str) -> String {
        format!("/v1/sessions/{}/{what}", self.session)
    }

    fn prompt(&self) -> Value {
        let answer = self.daemon.client().post(&self.path("context"), &json!({})).ok();
        assert_eq!(prompt::faults_of(&answer), [""; 0]);
        answer
    }

    fn history(&self) -> Value {
        self.daemon.client().get(&self.path("messages?limit=1000")).ok()
    }

    /// Asks for the step, with the prompts before and after it. The history must stay, the step must be sent as
    /// an event, and the next prompt must differ unless the step keeps it.
    #[track_caller]
    fn recover(&mut self, said: &Value) -> Step {
        let (before, history) = (self.prompt(), self.history());
        let told = self.daemon.client().post(&self.path("recover"), said).ok();
        let event = self.events.next_of("recovery").json();
        for member in ["class", "step", "detail"] {
            assert_eq!(event[member], told[member], "{member}: {event} {told}");
        }
        assert_eq!(self.history(), history, "history is never edited");
        let after = self.prompt();
        let step = told["step"].as_str().unwrap().to_owned();
        assert_eq!(told["retry"], step != "none", "{told}");
        let stays = ["wait", "none", "shrink_output"].contains(&step.as_str());
        assert_eq!(before["messages"] == after["messages"], stays, "{told}");
        Step { told, before, after }
    }
}

struct Step {
    told: Value,
    before: Value,
    after: Value,
}

impl Step {
    #[track_caller]
    fn is(&self, class: &str, step: &str) -> &Self {
        let told = &self.told;
        assert_eq!((&told["class"], &told["step"]), (&json!(class), &json!(step)), "{told}");
        assert!(!told["detail"].as_str().unwrap().is_empty(), "{told}");
        self
    }

    /// The provider's count of the prompt after the step, if it counted `input` before it.
    fn counted(&self, input: u64) -> u64 {
        let size = |answer: &Value| answer["report"]["tokens"].as_u64().unwrap();
        input * size(&self.after) / size(&self.before)
    }

    fn says(&self, words: &str) -> bool {
        self.told["detail"].as_str().unwrap().contains(words)
    }
}

#[test]
fn a_prompt_that_is_too_long_is_compacted_once_below_the_limit() {
    let mut refused = Refused::worked(200_000, 60);
    let step = refused.recover(&too_long(211_539, 200_000));
    step.is("overflow", "compact");
    assert_eq!(
        (&step.told["input_tokens"], &step.told["limit"]),
        (&json!(211_539), &json!(200_000))
    );
    assert!(step.counted(211_539) < 200_000, "{}", step.told);
    let listed = refused.daemon.client().get(&refused.path("compactions")).ok();
    assert_eq!(listed["compactions"][0]["id"], step.told["compaction"], "{listed}");
    assert_eq!(listed["compactions"][0]["trigger"], "reactive", "{listed}");
    refused.recover(&too_long(205_000, 200_000)).is("overflow", "none");
    // After an answer, the next refusal starts again.
    refused.daemon.append(&refused.session, &[say::assistant("On I go.")]);
    let more: Vec<Value> = (60..100).flat_map(|n| say::work(n, 3000)).collect();
    refused.daemon.append(&refused.session, &more);
    refused.daemon.append(&refused.session, &[say::user("And now?")]);
    refused.recover(&too_long(201_000, 200_000)).is("overflow", "compact");
}

#[test]
fn the_provider_may_take_far_less_than_the_session_believes() {
    let mut refused = Refused::worked(200_000, 60);
    let input = refused.prompt()["report"]["tokens"].as_u64().unwrap();
    let message = format!(
        "This model's maximum context length is 16385 tokens. However, your messages resulted in {input} tokens. Please reduce the length of the messages."
    );
    let said = json!({"status": 400, "error": {"error": {"message": message,
        "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}});
    let step = refused.recover(&said);
    step.is("overflow", "compact");
    assert!(step.counted(input) < 16_385, "{}", step.told);
    assert!(step.says("set its model.context_window to 16385"), "{}", step.told);
    // From now on the smaller window is used, without further refusals.
    for n in 60..100 {
        refused.daemon.append(&refused.session, &[say::assistant("On I go.")]);
        refused.daemon.append(&refused.session, &say::work(n, 3000));
        refused.daemon.append(&refused.session, &[say::user("Go on.")]);
        let tokens = refused.prompt()["report"]["tokens"].as_u64().unwrap();
        assert!(tokens < 16_385, "{tokens} in turn {n}");
    }
}

#[test]
fn an_overflow_without_a_limit_leaves_less_than_what_was_refused() {
    for said in [
        json!({"status": 400, "error": "Input is too long for requested model."}),
        json!({"error": {"error": {"code": "context_length_exceeded", "param": "input",
            "message": "Your input exceeds the context window of this model. Please adjust your input and try again."}}}),
        json!({"status": 413, "error": refusal("request_too_large", "Request exceeds the maximum size")}),
    ] {
        let mut refused = Refused::worked(200_000, 30);
        let step = refused.recover(&said);
        assert_eq!(step.told["step"], "compact", "{}", step.told);
        assert!(step.counted(1_000) < 800, "{}", step.told);
        assert_eq!(refused.recover(&said).told["step"], "none");
    }
}

#[test]
fn what_no_compaction_can_help_is_said() {
    let mut small = Refused::worked(200_000, 10);
    let step = small.recover(&too_long(9_000, 4_096));
    assert!(step.is("overflow", "none").says("4096"), "{}", step.told);
    let mut short = Refused::new(Daemon::fresh(), 200_000, &[say::user("hello")]);
    short.recover(&too_long(211_539, 200_000)).is("overflow", "none");
    let huge = too_long(u64::MAX, 200_000);
    Refused::worked(200_000, 10).recover(&huge).is("overflow", "none");
}

#[test]
fn staged_spans_give_way_before_anything_is_compacted() {
    let daemon = Home::new().with("BETHINK_CONTEXT__COLLAPSE", "true").start();
    let mut refused = Refused::new(daemon, 60_000, &[]);
    for n in 0..30 {
        refused.daemon.append(&refused.session, &say::work(n, 3000));
        refused.prompt();
    }
    refused.daemon.append(&refused.session, &[say::user("Go on.")]);
    let is_staged = || {
        let listed = refused.daemon.client().get(&refused.path("collapses")).ok();
        let all = listed["collapses"].as_array().unwrap();
        (all.iter().filter(|span| span["state"] == "staged").count() >= 3).then_some(())
    };
    until(PATIENCE, is_staged).expect("spans are staged");
    let mut steps = Vec::new();
    while steps.last().is_none_or(|last| last != "none") {
        assert!(steps.len() < 10, "{steps:?}");
        let step = refused.recover(&too_long(61_000, 60_000));
        if step.told["step"] != "none" {
            assert!(step.counted(10_000) < 10_000, "smaller each time: {steps:?} {}", step.told);
        }
        steps.push(step.told["step"].as_str().unwrap().to_owned());
    }
    assert_eq!(steps[0], "collapse", "{steps:?}");
    assert_eq!(steps[steps.len() - 2..], ["compact", "none"], "{steps:?}");
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_shorter_once() {
    let mut refused = Refused::worked(200_000, 30);
    let message = "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again";
    let said = json!({"status": 400, "error": refusal("invalid_request_error", message), "max_tokens": 64_000});
    let step = refused.recover(&said);
    assert_eq!(step.is("output_overflow", "shrink_output").told["max_tokens"], 21_041);
    let again = refused.recover(&said);
    assert!(again.is("output_overflow", "compact").counted(178_959) < 178_959 - 64_000);
    refused.recover(&said).is("output_overflow", "none");
}

/// The limit for the answer does not change the prompt.
#[test]
fn an_answers_own_limit_compacts_nothing() {
    let mut refused = Refused::worked(200_000, 30);
    let message = "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5";
    let said = json!({"status": 400, "error": refusal("invalid_request_error", message)});
    let step = refused.recover(&said);
    assert_eq!(step.is("output_overflow", "shrink_output").told["max_tokens"], 64_000);
    refused.recover(&said).is("output_overflow", "none");
    refused.daemon.append(&refused.session, &[say::assistant("I see."), say::user("Go on.")]);
    let small = json!({"status": 400, "max_tokens": 512,
        "error": "max_tokens must be less than or equal to 512"});
    let step = refused.recover(&small);
    assert!(step.is("output_overflow", "none").says("512 or less"), "{}", step.told);
}

fn image() -> Value {
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    json!({"type": "image", "source": source})
}

fn holds(answer: &Value, kind: &str) -> usize {
    answer["messages"].to_string().matches(&format!("\"type\":\"{kind}\"")).count()
}

#[test]
fn images_that_are_too_large_are_left_out_once() {
    let call = say::call("t1", "Screenshot", &json!({}));
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1",
        "content": [{"type": "text", "text": "the screen"}, image()]}]});
    let seen = json!({"role": "user", "content": [{"type": "text", "text": "Look"}, image()]});
    let messages = [seen.clone(), call, result];
    let mut refused = Refused::new(Daemon::fresh(), 200_000, &messages);
    let message = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes";
    let said = json!({"status": 400, "error": refusal("invalid_request_error", message)});
    let step = refused.recover(&said);
    step.is("media_too_large", "strip_media");
    assert_eq!((holds(&step.before, "image"), holds(&step.after, "image")), (2, 0));
    assert!(prompt::readable(&step.after).contains("the screen"));
    refused.recover(&said).is("media_too_large", "none");
    refused.daemon.append(&refused.session, &[say::assistant("I see."), seen]);
    let later = refused.recover(&said);
    later.is("media_too_large", "strip_media");
    assert_eq!((holds(&later.before, "image"), holds(&later.after, "image")), (1, 0));
}

/// Turns whose answers have thinking.
fn thought(turns: std::ops::Range<usize>) -> Vec<Value> {
    let mut messages: Vec<Value> = turns.flat_map(|n| say::work(n, 600)).collect();
    for message in messages.iter_mut().filter(|message| message["role"] == "assistant") {
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
        message["content"].as_array_mut().unwrap().insert(0, thinking);
    }
    messages.push(say::user("Go on."));
    messages
}

fn bound() -> Value {
    let message = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";
    json!({"status": 400, "error": refusal("invalid_request_error", message)})
}

#[test]
fn thinking_that_is_bound_elsewhere_is_left_out_once() {
    let mut refused = Refused::new(Daemon::fresh(), 200_000, &thought(0..6));
    let step = refused.recover(&bound());
    step.is("thinking_bound", "strip_thinking");
    assert_eq!((holds(&step.before, "thinking"), holds(&step.after, "thinking")), (12, 0));
    refused.recover(&bound()).is("thinking_bound", "none");
    // New thinking belongs to the current prompt.
    refused.daemon.append(&refused.session, &thought(6..7)[1..]);
    assert_eq!(holds(&refused.prompt(), "thinking"), 2);
}

/// Old results are cleared in the prompt; thinking before the first of them is still valid.
#[test]
fn thinking_is_left_out_from_the_first_edit_on() {
    let mut messages = thought(0..12);
    messages.iter_mut().for_each(|m| m["created_at"] = json!("2026-01-01T00:00:00Z"));
    let mut refused = Refused::new(Daemon::fresh(), 200_000, &messages);
    let first = refused.prompt();
    assert_eq!(first["report"]["stages"][0]["stage"], "microcompact", "{}", first["report"]);
    let step = refused.recover(&bound());
    step.is("thinking_bound", "strip_thinking");
    assert_eq!((holds(&step.before, "thinking"), holds(&step.after, "thinking")), (24, 1));
    refused.recover(&bound()).is("thinking_bound", "none");
}

#[test]
fn what_may_pass_is_waited_for_and_not_for_ever() {
    let mut refused = Refused::worked(200_000, 1);
    let busy =
        json!({"status": 529, "error": refusal("overloaded_error", "Overloaded"), "attempt": 1});
    let limited =
        json!({"status": 429, "error": refusal("rate_limit_error", "This request would exceed")});
    let with = |said: &Value, field: &str, value: Value| {
        let mut said = said.clone();
        said[field] = value;
        said
    };
    for (attempt, wait) in [(1, 1_000), (2, 2_000), (3, 4_000)] {
        let step = refused.recover(&with(&busy, "attempt", json!(attempt)));
        assert_eq!(step.is("overloaded", "wait").told["wait_ms"], wait);
    }
    refused.recover(&with(&busy, "attempt", json!(4))).is("overloaded", "none");
    refused.recover(&with(&busy, "attempt", json!(u32::MAX))).is("overloaded", "none");
    let step = refused.recover(&with(&limited, "retry_after", json!(7)));
    assert_eq!(step.is("rate_limited", "wait").told["wait_ms"], 7_000);
    let hours = refused.recover(&with(&limited, "retry_after", json!(7_200)));
    assert!(hours.is("rate_limited", "none").says("7200 s"), "{}", hours.told);
    // A part of the answer was shown, so the call is not repeated.
    let heard = refused.recover(&with(&busy, "heard", json!(true)));
    assert!(heard.is("overloaded", "none").says("after part of it was shown"), "{}", heard.told);
}

/// If a client does not count its tries, the daemon does; a new message resets the count.
#[test]
fn tries_are_bounded_also_where_nobody_counts_them() {
    let mut refused = Refused::worked(200_000, 1);
    let said = json!({"status": 500, "error": refusal("api_error", "Internal server error")});
    for wait in [1_000, 2_000, 4_000] {
        assert_eq!(refused.recover(&said).is("server", "wait").told["wait_ms"], wait);
    }
    refused.recover(&said).is("server", "none");
    refused.daemon.append(&refused.session, &[say::user("Once more, please.")]);
    refused.recover(&said).is("server", "wait");
}

#[test]
fn what_asking_again_can_not_help_is_not_asked_again() {
    let mut refused = Refused::worked(200_000, 1);
    let orphan = "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
    for (status, error, class) in [
        (401, refusal("authentication_error", "invalid x-api-key"), "auth"),
        (403, refusal("permission_error", "no"), "auth"),
        (404, refusal("not_found_error", "model: claude-9"), "not_found"),
        (400, refusal("invalid_request_error", orphan), "history"),
        (400, refusal("invalid_request_error", "temperature: must be"), "invalid"),
        (400, refusal("invalid_request_error", "Your credit balance is too low"), "quota"),
        (418, json!("short and stout"), "unknown"),
        (418, json!({}), "unknown"),
        (
            404,
            json!([{"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}}]),
            "not_found",
        ),
    ] {
        refused.recover(&json!({"status": status, "error": error})).is(class, "none");
    }
}

#[test]
fn bad_input_is_refused_by_its_field() {
    let refused = Refused::worked(200_000, 1);
    let mut client = refused.daemon.client();
    let error = refusal("overloaded_error", "Overloaded");
    for (body, field) in [
        (json!({"error": null}), "error"),
        (json!({"error": 529}), "error"),
        (json!({"error": false}), "error"),
        (json!({"status": 529}), "error"),
        (json!({"error": error, "status": 99_999}), "status"),
        (json!({"error": error, "status": 7}), "status"),
        (json!({"error": error, "status": "529"}), "status"),
        (json!({"error": error, "retry_after": -1}), "retry_after"),
        (json!({"error": error, "retry_after": 1e300}), "retry_after"),
        (json!({"error": error, "retry_after": "7"}), "retry_after"),
        (json!({"error": error, "attempt": 0}), "attempt"),
        (json!({"error": error, "attempt": -1}), "attempt"),
        (json!({"error": error, "max_tokens": 0}), "max_tokens"),
    ] {
        let problem = client.post(&refused.path("recover"), &body).problem();
        assert_eq!(problem["field"], field, "{body} {problem}");
    }
    for text in [
        r#"{"error": "x", "retry_after": NaN}"#,
        r#"{"error": "x", "retry_after": 1e999}"#,
        "[]",
        "",
    ] {
        let bytes = Request::new("POST", &refused.path("recover"));
        let answer = client.must(&bytes.bytes("application/json", text.as_bytes()));
        assert!(answer.problem()["status"].as_u64() < Some(500), "{text}");
    }
    let deep = format!(r#"{{"error": {}1{}}}"#, r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
    let deep =
        Request::new("POST", &refused.path("recover")).bytes("application/json", deep.as_bytes());
    client.must(&deep).problem();
    // Long and unusual errors are accepted like any other.
    for error in ["x".repeat(4 << 20), "[".repeat(100_000), "\u{1b}[2J\u{202e}prompt".to_owned()] {
        let told = client.post(&refused.path("recover"), &json!({"error": error})).ok();
        assert_eq!((&told["class"], &told["step"]), (&json!("unknown"), &json!("none")));
        let detail = told["detail"].as_str().unwrap();
        assert!(detail.len() < 4_000 && !detail.contains(['\u{1b}', '\u{202e}']), "{detail}");
    }
    let empty = refused.daemon.session(200_000);
    let problem = client.post(&format!("/v1/sessions/{empty}/recover"), &too_long(2, 1)).problem();
    assert_eq!(problem["status"], 409, "{problem}");
    let nobody = "/v1/sessions/01890a5d-ac96-774b-bcce-b302099a8057/recover";
    assert_eq!(client.post(nobody, &too_long(2, 1)).problem()["status"], 404);
    refused.daemon.is_well();
}
