//! The protocol itself: versions, what is offered, and what is refused in which words.

use bethink_harness::http::Request;
use serde_json::{Value, json};

use crate::desk::{Desk, VERSION};

const OWN: &str = "io.modelcontextprotocol/";

fn initialize(version: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

#[test]
fn every_version_with_a_handshake_is_agreed_on() {
    let desk = Desk::new();
    let agree = |version: &str| {
        let request = Request::new("POST", "/mcp")
            .json(&initialize(version))
            .header("Accept", "application/json, text/event-stream");
        let answer = desk.daemon.client().must(&request);
        assert!(answer.header("mcp-session-id").is_none(), "each request stands for itself");
        answer.ok()["result"].clone()
    };
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        assert_eq!(agree(version)["protocolVersion"], version);
    }
    let unknown = agree("1999-01-01");
    assert_eq!(unknown["protocolVersion"], VERSION);
    assert_eq!(unknown["serverInfo"]["name"], "bethink");
    let offered: Vec<&String> = unknown["capabilities"].as_object().unwrap().keys().collect();
    assert_eq!(offered, ["prompts", "resources", "tools"]);
    assert_eq!(unknown["capabilities"]["resources"], json!({}), "no subscription is promised");
}

#[test]
fn requests_of_the_version_without_sessions_are_served() {
    let desk = Desk::new();
    let meta = json!({
        format!("{OWN}protocolVersion"): "2026-07-28",
        format!("{OWN}clientCapabilities"): {},
        format!("{OWN}clientInfo"): { "name": "test", "version": "1" },
    });
    let send = |method: &str, params: Value, name: Option<&str>| {
        let mut params = params;
        params["_meta"] = meta.clone();
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let request = Request::new("POST", "/mcp")
            .json(&message)
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("X-Bethink-Project", desk.project())
            .header("Mcp-Method", method);
        let request = name.into_iter().fold(request, |r, name| r.header("Mcp-Name", name));
        desk.daemon.client().must(&request).json()
    };
    let discovered = send("server/discover", json!({}), None);
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    let called = send(
        "tools/call",
        json!({ "name": "recall", "arguments": { "query": "fog" } }),
        Some("recall"),
    );
    assert_eq!(called["result"]["structuredContent"]["searched"], 0, "{called}");
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    // A header that says something else than the body misleads whoever routes by it.
    let other = send("tools/call", json!({ "name": "recall", "arguments": {} }), Some("memory"));
    assert_eq!(other["error"]["code"], -32_020, "{other}");
    let listen = send("subscriptions/listen", json!({ "notifications": {} }), None);
    assert_eq!(listen["error"]["code"], -32_601, "{listen}");
}

#[test]
fn what_is_no_message_is_answered_in_the_protocols_words() {
    let desk = Desk::new();
    let send = |body: &[u8]| {
        let request = Request::new("POST", "/mcp")
            .bytes("application/json", body)
            .header("Accept", "application/json, text/event-stream");
        let answer = desk.daemon.client().must(&request);
        (answer.status, answer.json()["error"]["code"].as_i64().unwrap())
    };
    for (body, code) in [
        (&b"{"[..], -32_700),
        (b"", -32_700),
        (b"\xff\xfe", -32_700),
        (b"[]", -32_600),
        (b"5", -32_600),
        (b"{}", -32_600),
        (br#"{"jsonrpc":"2.0","id":1,"method":4}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32_600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32_600),
    ] {
        assert_eq!(send(body), (400, code), "{}", String::from_utf8_lossy(body));
    }
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"recall","arguments":{}1{}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    assert_eq!(send(deep.as_bytes()), (400, -32_700));
    desk.daemon.is_well();
}

#[test]
fn a_message_has_a_size() {
    let desk = Desk::new();
    let call = |bytes: usize| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "memory", "arguments": {
                "command": "create", "path": "/memories/a.md", "file_text": "x".repeat(bytes) } } })
    };
    let answer = desk.send(&call(8 << 20));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (413, &json!(-32_600)));
    // A message that is let in may still hold too long a memory.
    let answer = desk.send(&call(2 << 20)).json();
    assert_eq!(answer["result"]["isError"], true);
    let told = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("would be 2097152 bytes"), "{told}");
    desk.daemon.is_well();
}

#[test]
fn methods_and_names_that_are_not_there() {
    let desk = Desk::new();
    let code = |method: &str, params: Value| desk.ask(method, &params)["error"]["code"].clone();
    assert_eq!(code("nothing/here", json!({})), -32_601);
    assert_eq!(code("logging/setLevel", json!({ "level": "info" })), -32_601);
    assert_eq!(code("resources/subscribe", json!({ "uri": "bethink://notes/x" })), -32_601);
    assert_eq!(code("tools/call", json!({ "name": "rm", "arguments": {} })), -32_602);
    assert_eq!(code("prompts/get", json!({ "name": "nothing" })), -32_602);
    assert_eq!(code("prompts/get", json!({ "name": "recall" })), -32_602);
    assert_eq!(
        code("prompts/get", json!({ "name": "recall", "arguments": { "query": 5 } })),
        -32_602
    );
    assert_eq!(code("resources/read", json!({ "uri": "file:///etc/passwd" })), -32_002);
    assert_eq!(
        code("resources/read", json!({ "uri": "bethink://memory/private/..%2F..%2Fx" })),
        -32_602
    );
    assert_eq!(code("resources/read", json!({ "uri": "bethink://memory/private/none" })), -32_002);
    assert_eq!(code("resources/list", json!({ "cursor": "not one" })), -32_602);
    let wrong = |method: &str, params: &Value| {
        let error = desk.ask(method, params)["error"].clone();
        assert_eq!(error["code"], -32_602, "{method} {params}: {error}");
        error["message"].as_str().unwrap().to_owned()
    };
    for (params, said) in [
        (json!({ "name": 5 }), "`name`"),
        (json!({ "arguments": {} }), "`name`"),
        (json!({ "name": "recall", "arguments": [1] }), "`arguments`"),
        (json!({ "name": "recall", "arguments": "x" }), "`arguments`"),
    ] {
        let told = wrong("tools/call", &params);
        assert!(told.contains(said), "{params}: {told}");
    }
    assert!(wrong("resources/read", &json!({})).contains("`uri`"));
    assert!(wrong("initialize", &json!({})).contains("`protocolVersion`"));
    let unknown = desk.ask("nothing/here", &json!({}))["error"]["message"].clone();
    assert!(unknown.as_str().unwrap().contains("tools/call"), "{unknown}");
    assert_eq!(desk.result("ping", &json!({})), json!({}));
    // Some models encode the arguments as a string.
    let encoded = json!({ "name": "recall", "arguments": r#"{"query":"x"}"# });
    assert_eq!(desk.result("tools/call", &encoded)["isError"], false);
    desk.daemon.is_well();
}

#[test]
fn the_endpoint_has_one_method_and_wants_the_token() {
    let desk = Desk::new();
    for method in ["GET", "DELETE", "PUT"] {
        let answer = desk.daemon.client().must(&Request::new(method, "/mcp"));
        assert_eq!(answer.status, 405, "{method}");
    }
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let mut client = desk.daemon.client();
    let anonymous = client.must(&desk.request(&message).anonymous());
    assert_eq!(anonymous.status, 401);
    // The daemon's own pages may ask, as any that the guard lets in from this machine; no other page may.
    let own = format!("http://{}", desk.daemon.addr());
    assert_eq!(client.must(&desk.request(&message).header("Origin", &own)).status, 200);
    for origin in
        ["https://evil.example", "http://127.0.0.1:1", "null", "http://localhost.evil.example"]
    {
        let answer = client.must(&desk.request(&message).header("Origin", origin));
        assert_eq!(answer.status, 403, "{origin}: {}", answer.brief());
    }
    let not_json = Request::new("POST", "/mcp")
        .bytes("text/plain", message.to_string().as_bytes())
        .header("Accept", "application/json, text/event-stream");
    assert_eq!(client.must(&not_json).status, 415);
    let wants_html = Request::new("POST", "/mcp").json(&message).header("Accept", "text/html");
    let answer = client.must(&wants_html);
    assert_eq!((answer.status, &answer.json()["id"]), (406, &json!(1)));
}

/// A stop does not wait for clients that keep their connections.
#[test]
fn a_stop_is_not_held_up() {
    let mut desk = Desk::new();
    let mut client = desk.daemon.client();
    client.must(&desk.request(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))).ok();
    let begun = std::time::Instant::now();
    assert!(desk.daemon.terminate().success());
    assert!(begun.elapsed() < bethink_harness::daemon::STOP);
}
