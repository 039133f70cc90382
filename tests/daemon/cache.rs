//! The watch of the provider's prompt cache, and thinking that is only valid in one prompt.

use bethink_harness::{Daemon, Home, prompt, say};
use serde_json::{Value, json};

/// An answer at `minute`; its prompt read `read` tokens from the cache and wrote `written` tokens to it.
fn answer(minute: u64, read: u64, written: u64) -> Value {
    let mut message = say::assistant("done");
    message["usage"] = json!({ "input_tokens": 4, "output_tokens": 9,
        "cache_read_input_tokens": read, "cache_creation_input_tokens": written });
    message["created_at"] = json!(format!("2026-03-01T10:{minute:02}:00Z"));
    message
}

struct Watched {
    daemon: Daemon,
    session: String,
}

impl Watched {
    fn new(home: Home) -> Self {
        let daemon = home.start();
        let session = daemon.session(200_000);
        daemon.append(&session, &[say::user("go"), answer(0, 0, 30_000)]);
        Self { daemon, session }
    }

    fn path(&self, what: &str) -> String {
        format!("/v1/sessions/{}{what}", self.session)
    }

    fn prompt(&self, body: &Value) {
        self.daemon.client().post(&self.path("/context"), body).ok();
    }

    fn told(&self, minute: u64, read: u64, written: u64) {
        self.daemon.append(&self.session, &[say::user("more"), answer(minute, read, written)]);
    }

    fn cache(&self) -> Value {
        self.daemon.client().get(&self.path("/context/report")).ok()["cache"].clone()
    }
}

fn system(text: &str) -> Value {
    json!({ "system": [{ "part": "system", "text": text }] })
}

#[test]
fn a_break_is_told_with_its_cause() {
    let w = Watched::new(Home::new());
    let mut events = w.daemon.client().events(&w.path("/events"), None);
    w.prompt(&system("be brief"));
    w.told(1, 30_000, 500);
    assert_eq!(w.cache(), json!({ "breaks": 0 }));
    w.prompt(&system("be long"));
    w.told(2, 0, 31_000);
    let told = json!({ "cause": "system", "read_before": 30_500, "read_now": 0, "expected": false,
        "at": "2026-03-01T10:02:00Z" });
    let event = events.next_of("cache").json();
    for (key, value) in told.as_object().unwrap().iter().filter(|(key, _)| *key != "at") {
        assert_eq!(event[key], *value, "{key}");
    }
    let cache = w.cache();
    assert_eq!(cache["breaks"], 1, "{cache}");
    assert!(cache["last"]["at"].as_str().unwrap().starts_with("2026-03-01T10:02:00"), "{cache}");
    // Seven minutes without a call; the cache lasts five.
    w.told(9, 0, 32_000);
    assert_eq!(events.next_of("cache").json()["cause"], "idle");
    w.prompt(&json!({ "system": system("be long")["system"], "tools": [{ "name": "Read" }] }));
    w.told(10, 0, 33_000);
    assert_eq!(events.next_of("cache").json()["cause"], "tools");
    // The client changes the session's model. The state is loaded again, but the watch continues.
    let model = json!({ "model": { "name": "another", "context_window": 200_000 } });
    w.daemon.client().patch(&w.path(""), &model).ok();
    w.told(11, 0, 34_000);
    assert_eq!(events.next_of("cache").json()["cause"], "model");
    w.told(12, 0, 34_000);
    assert_eq!(events.next_of("cache").json()["cause"], "unknown");
    assert_eq!(w.cache()["breaks"], 5);
    let metrics = w.daemon.client().get("/metrics").text();
    assert!(metrics.contains(r#"bethink_cache_breaks_total{cause="tools"} 1"#), "{metrics}");
}

#[test]
fn an_hour_is_a_setting_and_a_compaction_explains_itself() {
    let w = Watched::new(Home::new().with("BETHINK_CONTEXT__CACHE_TTL_MINUTES", "60"));
    w.told(20, 0, 30_000);
    assert_eq!(w.cache()["last"]["cause"], "unknown");
    for n in 0..40 {
        w.daemon.append(&w.session, &say::work(n, 3000));
    }
    w.daemon.client().post(&w.path("/compact"), &json!({})).ok();
    w.told(21, 0, 30_000);
    let cache = w.cache();
    assert_eq!((&cache["last"]["cause"], &cache["breaks"]), (&json!("compaction"), &json!(1)));
    assert_eq!(cache["last"]["expected"], true);
}

#[test]
fn what_a_restart_finds_is_compared_with_and_not_told() {
    let mut w = Watched::new(Home::new());
    w.told(1, 0, 30_000);
    assert_eq!(w.cache()["breaks"], 1);
    w.daemon.kill9();
    w.daemon.start();
    assert_eq!(w.cache(), json!({ "breaks": 0 }));
    w.told(2, 0, 30_000);
    assert_eq!(w.cache()["breaks"], 1);
}

/// How many thinking blocks are left after a compaction with this model, and `first_edited` of the report.
fn after_compaction(model: &Value) -> (usize, Value) {
    let daemon = Daemon::fresh();
    let body = json!({ "project_dir": "/proj/garden", "model": model });
    let session = daemon.client().post("/v1/sessions", &body).json();
    let session = session["id"].as_str().unwrap();
    for n in 0..60 {
        let mut work = say::work(n, 3000);
        let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
        work[3]["content"].as_array_mut().unwrap().insert(0, thinking);
        daemon.append(session, &work);
    }
    let mut client = daemon.client();
    client.post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    daemon.append(session, &[say::user("Go on.")]);
    let answer = client.post(&format!("/v1/sessions/{session}/context"), &json!({})).ok();
    assert_eq!(prompt::faults_of(&answer), [""; 0]);
    let thoughts = answer["messages"].to_string().matches(r#""type":"thinking""#).count();
    (thoughts, answer["report"]["first_edited"].clone())
}

#[test]
fn thinking_over_another_prompt_goes_where_the_model_or_the_session_says_so() {
    let model = |name: &str| json!({ "name": name, "context_window": 200_000 });
    let said = |name: &str, preserved: bool| {
        let mut model = model(name);
        model["preserved_thinking"] = json!(preserved);
        model
    };
    let (kept, edited) = after_compaction(&model("claude-sonnet-4-5"));
    assert!(kept > 0);
    assert_eq!(edited, 0);
    assert_eq!(after_compaction(&model("claude-fable-5-1")).0, 0);
    assert_eq!(after_compaction(&said("claude-sonnet-4-5", true)).0, 0);
    assert_eq!(after_compaction(&said("claude-fable-5-1", false)).0, kept);
}
