//! bethink's own calls for a session of the gateway: what they repeat, and whose model and key they use.

use bethink_harness::Request;
use bethink_model_server::{Fault, Plan, Purpose, Script, Seen, Server};
use serde_json::{Value, json};

use crate::world::{self, World};

const WINDOW: u64 = 16_000;
/// The client's own key, which the daemon does not know.
const OWN_KEY: &str = "sk-of-the-client";
const BETAS: &str = "interleaved-thinking-2025-05-14,extended-cache-ttl-2025-04-11";

/// A client that, like Claude Code, sends two system blocks, breakpoints and thinking.
struct Agent {
    said: Vec<Value>,
}

impl Agent {
    fn new() -> Self {
        Self { said: Vec::new() }
    }

    fn body(&self) -> Value {
        let hour = json!({"type": "ephemeral", "ttl": "1h"});
        let mut said = self.said.clone();
        if let Some(block) = said.last_mut().and_then(|last| last["content"].get_mut(0)) {
            block["cache_control"] = hour.clone();
        }
        json!({"model": "scripted-1", "max_tokens": 2_000, "messages": said,
            "system": [{"type": "text", "text": "You are an agent."},
                {"type": "text", "text": "Work in /p.", "cache_control": hour}],
            "thinking": {"type": "enabled", "budget_tokens": 1_024},
            "tools": [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}],
            "metadata": {"user_id": "{\"session_id\":\"the-agents-own\"}"}})
    }

    fn send(&mut self, world: &World) {
        let path = format!("{}/v1/messages", world.capability("anthropic"));
        let text = format!("Part {}: {}", self.said.len(), "the tide is rising. ".repeat(250));
        self.said.push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
        let request = Request::new("POST", &path).json(&self.body());
        let request = request.header("x-api-key", OWN_KEY).header("anthropic-beta", BETAS);
        let answer = world.send(&request.header("anthropic-version", "2023-06-01")).ok();
        // Clients need not repeat the provider's bytes: this one sends a text.
        let text = answer["content"].as_array().unwrap().iter().find_map(|b| b["text"].as_str());
        self.said.push(json!({"role": "assistant", "content": text.unwrap()}));
    }
}

fn world(script: Script, settings: &[(&str, &str)]) -> World {
    let server = Server::start(Script { window: Some(WINDOW), ..script }).unwrap();
    let home = world::home(&server.url(), true)
        .with("BETHINK_CONTEXT__WINDOWS", &format!("scripted={WINDOW}"))
        .with("BETHINK_MODEL__BASE_URL", &server.url())
        .with("BETHINK_SESSION_MEMORY__ENABLED", "false")
        .with("BETHINK_MEMORY__EXTRACTION", "off");
    let home = settings.iter().fold(home, |home, (name, value)| home.with(name, value));
    World { daemon: home.start(), server }
}

const BY_CLIENT: (&str, &str) = ("BETHINK_GATEWAY__COMPACTION", "client");

fn header<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    seen.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
}

/// Sends requests until one leads to a summary. Returns the last request before it, and the request for the summary.
fn until_summary(world: &World, agent: &mut Agent) -> (Seen, Seen) {
    for _ in 0..20 {
        agent.send(world);
        let all = world.server.requests();
        if let Some(at) = all.iter().position(|seen| seen.purpose == Purpose::Summary) {
            return (all[at - 1].clone(), all[at].clone());
        }
    }
    panic!("no summary was asked for");
}

/// Checks that the request for a summary begins like the client's last one.
#[track_caller]
fn assert_same_prefix(last: &Seen, summary: &Seen) {
    for part in ["system", "tools", "thinking", "metadata", "model"] {
        assert_eq!(summary.json[part], last.json[part], "{part}");
    }
    let (old, new) = (&last.json["messages"], &summary.json["messages"]);
    for (at, message) in old.as_array().unwrap().iter().enumerate() {
        assert_eq!(new[at], *message, "message {at}");
    }
    assert_eq!(header(summary, "anthropic-beta"), Some(BETAS));
}

fn compactions(world: &World) -> Vec<Value> {
    let mut client = world.daemon.client();
    let all = client.get("/v1/sessions").ok();
    let id = all["sessions"][0]["id"].as_str().unwrap().to_owned();
    let compactions = client.get(&format!("/v1/sessions/{id}/compactions")).ok();
    compactions["compactions"].as_array().unwrap().clone()
}

#[test]
fn the_clients_own_model_writes_the_summary() {
    let world = world(Script::good(), &[BY_CLIENT]);
    let mut agent = Agent::new();
    let (last, summary) = until_summary(&world, &mut agent);
    assert_same_prefix(&last, &summary);
    let messages = |seen: &Seen| {
        let body = String::from_utf8(seen.body.clone()).unwrap();
        body.split_once("\"messages\":[").unwrap().1.to_owned()
    };
    let (old, new) = (messages(&last), messages(&summary));
    let old = old.split_once("],\"metadata\"").unwrap().0;
    assert!(new.starts_with(old), "byte for byte");
    assert_eq!(header(&summary, "x-api-key"), Some(OWN_KEY));
    let made = compactions(&world);
    assert_eq!((made.len(), &made[0]["level"]), (1, &json!("full")), "{made:?}");
    let usage = world.daemon.client().get("/v1/usage").ok();
    let row = &usage["rows"][0];
    let answered = row["calls"].as_u64().unwrap() - row["failed"].as_u64().unwrap();
    assert_eq!((&row["purpose"], answered), (&json!("summary"), 1));
    assert_eq!(world.daemon.client().get("/v1/model").ok()["client_summaries"], true);
    // The request itself is forwarded in a shorter form.
    let sent = world.seen();
    assert_eq!(sent.purpose, Purpose::Other);
    assert!(sent.tokens < summary.tokens, "{} {}", sent.tokens, summary.tokens);
    assert!(sent.refused.is_none());
}

#[test]
fn a_client_whose_model_fails_gets_the_embedded_summary() {
    let summary = Plan { always: Some(Fault::WrongKey), ..Plan::default() };
    let world = world(Script { summary, ..Script::good() }, &[BY_CLIENT]);
    let mut agent = Agent::new();
    until_summary(&world, &mut agent);
    let made = compactions(&world);
    assert_eq!((made.len(), &made[0]["level"]), (1, &json!("embedded")), "{made:?}");
    assert_eq!(world.seen().purpose, Purpose::Other);
}

#[test]
fn no_model_is_asked_by_default() {
    let world = world(Script::good(), &[]);
    let mut agent = Agent::new();
    (0..12).for_each(|_| agent.send(&world));
    assert!(!compactions(&world).is_empty());
    assert!(world.server.requests().iter().all(|seen| seen.purpose == Purpose::Other));
    assert_eq!(world.daemon.client().get("/v1/model").ok()["client_summaries"], false);
}

/// The provider's window is smaller than the daemon knows.
#[test]
fn a_refused_request_is_compacted_by_the_clients_own_model() {
    let world = world(Script::good(), &[BY_CLIENT, ("BETHINK_CONTEXT__WINDOWS", "scripted=64000")]);
    world.server.set_script(Script::good());
    let mut agent = Agent::new();
    (0..10).for_each(|_| agent.send(&world));
    let other = Plan { first: [Fault::Overflow].into(), always: None };
    world.server.set_script(Script { other, ..Script::good() });
    agent.send(&world);
    let all = world.server.requests();
    let [.., refused, summary, again] = &all[..] else { panic!("{} requests", all.len()) };
    assert_eq!(refused.fault, Some(Fault::Overflow));
    assert_eq!((summary.purpose, again.purpose), (Purpose::Summary, Purpose::Other));
    assert_eq!(header(summary, "x-api-key"), Some(OWN_KEY));
    let made = compactions(&world);
    let how = (&made[0]["trigger"], &made[0]["level"]);
    assert_eq!(how, (&json!("reactive"), &json!("full")), "{made:?}");
    assert!(again.tokens < refused.tokens, "{} {}", again.tokens, refused.tokens);
}

#[test]
fn a_fork_by_the_configured_model_repeats_the_clients_request() {
    for restarts in [false, true] {
        let mut world = world(Script::good(), &[("BETHINK_MODEL__PROVIDER", "anthropic")]);
        let mut agent = Agent::new();
        (0..2).for_each(|_| agent.send(&world));
        if restarts {
            world.histories(4);
            world.daemon.terminate();
            world.daemon.start();
            let (mut client, before) = (world.daemon.client(), world.seen());
            let id = client.get("/v1/sessions").ok()["sessions"][0]["id"].clone();
            let path = format!("/v1/sessions/{}/compact", id.as_str().unwrap());
            // By hand, before the client sends anything.
            client.post(&path, &json!({"level": "full"}));
            let summary = world.seen();
            assert_eq!(summary.purpose, Purpose::Summary);
            for part in ["system", "tools", "thinking", "metadata"] {
                assert_eq!(summary.json[part], before.json[part], "{part}");
            }
            let newest = before.json["messages"].as_array().unwrap().len() - 1;
            let (old, new) = (&before.json["messages"], &summary.json["messages"]);
            assert_eq!(new[newest], old[newest], "with its breakpoint");
        } else {
            let (last, summary) = until_summary(&world, &mut agent);
            assert_same_prefix(&last, &summary);
        }
    }
}
