//! Tests of Gemini's `generateContent`.

use bethink_harness::{Answer, Home, Request};
use bethink_model_server::{Fault, Script};
use serde_json::{Value, json};

use crate::world::{KEY, World};

const MODEL: &str = "/gemini/v1beta/models/scripted-1";

fn path(method: &str) -> String {
    format!("{MODEL}:{method}")
}

fn generate(world: &World, body: &Value) -> Answer {
    world.send(&Request::new("POST", &path("generateContent")).json(body))
}

fn stream(world: &World, body: &Value) -> Answer {
    let path = path("streamGenerateContent?alt=sse");
    world.send(&Request::new("POST", &path).json(body))
}

fn body(contents: &[Value]) -> Value {
    json!({"contents": contents, "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "Read", "parametersJsonSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]}]})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn response(name: &str, output: &str) -> Value {
    json!({"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": output}}}]})
}

/// Returns the chunks of a streamed answer.
fn chunks(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn parts(chunks: &[Value]) -> Vec<Value> {
    let parts =
        chunks.iter().filter_map(|chunk| chunk["candidates"][0]["content"]["parts"].as_array());
    parts.flatten().cloned().collect()
}

/// The next request of a client that leaves thoughts out, joins texts, and makes up IDs of calls.
fn carelessly(parts: &[Value]) -> Value {
    let mut said = Vec::new();
    let mut text = String::new();
    for part in parts.iter().filter(|part| part["thought"] != true) {
        let mut part = part.clone();
        text.push_str(part["text"].as_str().unwrap_or(""));
        if part["functionCall"].is_object() {
            part["functionCall"]["id"] = json!(format!("made_up_{}", said.len()));
            said.push(part);
        }
    }
    if !text.is_empty() {
        said.insert(0, json!({"text": text}));
    }
    json!({"role": "model", "parts": said})
}

#[test]
fn a_conversation_is_kept_and_goes_on() {
    let mut script = Script::first(&[Fault::ToolLoop]);
    script.thinking = true;
    let world = World::new(script);
    let mut contents = vec![user("Why is the build red?")];
    let first = stream(&world, &body(&contents));
    let said = parts(&chunks(&first.text()));
    assert!(said.iter().any(|part| part["functionCall"].is_object()), "{said:?}");
    contents.push(carelessly(&said));
    contents.push(response("Read", "red.rs"));
    let next = body(&contents);
    let second = generate(&world, &next).ok();
    assert_eq!(world.seen().body, next.to_string().into_bytes());
    contents.push(carelessly(&parts(&[second])));
    contents.push(user("Mend it."));
    let list = Request::new("POST", &path("streamGenerateContent")).json(&body(&contents));
    let list = world.send(&list).ok();
    assert!(list.as_array().unwrap().len() > 1, "{list}");
    let histories = world.histories(6);
    assert_eq!(histories.len(), 1, "{histories:#?}");
    let call = &histories[0][1]["content"];
    assert_eq!(call[0]["type"], "thinking", "{call}");
    assert!(call[1]["part"]["thoughtSignature"].is_string(), "{call}");
    assert_eq!(histories[0][2]["content"][0]["content"], "red.rs");
    assert_eq!(histories[0][5]["content"][1]["text"], "I have read 5 messages → and go on.");
    let counts = world.server.counts();
    assert_eq!((counts.invalid_prompts, counts.invalid_envelopes), (0, 0), "{counts:?}");
    let sessions = world.daemon.client().get("/v1/sessions").ok();
    assert_eq!(sessions["sessions"][0]["title"], "Why is the build red?");
}

/// A body that no serializer of ours would write.
const ODD: &str = "{ \"x_unknown\" : {\"b\":1e2},\n \"contents\":[ {\"parts\":[{\"text\":\"h\\u0069\", \"mood\":null},{\"newPart\":{ }}]} ],\"safetySettings\":[ ]}";

#[test]
fn a_request_that_fits_goes_up_unchanged_to_the_byte() {
    let world = World::new(Script::good());
    for query in [
        "generateContent",
        "streamGenerateContent",
        "streamGenerateContent?alt=sse&prettyPrint=false",
    ] {
        let request = Request::new("POST", &path(query)).bytes("application/json", ODD.as_bytes());
        assert_eq!(world.send(&request).status, 200, "{query}");
        assert_eq!(String::from_utf8(world.seen().body).unwrap(), ODD);
    }
    assert_eq!(world.histories(2).len(), 1);
}

#[test]
fn other_routes_pass() {
    let world = World::new(Script::good());
    let text = json!({"content": user("hello")});
    let post = |method: &str, body: &Value| {
        world.send(&Request::new("POST", &path(method)).json(body)).ok()
    };
    assert!(
        post("countTokens", &json!({"contents": [user("hello")]}))["totalTokens"].as_u64().unwrap()
            > 0
    );
    assert_eq!(post("embedContent", &text)["embedding"]["values"][0], 0.5);
    assert_eq!(
        post("batchEmbedContents", &json!({"requests": [text]}))["embeddings"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let get = |path: &str| world.send(&Request::new("GET", path)).ok();
    assert_eq!(get("/gemini/v1beta/models")["models"][0]["name"], "models/scripted-1");
    assert_eq!(get("/gemini/v1beta/models/m")["name"], "models/m");
    assert_eq!(world.histories(0).len(), 0, "nothing of that is a session");
}

/// The key in the query is neither sent on there nor repeated, and the daemon's token may be in its place.
#[test]
fn a_key_in_the_query_is_not_repeated() {
    const OWN: &str = "AIza-canary-0815";
    let world = World::keyless(Script::good());
    let at = format!(
        "{}/v1beta/models/scripted-1:generateContent?key={OWN}",
        world.capability("gemini")
    );
    let request = Request::new("POST", &at).anonymous().json(&body(&[user("hi")]));
    world.send(&request).ok();
    let seen = world.seen();
    let sent = seen.headers.iter().filter(|(_, value)| value == OWN);
    assert_eq!(sent.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["x-goog-api-key"]);
    world.histories(2);
    let twice = world.send(&request.header("x-goog-api-key", "another"));
    assert_eq!(
        (twice.status, twice.json()["error"]["status"].as_str()),
        (400, Some("INVALID_ARGUMENT"))
    );
    let stale = format!("/gemini/k/stale/v1beta/models/scripted-1:generateContent?key={OWN}");
    let stale = world.send(&Request::new("POST", &stale).anonymous().json(&body(&[user("hi")])));
    assert_eq!(
        (stale.status, stale.json()["error"]["status"].as_str()),
        (401, Some("UNAUTHENTICATED"))
    );
    assert_eq!(stale.header("x-should-retry"), Some("false"));
    assert!(!stale.text().contains("stale/"), "{}", stale.text());
    for answer in [&twice, &stale] {
        assert!(!answer.text().contains(OWN), "{}", answer.text());
    }
    assert!(!world.daemon.home.log().contains(OWN));

    let world = World::new(Script::good());
    let at = path(&format!("generateContent?key={}", world.daemon.token()));
    world.send(&Request::new("POST", &at).anonymous().json(&body(&[user("hi")]))).ok();
    let seen = world.seen();
    assert!(seen.headers.iter().any(|(name, value)| name == "x-goog-api-key" && value == KEY));
    assert!(!seen.headers.iter().any(|(_, value)| value.contains(world.daemon.token())));
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
    let mut contents = vec![user("Read all files.")];
    for n in 0..24 {
        let call = json!({"functionCall": {"name": "Read", "args": {"path": format!("file{n}.rs")}}, "thoughtSignature": format!("c2ln{n}")});
        contents.push(json!({"role": "model", "parts": [call, {"functionCall": {"name": "Read", "args": {}}}]}));
        let mut responses = response("Read", &format!("line {n} of the file\n").repeat(200));
        responses["parts"]
            .as_array_mut()
            .unwrap()
            .push(response("Read", "none")["parts"][0].clone());
        contents.push(responses);
        let answer = generate(&world, &body(&contents));
        assert_eq!(answer.status, 200, "{n}: {}", answer.brief());
        contents.push(answer.ok()["candidates"][0]["content"].clone());
        contents.push(user(&format!("And file {}?", n + 1)));
    }
    let last = generate(&world, &body(&contents)).ok();
    let counts = world.server.counts();
    assert_eq!((counts.over_window, counts.invalid_prompts), (0, 0), "{counts:?}");
    let sent: Value = serde_json::from_slice(&world.seen().body).unwrap();
    let sent = sent["contents"].as_array().unwrap();
    assert!(sent.len() < contents.len(), "{} {}", sent.len(), contents.len());
    let text = sent.last().unwrap().to_string();
    assert!(text.contains("And file 24?"), "the newest turn is there: {text}");
    let calls: Vec<&Value> =
        sent.iter().filter(|content| content["parts"][0]["functionCall"].is_object()).collect();
    assert!(!calls.is_empty() && calls.iter().all(|call| contents.contains(call)), "{calls:?}");
    assert_eq!(world.histories(98).len(), 1);
    contents.push(last["candidates"][0]["content"].clone());
    contents.push(user("And now?"));
    let counted = world.send(&Request::new("POST", &path("countTokens")).json(&body(&contents)));
    assert!(counted.ok()["totalTokens"].as_u64().unwrap() < 16_000);
}

/// A provider whose window is smaller than the table says gets a smaller prompt.
#[test]
fn a_refused_prompt_is_sent_again_smaller() {
    let world = World::new(Script { window: Some(8_000), ..Script::good() });
    let mut contents = Vec::new();
    for n in 0..12 {
        contents.push(user(&format!("{n} {}", "and so on ".repeat(400))));
        contents.push(json!({"role": "model", "parts": [{"text": format!("Yes, {n}.")}]}));
    }
    contents.push(user("And now?"));
    let answer = generate(&world, &body(&contents));
    assert_eq!(answer.status, 200, "{}", answer.brief());
    let requests = world.server.requests();
    assert!(requests.len() > 1 && requests.last().unwrap().tokens < 8_000);
    assert_eq!(world.server.counts().invalid_prompts, 0);
}

#[test]
fn a_client_goes_back_and_the_daemon_restarts() {
    let mut world = World::new(Script::good());
    let first = generate(&world, &body(&[user("Paint the boat.")])).ok();
    let said = first["candidates"][0]["content"].clone();
    generate(&world, &body(&[user("Paint the boat."), said.clone(), user("Green.")])).ok();
    world.histories(4);
    world.daemon.terminate();
    world.daemon.start();
    generate(&world, &body(&[user("Paint the boat."), said, user("No, red.")])).ok();
    let histories = world.histories(8);
    assert_eq!(histories.len(), 2, "the other answer is a fork: {histories:#?}");
}

/// Streams with unknown or missing parts come down as they are. Only whole answers are kept.
#[test]
fn streams_come_down_as_they_are() {
    let world = World::new(Script::good());
    let mut stored = 0;
    for (fault, messages) in [
        (Fault::UnknownEvents, 2),
        (Fault::OddSse, 2),
        (Fault::EofWithoutStop, 1),
        (Fault::ErrorMidStream, 1),
    ] {
        world.server.set_script(Script::always(fault));
        let text = format!("Tell me of {fault:?}");
        let answer = stream(&world, &body(&[user(&text)]));
        assert_eq!(answer.status, 200, "{fault:?}");
        assert!(answer.text().contains("I have read"), "{fault:?}: {}", answer.text());
        // What comes after it is stored after it.
        world.server.set_script(Script::good());
        stream(&world, &body(&[user(&format!("{text}, again"))]));
        stored += messages + 2;
        let histories = world.histories(stored);
        let begins = json!([{"type": "text", "text": text}]);
        let found = histories.iter().find(|history| history[0]["content"] == begins);
        assert_eq!(found.map(Vec::len), Some(messages), "{fault:?}: {histories:#?}");
    }
}

#[test]
fn errors_have_google_s_shape() {
    let world = World::new(Script::always(Fault::RateLimitedLong));
    let answer = generate(&world, &body(&[user("hi")]));
    assert_eq!(
        (answer.status, answer.json()["error"]["status"].as_str()),
        (429, Some("RESOURCE_EXHAUSTED"))
    );
    assert_eq!(answer.header("retry-after"), Some("3600"));
    let world = World::keyless(Script::good());
    let answer = generate(&world, &body(&[user("hi")]));
    let error = &answer.json()["error"];
    assert_eq!(
        (answer.status, error["status"].as_str(), error["code"].as_u64()),
        (401, Some("UNAUTHENTICATED"), Some(401))
    );
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    let odd = world.send(&Request::new("POST", "/gemini/v1beta/models/%2e%2e").json(&json!({})));
    assert_eq!(
        (odd.status, odd.json()["error"]["status"].as_str()),
        (400, Some("INVALID_ARGUMENT"))
    );
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = crate::world::home(&format!("http://{nowhere}"), true).start();
    let answer = daemon.client().post(&path("generateContent"), &body(&[user("hi")]));
    assert_eq!(
        (answer.status, answer.json()["error"]["status"].as_str()),
        (502, Some("UNAVAILABLE"))
    );
}

/// The requests that Gemini CLI sends besides its conversation.
#[test]
fn side_requests_are_not_recorded() {
    const AGENT: &str = "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)";
    let world = World::new(Script::good());
    let send = |body: &Value| {
        let request = Request::new("POST", &path("generateContent")).json(body);
        world.send(&request.header("user-agent", AGENT)).ok()
    };
    let context = "<session_context>\n- **Workspace Directories:**\n  - /\n</session_context>";
    let begin = json!({"role": "user", "parts": [{"text": context}, {"text": "Fix the door"}]});
    let said = send(&body(std::slice::from_ref(&begin)));
    let said = said["candidates"][0]["content"].clone();
    let mut check = body(&[begin.clone(), said.clone(), user("Who speaks next?")]);
    check.as_object_mut().unwrap().remove("tools");
    send(&check);
    send(&body(&[begin, said, user("And the window")]));
    let histories = world.histories(4);
    assert_eq!(histories.iter().map(Vec::len).collect::<Vec<_>>(), [4], "{histories:#?}");
    let sessions = world.daemon.client().get("/v1/sessions").ok();
    let session = &sessions["sessions"][0];
    assert_eq!(
        (session["title"].as_str(), session["project_dir"].as_str()),
        (Some("Fix the door"), Some("/"))
    );
}
