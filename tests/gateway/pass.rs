//! Tests that bytes and headers are forwarded.

use bethink_harness::Request;
use bethink_model_server::Script;
use serde_json::{Value, json};

use crate::world::{KEY, World, body, streamed};

/// The session ID in Claude Code's form.
const USER: &str = "user_a1_account_0197f3c2-7d1e-7c55-9d0e-2a4f6c8e0b13_session_0197f3c2-7d1e-7c55-9d0e-2a4f6c8e0b14";

/// A body that no serializer of ours would write.
const ODD: &str = "{ \"x_unknown\" : {\"b\":1e2, \"a\":[ ]},\n \"model\":\"scripted-1\",\"max_tokens\":1000 ,\"messages\":[ {\"role\":\"user\",\"content\":[{\"text\":\"h\\u0069\",\"type\":\"text\",\"cache_control\":{\"type\":\"ephemeral\"}}]} ],\"metadata\":{\"user_id\":\"u\"} }";

#[test]
fn a_request_that_needs_no_change_goes_up_unchanged_to_the_byte() {
    let world = World::new(Script::good());
    for n in 0..3 {
        let body = ODD.replace("x_unknown", &format!("x_unknown_{n}"));
        let path = "/anthropic/v1/messages?beta=true";
        let request = Request::new("POST", path)
            .bytes("application/json", body.as_bytes())
            .header("anthropic-version", "2023-06-01");
        let answer = world.send(&request);
        assert_eq!(answer.ok()["content"][0]["type"], "text");
        assert_eq!(String::from_utf8(world.seen().body).unwrap(), body);
    }
    assert_eq!(world.server.counts().invalid_envelopes, 0);
}

#[test]
fn what_was_asked_and_answered_is_kept() {
    let world = World::new(Script::good());
    let named = |mut body: Value| {
        body["metadata"] = json!({"user_id": USER});
        body
    };
    let first = world.ask(&named(body("Why is the build red?"))).ok();
    let histories = world.histories(2);
    assert_eq!(histories.len(), 1, "{histories:?}");
    assert_eq!(histories[0][0]["role"], "user");
    assert_eq!(histories[0][1]["content"], first["content"]);
    let second = json!([
        {"role": "user", "content": "Why is the build red?"},
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": "Mend it."},
    ]);
    let mut next = streamed("");
    next["messages"] = second;
    assert!(world.ask(&named(next)).text().contains("message_stop"));
    let histories = world.histories(4);
    assert_eq!(histories.len(), 1, "a session that goes on is one: {histories:?}");
    assert_eq!(histories[0][3]["content"][0]["text"], "I have read 3 messages → and go on.");
    assert!(!world.daemon.home.log().contains(KEY));
}

#[test]
fn headers_pass_both_ways_but_for_those_of_one_connection() {
    let world = World::new(Script::good());
    let request = Request::new("POST", "/anthropic/v1/messages")
        .json(&body("hi"))
        .header("anthropic-version", "2023-06-01")
        .header("anthropic-beta", "fine-grained-tool-streaming-2025-05-14")
        .header("x-stainless-lang", "python")
        .header("user-agent", "client/1")
        .header("cookie", "a=b")
        .header("accept-encoding", "gzip, br")
        .header("x-bethink-project", "/tmp")
        .header("x-api-key", "client's own");
    let answer = world.send(&request);
    assert!(answer.header("request-id").unwrap().starts_with("req_"), "{:?}", answer.headers);
    let seen = world.seen();
    let header = |name: &str| seen.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    assert_eq!(header("anthropic-beta"), Some("fine-grained-tool-streaming-2025-05-14"));
    assert_eq!(
        (header("x-stainless-lang"), header("user-agent")),
        (Some("python"), Some("client/1"))
    );
    assert_eq!(header("accept-encoding"), Some("identity"));
    assert_eq!(header("x-api-key"), Some(KEY));
    assert_eq!(header("host"), Some(world.server.url().trim_start_matches("http://")));
    for gone in ["cookie", "x-bethink-project", "authorization"] {
        assert_eq!(header(gone), None, "{gone}");
    }
}

#[test]
fn counts_and_models_pass() {
    let world = World::new(Script::good());
    let count = Request::new("POST", "/anthropic/v1/messages/count_tokens").json(&body("hello"));
    assert!(world.send(&count).ok()["input_tokens"].as_u64().unwrap() > 0);
    for path in ["/anthropic/v1/models", "/openai/v1/models"] {
        assert_eq!(world.send(&Request::new("GET", path)).ok()["data"][0]["id"], "scripted-1");
    }
    for wire in ["anthropic", "openai"] {
        let path = format!("{}/v1/models", world.capability(wire));
        let answer = world.send(&Request::new("GET", &path).anonymous());
        assert_eq!(answer.ok()["data"][0]["id"], "scripted-1");
    }
    assert_eq!(world.histories(0).len(), 0, "nothing of that is a session");
}

#[test]
fn instructions_that_the_client_sends_are_not_added_again() {
    const RULE: &str = "Paint every boat in the harbour green.";
    let world = World::new(Script::good());
    let project = world.daemon.home.scratch().join("harbour");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("CLAUDE.md"), format!("{RULE}\n")).unwrap();
    let sent = |text: &str| {
        let request = Request::new("POST", "/anthropic/v1/messages").json(&body(text));
        let request = request.header("x-bethink-project", project.to_str().unwrap());
        assert_eq!(world.send(&request.header("x-bethink-inject", "full")).status, 200);
        String::from_utf8(world.seen().body.to_vec()).unwrap()
    };
    assert_eq!(sent("What colour?").matches(RULE).count(), 1, "it is added");
    let own = format!("<system-reminder>CLAUDE.md: {RULE}</system-reminder> What colour?");
    assert_eq!(sent(&own).matches(RULE).count(), 1, "it is there");
}
