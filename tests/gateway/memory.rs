//! Tests with clients whose history becomes longer than the window.

use bethink_harness::Request;
use bethink_model_server::{Recording, Script};
use serde_json::{Value, json};

use crate::world::World;

const PATH: &str = "/anthropic/v1/messages";
const WINDOW: u64 = 16_000;
const WINDOWS: usize = 10;
/// The provider's window, in tokens as it counts them.
const BYTES_PER_TOKEN: f64 = 3.6;

/// A provider that returns given answers, and rejects prompts longer than its window. It reports no usage, because a
/// recorded answer would have wrong figures.
fn saying(content: &Value) -> Script {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted-1",
        "content": content, "stop_reason": "end_turn", "stop_sequence": null});
    let recording = Recording { kind: "application/json".to_owned(), body: body.to_string() };
    Script { window: Some(WINDOW), recording: Some(recording), ..Script::good() }
}

struct Client {
    said: Vec<Value>,
    tools: Value,
    model: &'static str,
}

impl Client {
    fn new(first: &str) -> Self {
        let tools = json!([{"name": "Read", "description": "Reads a file.",
            "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}]);
        let said = vec![json!({"role": "user", "content": first})];
        Self { said, tools, model: "scripted-1" }
    }

    fn body(&self) -> Value {
        // Agents place a breakpoint at the end.
        let mut said = self.said.clone();
        if let Some(block) = said.last_mut().and_then(|last| last["content"].get_mut(0)) {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
        json!({"model": self.model, "max_tokens": 1_000, "messages": said, "tools": self.tools,
            "metadata": {"user_id": "{\"session_id\":\"one-and-the-same\"}"}})
    }

    /// Sends a request, and handles the answer like an agent.
    fn round(&mut self, world: &World, number: usize) {
        let id = format!("toolu_{number}");
        let content = json!([
            {"type": "text", "text": format!("I read part {number}.")},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("/p/src/part{number}.rs")}},
        ]);
        world.server.set_script(saying(&content));
        let request = Request::new("POST", PATH).json(&self.body());
        let answer = world.send(&request.header("anthropic-version", "2023-06-01")).ok();
        assert_eq!(answer["content"], content);
        self.said.push(json!({"role": "assistant", "content": content}));
        let lines: String = (0..220).map(|n| format!("value {n} of part {number}\n")).collect();
        self.said.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": lines}]}));
    }

    fn windows(&self) -> f64 {
        Value::from(self.said.clone()).to_string().len() as f64 / BYTES_PER_TOKEN / WINDOW as f64
    }
}

fn world() -> World {
    let windows = format!("scripted={WINDOW}");
    World::with(saying(&json!([])), move |home| home.with("BETHINK_CONTEXT__WINDOWS", &windows))
}

fn only_session(world: &World) -> String {
    let all = world.daemon.client().get("/v1/sessions").ok();
    all["sessions"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_of_ten_windows_overflows_nowhere() {
    let world = world();
    let mut client =
        Client::new("The deploy word of the harbour is heliotrope-77. Read all parts.");
    let mut rounds = 0;
    while client.windows() < WINDOWS as f64 {
        client.round(&world, rounds);
        rounds += 1;
    }
    let counts = world.server.counts();
    assert_eq!(counts.over_window, 0);
    assert_eq!((counts.invalid_prompts, counts.invalid_envelopes), (0, 0), "{counts:?}");
    assert_eq!(counts.requests, rounds as u64);
    // The last tool result was not sent.
    let stored = world.histories(client.said.len() - 1);
    assert_eq!(stored.len(), 1);
    let session = only_session(&world);
    let path = format!("/v1/sessions/{session}/search?q=deploy%20word%20harbour");
    let hits = world.daemon.client().get(&path).ok();
    assert_eq!(hits["hits"][0]["seq"], 1, "{hits}");
    let compactions = world.daemon.client().get(&format!("/v1/sessions/{session}/compactions"));
    let compactions = compactions.ok()["compactions"].as_array().unwrap().clone();
    assert!(compactions.len() > 3, "{}", compactions.len());
    // The newest messages are complete, and a summary replaces the oldest.
    let sent = world.seen().json["messages"].as_array().unwrap().clone();
    let newest = |messages: &[Value]| messages.last().unwrap()["content"][0]["content"].clone();
    assert_eq!(newest(&sent), newest(&client.said[..client.said.len() - 2]));
    assert!(Value::from(sent).to_string().contains("heliotrope-77"));
}

#[test]
fn a_kill_loses_nothing_once_the_client_sends_again() {
    let mut world = world();
    let mut client = Client::new("Read all parts.");
    for number in 0..24 {
        client.round(&world, number);
        if number % 3 == 2 {
            // Without a pause, unstored messages are lost and sent again.
            world.daemon.kill9();
            world.daemon.start();
        }
    }
    client.round(&world, 24);
    let histories = world.histories(client.said.len() - 1);
    let whole = histories.iter().max_by_key(|history| history.len()).unwrap();
    let texts = |messages: &[Value]| -> Vec<Value> {
        messages.iter().map(|message| json!([message["role"], message["content"]])).collect()
    };
    assert_eq!(texts(whole), texts(&client.said[..client.said.len() - 1]));
    assert_eq!(histories.len(), 1, "no beginning is stored twice");
    assert_eq!(world.server.counts().over_window, 0);
    assert_eq!(world.server.counts().invalid_prompts, 0);
}

#[test]
fn a_client_that_changes_its_model_and_tools_goes_on_in_its_session() {
    let mut world = world();
    let mut client = Client::new("Read all parts.");
    for number in 0..2 {
        client.round(&world, number);
    }
    world.histories(client.said.len() - 1);
    client.model = "scripted-2";
    client.tools = json!([client.tools[0], {"name": "Write", "input_schema": {"type": "object"}}]);
    for number in 2..12 {
        client.round(&world, number);
    }
    let stored = client.said.len() - 1;
    assert_eq!(world.histories(stored).len(), 1);
    // A new daemon knows no session until a request continues it.
    world.daemon.kill9();
    world.daemon.start();
    client.model = "scripted-3";
    client.round(&world, 12);
    assert_eq!(world.histories(stored + 2).len(), 1);
    assert_eq!(world.server.counts().over_window, 0);
}

#[test]
fn two_clients_with_one_id_and_one_that_goes_back_never_mix() {
    let world = world();
    let mut clients = [Client::new("Read all parts."), Client::new("Read all parts.")];
    for number in 0..4 {
        clients[0].round(&world, number);
        clients[1].round(&world, 100 + number);
    }
    // One client drops its newest messages and continues differently.
    let mut third = Client { said: clients[0].said[..5].to_vec(), ..Client::new("") };
    third.round(&world, 200);
    for client in clients.iter_mut().chain([&mut third]) {
        client.round(&world, 300);
    }
    let wanted: Vec<String> = clients
        .iter()
        .chain([&third])
        .map(|client| Value::from(client.said[..client.said.len() - 1].to_vec()).to_string())
        .collect();
    let found = bethink_harness::until(std::time::Duration::from_secs(20), || {
        let of = |message: &Value| json!({"role": message["role"], "content": message["content"]});
        let all: Vec<String> = (world.histories(1).iter())
            .map(|history| Value::from(history.iter().map(of).collect::<Vec<_>>()).to_string())
            .collect();
        wanted.iter().all(|history| all.contains(history)).then_some(())
    });
    assert!(found.is_some(), "a history is missing");
    assert_eq!(world.server.counts().invalid_prompts, 0);
}

#[test]
fn a_session_can_be_named_and_its_count_keeps_nothing() {
    let world = world();
    let session = world.daemon.session(WINDOW);
    let body = Client::new("hello").body();
    world.server.set_script(saying(&json!([{"type": "text", "text": "yes"}])));
    let counted = Request::new("POST", "/anthropic/v1/messages/count_tokens").json(&body);
    world.send(&counted.header("x-bethink-session", &session)).ok();
    assert!(world.histories(0).iter().all(Vec::is_empty));
    world.send(&Request::new("POST", PATH).json(&body).header("x-bethink-session", &session)).ok();
    let histories = world.histories(2);
    assert_eq!(histories.len(), 1, "{histories:?}");
}
