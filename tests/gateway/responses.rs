//! Tests of the Responses API.

use std::io::Write;

use bethink_harness::http::connect;
use bethink_harness::{Answer, Home, Request};
use bethink_model_server::{Fault, Script};
use serde_json::{Value, json};

use crate::world::{World, read_until};

const PATH: &str = "/openai/v1/responses";

fn respond(world: &World, body: &Value) -> Answer {
    world.send(&Request::new("POST", PATH).json(body))
}

fn body(input: &Value) -> Value {
    json!({"model": "scripted-1", "store": false, "prompt_cache_key": "session-5", "input": input,
        "tools": [{"type": "function", "name": "Read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}]})
}

fn developer() -> Value {
    json!({"type": "message", "role": "developer", "content": "Be brief."})
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn output(call: &Value, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call["call_id"], "output": text})
}

/// Returns the items of a streamed answer.
fn streamed_items(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    let done = events.filter(|event| event["type"] == "response.output_item.done");
    done.map(|event| event["item"].clone()).collect()
}

/// The next request of a client that leaves ids and reasoning out, and writes arguments again.
fn carelessly(items: &[Value]) -> Vec<Value> {
    let said = items.iter().filter(|item| item["type"] != "reasoning").cloned();
    said.map(|mut item| {
        let members = item.as_object_mut().unwrap();
        members.remove("id");
        members.remove("status");
        if let Some(arguments) = members.get_mut("arguments") {
            *arguments = json!(arguments.as_str().unwrap().replace("\":", "\": "));
        }
        item
    })
    .collect()
}

#[test]
fn a_conversation_is_kept_and_goes_on() {
    let mut script = Script::first(&[Fault::ToolLoop]);
    script.thinking = true;
    let world = World::new(script);
    let mut items = vec![developer(), user("Why is the build red?")];
    let first = respond(&world, &body(&json!(items))).ok();
    let said = first["output"].as_array().unwrap().clone();
    assert_eq!(
        (said[0]["type"].as_str(), said[1]["type"].as_str()),
        (Some("reasoning"), Some("function_call"))
    );
    items.extend(carelessly(&said));
    items.push(output(&said[1], "red.rs"));
    let mut next = body(&json!(items));
    next["stream"] = json!(true);
    let answer = respond(&world, &next).text();
    assert!(answer.contains("event: response.completed"), "{answer}");
    assert_eq!(world.seen().body, next.to_string().into_bytes());
    let said = streamed_items(&answer);
    items.extend(said.clone());
    items.push(user("Mend it."));
    assert_eq!(respond(&world, &body(&json!(items))).status, 200);
    let histories = world.histories(6);
    assert_eq!(histories.len(), 1, "{histories:#?}");
    assert_eq!(
        histories[0][1]["content"][0]["encrypted_content"],
        first["output"][0]["encrypted_content"]
    );
    assert_eq!(histories[0][2]["content"][0]["content"], "red.rs");
    assert_eq!(world.server.counts().invalid_prompts, 0);
    let sessions = world.daemon.client().get("/v1/sessions").ok();
    assert_eq!(sessions["sessions"][0]["title"], "Why is the build red?");
}

fn small(home: Home) -> Home {
    home.with("BETHINK_CONTEXT__WINDOW", "16000")
}

/// A client that never trims its history stays within the window, and every prompt is valid.
#[test]
fn a_prompt_never_exceeds_the_window() {
    let mut script = Script::good();
    (script.window, script.thinking) = (Some(16_000), true);
    let world = World::with(script, small);
    let late =
        json!({"type": "message", "role": "developer", "content": "Mind the green boathouse."});
    let mut items = vec![developer(), user("Read all files."), late.clone()];
    for n in 0..24 {
        let id = format!("call_{n}");
        let call = json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": id, "name": "Read",
            "arguments": json!({"path": format!("file{n}.rs")}).to_string()});
        let reasoning = json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": [], "encrypted_content": format!("secret {n}")});
        items.extend([
            reasoning,
            call.clone(),
            output(&call, &format!("line {n} of the file\n").repeat(200)),
        ]);
        let answer = respond(&world, &body(&json!(items)));
        assert_eq!(answer.status, 200, "{n}: {}", answer.brief());
        items.extend(answer.ok()["output"].as_array().unwrap().clone());
        items.push(user(&format!("And file {}?", n + 1)));
    }
    assert_eq!(respond(&world, &body(&json!(items))).status, 200);
    let counts = world.server.counts();
    assert_eq!((counts.over_window, counts.invalid_prompts), (0, 0), "{counts:?}");
    let sent: Value = serde_json::from_slice(&world.seen().body).unwrap();
    let sent = sent["input"].as_array().unwrap();
    assert_eq!((&sent[0], sent.contains(&late)), (&developer(), true));
    assert!(sent.contains(&user("And file 24?")), "the newest turn is there");
    assert!(sent.len() < items.len(), "{} {}", sent.len(), items.len());
    let histories = world.histories(99);
    assert_eq!(histories.len(), 1);
}

/// A client that names the answer it continues sends only what is new.
#[test]
fn a_chain_of_answers_is_one_session() {
    let world = World::with(Script::good(), small);
    let chained = |previous: Option<&Value>, text: &str| {
        let mut body = json!({"model": "scripted-1", "instructions": "Be brief.", "input": text});
        if let Some(previous) = previous {
            body["previous_response_id"] = previous["id"].clone();
        }
        body
    };
    let first = respond(&world, &chained(None, "Why is the build red?")).ok();
    let next = chained(Some(&first), "Mend it.");
    let second = respond(&world, &next).ok();
    assert_eq!(world.seen().body, next.to_string().into_bytes());
    assert_eq!(world.histories(4).len(), 1);
    // The same answer continued twice is a fork.
    respond(&world, &chained(Some(&first), "Leave it.")).ok();
    assert_eq!(world.histories(8).len(), 2);
    let mut last = second;
    for n in 0..12 {
        last = respond(&world, &chained(Some(&last), &format!("{n} {}", "and so on ".repeat(600))))
            .ok();
    }
    let sent: Value = serde_json::from_slice(&world.seen().body).unwrap();
    assert_eq!(sent["previous_response_id"], Value::Null, "the provider's history is too long");
    assert!(world.seen().tokens < 16_000, "{}", world.seen().tokens);
    assert_eq!(world.server.counts().invalid_prompts, 0);
    assert_eq!(world.histories(8 + 24).len(), 2);
}

#[test]
fn an_unknown_answer_is_for_the_provider() {
    let world = World::new(Script::good());
    let body = json!({"model": "scripted-1", "previous_response_id": "resp_nobody", "input": "hi"});
    let answer = respond(&world, &body);
    assert_eq!(
        (answer.status, answer.json()["error"]["code"].as_str()),
        (400, Some("previous_response_not_found"))
    );
    assert_eq!(world.seen().body, body.to_string().into_bytes());
    assert!(world.histories(0).is_empty());
}

/// A request for a title belongs to the session of its agent.
#[test]
fn side_calls_are_not_sessions_of_their_own() {
    let world = World::new(Script::good());
    let mut title = body(&json!([
        developer(),
        user("Generate a title for this conversation:\n"),
        user("Fix the door")
    ]));
    title.as_object_mut().unwrap().remove("tools");
    let key = |request: Request| world.send(&request.header("session-id", "s-1")).status;
    assert_eq!(key(Request::new("POST", PATH).json(&title)), 200);
    let agent = body(&json!([developer(), user("Fix the door")]));
    assert_eq!(key(Request::new("POST", PATH).json(&agent)), 200);
    assert_eq!(key(Request::new("POST", PATH).json(&title)), 200);
    world.histories(5);
    let listed = world.daemon.client().get("/v1/sessions").ok();
    let agents =
        listed["sessions"].as_array().unwrap().iter().filter(|s| s["title"] == "Fix the door");
    assert_eq!(agents.count(), 1, "{listed:#}");
}

#[test]
fn a_websocket_is_refused_so_that_clients_use_http() {
    let world = World::new(Script::good());
    let capability = world.capability("openai");
    let addr = world.daemon.addr();
    let mut stream = connect(addr).unwrap();
    let head = format!(
        "GET {capability}/v1/responses HTTP/1.1\r\nHost: {addr}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read_until(&mut stream, "}}");
    assert!(answer.starts_with("HTTP/1.1 426"), "{answer}");
    assert!(
        answer.contains("x-should-retry: false")
            && answer.contains("\"code\":\"websocket_not_served\""),
        "{answer}"
    );
    let secret = capability.rsplit('/').next().unwrap();
    assert!(
        secret.len() > 10 && !answer.contains(secret) && !world.daemon.home.log().contains(secret)
    );
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn a_compressed_body_passes_as_it_is_and_is_kept() {
    let world = World::new(Script::good());
    let send = |encoding: &str, bytes: &[u8]| {
        let request = Request::new("POST", PATH).bytes("application/json", bytes);
        world.send(&request.header("content-encoding", encoding))
    };
    let text =
        |n: usize| body(&json!([user(&format!("Why is build {n} red?"))])).to_string().into_bytes();
    for (n, (encoding, bytes)) in
        [("gzip", gzip(&text(1))), ("zstd", zstd(&text(2)))].iter().enumerate()
    {
        let answer = send(encoding, bytes);
        assert_eq!(answer.status, 200, "{encoding}: {}", answer.brief());
        assert_eq!(&world.seen().body, bytes);
        assert_eq!(world.histories(2 * (n + 1)).len(), n + 1);
    }
    let bomb = zstd(&vec![b' '; 64 << 20]);
    let answer = send("zstd", &bomb);
    assert_eq!(
        (answer.status, answer.json()["error"]["code"].as_str()),
        (413, Some("request_too_large"))
    );
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    let answer = send("br", b"xxxx");
    assert_eq!(answer.status, 415, "{}", answer.brief());
    // What nobody can read is for the provider to refuse.
    send("zstd", b"nonsense");
    assert_eq!(world.seen().body, b"nonsense");
}

#[test]
fn other_routes_pass() {
    let world = World::new(Script::good());
    let stored = respond(&world, &json!({"model": "m", "input": "hi"})).ok();
    let id = stored["id"].as_str().unwrap();
    let get = |path: &str| world.send(&Request::new("GET", &format!("/openai/v1/{path}"))).ok();
    assert_eq!(get(&format!("responses/{id}"))["id"], id);
    assert_eq!(get(&format!("responses/{id}/input_items"))["data"][0]["content"], "hi");
    assert_eq!(get("models/gpt-5.1")["id"], "gpt-5.1");
    let post = |path: &str, body: Value| {
        world.send(&Request::new("POST", &format!("/openai/v1/{path}")).json(&body)).ok()
    };
    assert_eq!(post(&format!("responses/{id}/cancel"), json!({}))["id"], id);
    assert_eq!(post("embeddings", json!({"input": "x"}))["data"][0]["object"], "embedding");
    assert!(
        post("responses/input_tokens", json!({"model": "m", "input": "hello"}))["input_tokens"]
            .as_u64()
            > Some(0)
    );
    let compacted = post("responses/compact", json!({"model": "m", "input": "hi"}));
    assert_eq!(compacted["output"][1]["type"], "compaction");
    let deleted = world.send(&Request::new("DELETE", &format!("/openai/v1/responses/{id}"))).ok();
    assert_eq!(deleted["deleted"], true);
    let odd = world.send(&Request::new("GET", "/openai/v1/responses/..%2fmodels"));
    assert_eq!((odd.status, odd.header("x-should-retry")), (400, Some("false")));
    assert_eq!(world.histories(2).len(), 1, "only one of them is a conversation");
}

#[test]
fn a_broken_provider_breaks_nothing() {
    let world =
        World::with(Script::good(), |home| home.with("BETHINK_GATEWAY__IDLE_TIMEOUT_MS", "300"));
    let mut asked = body(&json!([user("hi")]));
    asked["stream"] = json!(true);
    for fault in [
        Fault::EofWithoutStop,
        Fault::ResetMidStream,
        Fault::HalfClose,
        Fault::HangMidStream,
        Fault::CloseBeforeHeaders,
        Fault::UnknownEvents,
        Fault::OddSse,
        Fault::ErrorMidStream,
    ] {
        world.server.set_script(Script::always(fault));
        let sent = world.daemon.client().send(&Request::new("POST", PATH).json(&asked));
        match fault {
            Fault::CloseBeforeHeaders => {
                let answer = sent.unwrap();
                assert_eq!(
                    (answer.status, answer.json()["error"]["param"].clone()),
                    (502, Value::Null)
                );
            }
            Fault::UnknownEvents | Fault::OddSse | Fault::ErrorMidStream => {
                assert_eq!(sent.unwrap().status, 200, "{fault:?}");
            }
            _ => assert!(sent.is_err(), "{fault:?} ended well: {:?}", sent.map(|a| a.text())),
        }
    }
    world.server.set_script(Script::good());
    assert_eq!(respond(&world, &asked).status, 200);
    assert!(!world.daemon.home.log().contains("panicked"));
}

/// What is not a request of this API is for the provider to refuse, and too much is refused at once.
#[test]
fn bad_input_hangs_nothing() {
    let world = World::new(Script::good());
    let deep = format!(r#"{{"model":"m","input":{}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    let deep_item = format!(
        r#"{{"model":"m","input":[{{"role":"user","content":"x","y":{}1{}}}]}}"#,
        "[".repeat(300),
        "]".repeat(300)
    );
    for garbage in ["", "{", "[]", r#"{"input":7}"#, "{\"input\":\"\u{1}\"}", &deep, &deep_item] {
        let request = Request::new("POST", PATH).bytes("application/json", garbage.as_bytes());
        let answer = world.send(&request);
        assert!(answer.status < 500, "{}: {}", answer.status, answer.brief());
        assert_eq!(world.seen().body, garbage.as_bytes());
    }
    let not_utf8 = [b"{\"model\":\"m\",\"input\":\"".as_slice(), &[0xff, 0xfe], b"\"}"].concat();
    world.send(&Request::new("POST", PATH).bytes("application/json", &not_utf8));
    assert_eq!(world.seen().body, not_utf8);
    let large = body(&json!([user(&"x".repeat(60 << 20))])).to_string();
    let answer =
        world.send(&Request::new("POST", PATH).bytes("application/json", large.as_bytes()));
    assert_eq!(
        (answer.status, answer.json()["error"]["type"].as_str()),
        (413, Some("invalid_request_error"))
    );
}

/// Both of OpenAI's formats in one session.
#[test]
fn a_client_may_change_its_format() {
    let world = World::new(Script::good());
    let chat = |messages: Value| {
        let mut body = body(&Value::Null);
        body["messages"] = messages;
        body.as_object_mut().unwrap().remove("input");
        world.chat(&body).ok()["choices"][0]["message"]["content"].clone()
    };
    let said = chat(json!([{"role": "user", "content": "Why is the build red?"}]));
    let answer = json!({"role": "assistant", "content": [{"type": "output_text", "text": said}]});
    respond(&world, &body(&json!([user("Why is the build red?"), answer, user("Mend it.")]))).ok();
    let histories = world.histories(4);
    assert_eq!(histories.len(), 1, "{histories:#?}");
}
