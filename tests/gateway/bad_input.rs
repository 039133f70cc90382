//! Tests with invalid, large or meaningless bodies and answers.

use std::io::Write;
use std::time::{Duration, Instant};

use bethink_harness::Request;
use bethink_harness::http::connect;
use bethink_model_server::{Fault, Script};
use serde_json::{Value, json};

use crate::world::{World, body, read_until, streamed};

#[test]
fn a_body_of_100_mb_is_refused_at_once() {
    let world = World::new(Script::good());
    let (addr, token) = (world.daemon.addr(), world.daemon.token());
    for (path, kind) in [
        ("/anthropic/v1/messages", "request_too_large"),
        ("/openai/v1/chat/completions", "invalid_request_error"),
    ] {
        let start = Instant::now();
        let mut stream = connect(addr).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\nContent-Length: 100000000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let answer = read_until(&mut stream, "}");
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        assert!(answer.contains(kind) && answer.contains("max_body_bytes"), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    }
    // The answer still arrives if the client sends the whole body.
    let large = vec![b' '; 41 << 20];
    let answer = world
        .send(&Request::new("POST", "/anthropic/v1/messages").bytes("application/json", &large));
    assert_eq!(answer.status, 413);
    assert_eq!(world.server.counts().requests, 0);
}

#[test]
fn wrong_headers_of_ours_are_told_in_the_provider_s_shape() {
    let world = World::new(Script::good());
    for (name, value) in
        [("x-bethink-session", "last"), ("x-bethink-inject", "much"), ("x-bethink-project", "here")]
    {
        let request = Request::new("POST", "/anthropic/v1/messages").json(&body("hi"));
        let answer = world.send(&request.header(name, value));
        assert_eq!(answer.status, 400, "{name}");
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains(name));
    }
    let unknown = Request::new("POST", "/anthropic/v1/messages").json(&body("hi"));
    let answer =
        world.send(&unknown.header("x-bethink-session", "01900000-0000-7000-8000-000000000000"));
    assert_eq!(
        (answer.status, answer.json()["error"]["type"].as_str()),
        (404, Some("not_found_error"))
    );
    assert_eq!(world.server.counts().requests, 0);
}

#[test]
fn what_nobody_understands_is_for_the_provider_to_refuse() {
    let world = World::new(Script::good());
    for garbage in
        ["", "{", "[]", "{\"messages\":7}", "\u{1}", "{\"messages\":[{\"role\":\"robot\"}]}"]
    {
        let request = Request::new("POST", "/anthropic/v1/messages");
        let answer = world.send(&request.bytes("application/json", garbage.as_bytes()));
        assert_eq!(String::from_utf8(world.seen().body).unwrap(), garbage);
        assert!(answer.status < 500, "{garbage}: {}", answer.status);
    }
    assert!(world.histories(0).iter().all(Vec::is_empty), "nothing of that is kept");
}

/// The provider fails in every way that ends by itself. The client gets an error or the partial answer, but never a wrong
/// success, and the next request succeeds.
#[test]
fn a_provider_that_fails_fails_for_the_client_too() {
    let world =
        World::with(Script::good(), |home| home.with("BETHINK_GATEWAY__IDLE_TIMEOUT_MS", "300"));
    for fault in [
        Fault::CloseBeforeHeaders,
        Fault::ResetBeforeHeaders,
        Fault::ResetMidStream,
        Fault::HalfClose,
        Fault::NotHttp,
        Fault::Redirect,
        Fault::EofWithoutStop,
        Fault::HangBeforeHeaders,
        Fault::HangAfterHeaders,
        Fault::HangMidStream,
        Fault::LengthTooLong,
    ] {
        world.server.set_script(Script::always(fault));
        let sent = world
            .daemon
            .client()
            .send(&Request::new("POST", "/anthropic/v1/messages").json(&streamed("hi")));
        match (fault, sent) {
            (
                Fault::LengthTooLong
                | Fault::EofWithoutStop
                | Fault::ResetMidStream
                | Fault::HalfClose
                | Fault::HangMidStream,
                sent,
            ) => {
                assert!(sent.is_err(), "{fault:?} ended well: {:?}", sent.map(|a| a.text()));
            }
            (_, sent) => {
                let answer = sent.unwrap();
                assert!(
                    matches!(answer.status, 502 | 504),
                    "{fault:?}: {} {}",
                    answer.status,
                    answer.brief()
                );
                assert_eq!(answer.json()["type"], "error", "{fault:?}");
            }
        }
        world.server.set_script(Script::good());
        assert_eq!(world.ask(&body("hi")).status, 200, "after {fault:?}");
    }
    let counts = world.server.counts();
    assert_eq!(counts.elsewhere, 0, "a redirect was followed");
    assert!(!world.daemon.home.log().contains("panicked"));
}

#[test]
fn a_provider_that_is_not_there() {
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = crate::world::home(&format!("http://{nowhere}"), true).start();
    let answer = daemon.client().post("/anthropic/v1/messages", &body("hi"));
    assert_eq!(answer.status, 502, "{}", answer.brief());
    assert_eq!(answer.json()["error"]["type"], "api_error");
    let answer = daemon.client().post("/openai/v1/chat/completions", &body("hi"));
    assert_eq!(answer.json()["error"]["code"], json!("upstream_unreachable"));
}

/// A provider's errors are forwarded unchanged: status, body and headers.
#[test]
fn a_provider_s_errors_come_down_as_they_are() {
    let world = World::new(Script::good());
    for (fault, status) in [
        (Fault::Overloaded, 529),
        (Fault::RateLimitedLong, 429),
        (Fault::Invalid, 400),
        (Fault::Overflow, 400),
    ] {
        world.server.set_script(Script::always(fault));
        let before = world.server.counts().requests;
        let answer = world.ask(&streamed("hi"));
        assert_eq!(answer.status, status, "{fault:?}");
        assert_eq!(answer.json()["type"], "error");
        assert!(answer.header("request-id").is_some());
        let waits = matches!(fault, Fault::Overloaded | Fault::RateLimitedLong);
        assert_eq!(answer.header("retry-after").is_some(), waits, "{fault:?}");
        assert_eq!(
            world.server.counts().requests,
            before + 1,
            "{fault:?}: nothing is repeated here"
        );
    }
    world.server.set_script(Script::always(Fault::ErrorMidStream));
    let answer = world.ask(&streamed("hi"));
    assert!(answer.text().contains("event: error"), "{}", answer.brief());
}

/// A request with one turn of the user, on each wire: name, path, and body.
fn on_every_wire(text: &str) -> [(&'static str, &'static str, Value); 4] {
    let said = json!([{"role": "user", "content": text}]);
    [
        ("messages", "/anthropic/v1/messages", streamed(text)),
        ("chat", "/openai/v1/chat/completions", streamed(text)),
        ("responses", "/openai/v1/responses", json!({"model": "m", "stream": true, "input": said})),
        (
            "gemini",
            "/gemini/v1beta/models/m:streamGenerateContent?alt=sse",
            json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}),
        ),
    ]
}

#[test]
fn unknown_events_pass_on_every_wire_and_the_rest_is_kept() {
    let world = World::new(Script::always(Fault::UnknownEvents));
    for (nth, (wire, path, body)) in (1..).zip(on_every_wire("Why is the build red?")) {
        let answer = world.send(&Request::new("POST", path).json(&body));
        assert_eq!(answer.status, 200, "{wire}: {}", answer.brief());
        assert!(answer.text().contains("vendor"), "{wire}: {}", answer.text());
        let histories = world.histories(2 * nth);
        let kept = histories.iter().filter(|history| history.len() == 2).count();
        assert_eq!(kept, nth, "{wire}: {histories:#?}");
    }
}

/// An agent that sends its conversation in all formats names one session, which goes on.
#[test]
fn one_session_goes_on_over_every_wire() {
    const ASKED: [&str; 4] = ["Why is it red?", "Mend it.", "Test it.", "Ship it."];
    let world = World::new(Script::good());
    let said = |n: usize| format!("I have read {} messages \u{2192} and go on.", 2 * n + 1);
    let turns = |n: usize| {
        let both = (0..n).flat_map(move |n| [(true, ASKED[n].to_owned()), (false, said(n))]);
        both.chain([(true, ASKED[n].to_owned())])
    };
    let role = |is_user: bool, answer: &'static str| if is_user { "user" } else { answer };
    let messages = |n: usize| -> Vec<Value> {
        turns(n)
            .map(|(user, text)| json!({"role": role(user, "assistant"), "content": text}))
            .collect()
    };
    let contents = |n: usize| -> Vec<Value> {
        let content =
            |(user, text)| json!({"role": role(user, "model"), "parts": [{"text": text}]});
        turns(n).map(content).collect()
    };
    let mut session = String::new();
    for n in 0..ASKED.len() {
        let (path, body) = match n {
            0 => (
                "/anthropic/v1/messages",
                json!({"model": "m", "max_tokens": 900, "messages": messages(n)}),
            ),
            1 => ("/openai/v1/chat/completions", json!({"model": "m", "messages": messages(n)})),
            2 => ("/openai/v1/responses", json!({"model": "m", "input": messages(n)})),
            _ => ("/gemini/v1beta/models/m:generateContent", json!({"contents": contents(n)})),
        };
        let request = Request::new("POST", path).json(&body);
        let request = if n == 0 { request } else { request.header("x-bethink-session", &session) };
        world.send(&request).ok();
        let histories = world.histories(2 * n + 2);
        assert_eq!(histories.len(), 1, "{path}: {histories:#?}");
        let listed = world.daemon.client().get("/v1/sessions").ok();
        session = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    }
    assert_eq!(world.server.counts().invalid_prompts, 0);
}
