//! Tests of good answers, of counts, and of requests that the server rejects.

// A failed operation ends the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;

use bethink_harness::{Client, Request, say};
use bethink_model_server::{Fault, Plan, Script, Server, Split};
use serde_json::{Value, json};

const INSTRUCTION: &str = "Answer in <summary>. 1. Primary Request and Intent, and eight more.";

fn client(server: &Server) -> Client {
    let addr: SocketAddr = server.url().strip_prefix("http://").unwrap().parse().unwrap();
    Client::new(addr, "k")
}

fn send(client: &mut Client, path: &str, body: &Value) -> bethink_harness::Answer {
    client.must(&Request::new("POST", path).header("anthropic-version", "2023-06-01").json(body))
}

fn body(messages: &[Value], stream: bool) -> Value {
    json!({"model": "m", "max_tokens": 4000, "stream": stream, "messages": messages})
}

fn session() -> Vec<Value> {
    (0..20).flat_map(|n| say::work(n, 2000)).collect()
}

/// Returns the text of a stream's deltas.
fn heard(text: &str) -> String {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let pieces = data.filter_map(|data| serde_json::from_str::<Value>(data).ok()).filter_map(|v| {
        let text = [&v["delta"]["text"], &v["choices"][0]["delta"]["content"]];
        text.into_iter().find_map(|t| t.as_str().map(str::to_owned))
    });
    pieces.collect()
}

#[test]
fn both_wires_say_the_same_streamed_in_bytes_or_not() {
    let server = Server::start(Script { split: Split::Bytes(1), ..Script::good() }).unwrap();
    let mut client = client(&server);
    let mut messages = session();
    messages.push(say::user(INSTRUCTION));
    let whole = send(&mut client, "/v1/messages", &body(&messages, false)).ok();
    let text = whole["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("## 9. Optional Next Step") && text.contains("handler_19.rs"), "{text}");
    assert_eq!(whole["stop_reason"], "end_turn");
    let streamed = send(&mut client, "/v1/messages", &body(&messages, true)).text();
    assert_eq!(heard(&streamed), text);
    let chat =
        [say::user("We work on src/engine.rs."), json!({"role": "assistant", "content": "Yes."})];
    let chat = [&chat[..], &[say::user(INSTRUCTION)]].concat();
    let whole = send(&mut client, "/v1/chat/completions", &body(&chat, false)).ok();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(text.contains("src/engine.rs"), "{text}");
    let streamed = send(&mut client, "/v1/chat/completions", &body(&chat, true)).text();
    assert_eq!(heard(&streamed), text);
    let counts = server.counts();
    assert_eq!((counts.answered_well, counts.by_purpose["summary"]), (4, 4), "{counts:?}");
    assert_eq!((counts.invalid_prompts, counts.invalid_envelopes), (0, 0), "{counts:?}");
}

#[test]
fn a_longer_prompt_reads_its_beginning_from_the_cache() {
    let server = Server::start(Script::good()).unwrap();
    let mut client = client(&server);
    let mut messages = session();
    let marked = |text: &str| {
        json!({"role": "user", "content": [
            {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]})
    };
    messages.push(marked("Go on."));
    let cold = send(&mut client, "/v1/messages", &body(&messages, false)).ok();
    assert_eq!(cold["usage"]["cache_read_input_tokens"], 0);
    let written = cold["usage"]["cache_creation_input_tokens"].as_u64().unwrap();
    messages.extend([say::assistant("I go on."), marked("And on.")]);
    let warm = send(&mut client, "/v1/messages", &body(&messages, false)).ok();
    let read = warm["usage"]["cache_read_input_tokens"].as_u64().unwrap();
    assert!(read >= written && read < written + 20, "{written} written, {read} read");
}

#[test]
fn invalid_prompts_are_counted_and_refused() {
    let server = Server::start(Script::good()).unwrap();
    let mut client = client(&server);
    let broken = [say::user("a"), say::call("t", "Read", &json!({})), say::user("b")];
    let answer = send(&mut client, "/v1/messages", &body(&broken, false));
    assert_eq!(answer.status, 400, "{}", answer.brief());
    send(&mut client, "/v1/messages", &body(&broken, false));
    let counts = server.counts();
    assert_eq!(
        (counts.invalid_prompts, counts.repeated, counts.answered_well),
        (2, 1, 0),
        "{counts:?}"
    );
    let seen = server.requests();
    assert!(seen[0].prompt_faults[0].contains("without tool_result"), "{:?}", seen[0]);
}

#[test]
fn a_window_decides_by_the_request_alone() {
    let server = Server::start(Script { window: Some(9000), ..Script::good() }).unwrap();
    let mut client = client(&server);
    let messages = session();
    let long = [&messages[..], &[say::user("Go on.")]].concat();
    let refused = send(&mut client, "/v1/messages", &body(&long, false));
    assert!(refused.text().contains("> 9000 maximum"), "{}", refused.brief());
    let half = [&messages[40..], &[say::user("Go on.")]].concat();
    let refused = send(&mut client, "/v1/messages", &body(&half, false));
    assert!(refused.text().contains("+ 4000 > 9000"), "{}", refused.brief());
    send(&mut client, "/v1/messages", &body(&[say::user("Go on.")], false)).ok();
    assert_eq!(server.counts().over_window, 2);
}

#[test]
fn a_script_changes_under_way_and_everything_is_told() {
    let server = Server::start(Script::good()).unwrap();
    let mut client = client(&server);
    let script = json!({"other": ["overloaded"], "notes": {"always": "quota"}});
    client.post("/__script", &script).ok();
    let wrong = client.post("/__script", &json!({"others": []}));
    assert_eq!(wrong.status, 400, "{}", wrong.brief());
    let ask = body(&[say::user("hello")], false);
    let failed = send(&mut client, "/v1/messages", &ask);
    assert_eq!((failed.status, failed.header("retry-after")), (529, Some("1")));
    send(&mut client, "/v1/messages", &ask).ok();
    let counts = client.get("/__counts").ok();
    assert_eq!((&counts["failed"]["overloaded"], &counts["answered_well"]), (&json!(1), &json!(1)));
    let seen = client.get("/__requests").ok();
    assert_eq!((&seen[0]["fault"], &seen[1]["fault"]), (&json!("overloaded"), &Value::Null));
    assert_eq!(seen[1]["json"]["messages"], ask["messages"]);
    assert_eq!(seen[1]["purpose"], "other");
}

#[test]
fn thinking_comes_back_behind_the_same_words_or_is_refused() {
    let server = Server::start(Script { thinking: true, ..Script::good() }).unwrap();
    let mut client = client(&server);
    let first = [say::user("hello")];
    let answer = send(&mut client, "/v1/messages", &body(&first, false)).ok();
    assert_eq!(answer["content"][0]["type"], "thinking");
    let spoken = json!({"role": "assistant", "content": answer["content"]});
    let same = [say::user("hello"), spoken.clone(), say::user("go on")];
    send(&mut client, "/v1/messages", &body(&same, false)).ok();
    let other = [say::user("hullo"), spoken, say::user("go on")];
    let refused = send(&mut client, "/v1/messages", &body(&other, false));
    assert!(
        refused.text().contains("messages.1.content.0: Invalid `signature`"),
        "{}",
        refused.brief()
    );
}

#[test]
fn the_faults_of_one_purpose_leave_the_others_alone() {
    let plan = Plan { first: [Fault::ServerError].into(), always: None };
    let server = Server::start(Script { summary: plan, ..Script::good() }).unwrap();
    let mut client = client(&server);
    send(&mut client, "/v1/messages", &body(&[say::user("hello")], false)).ok();
    let sum_up = body(&[say::user(INSTRUCTION)], false);
    assert_eq!(send(&mut client, "/v1/messages", &sum_up).status, 500);
    send(&mut client, "/v1/messages", &sum_up).ok();
}

#[test]
fn tokens_are_counted_and_models_named() {
    let server = Server::start(Script::good()).unwrap();
    let mut client = client(&server);
    let ask = body(&[say::user(&"word ".repeat(720))], false);
    let counted = send(&mut client, "/v1/messages/count_tokens", &ask).ok();
    assert!((1000..1020).contains(&counted["input_tokens"].as_u64().unwrap()), "{counted}");
    assert_eq!(client.get("/v1/models").ok()["data"][0]["id"], "scripted-1");
    assert_eq!(client.get("/v2").status, 404);
}
