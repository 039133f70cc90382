//! Sessions: created, found, renamed, forked, deleted.

use std::collections::BTreeSet;

use bethink_harness::{Client, Daemon, Request, kill_loop, say};
use serde_json::{Value, json};

use crate::routes::{self, NOBODY};

fn titled(client: &mut Client, dir: &str, title: &str, tags: &[&str]) -> String {
    let body = json!({"project_dir": dir, "title": title, "tags": tags});
    let answer = client.post("/v1/sessions", &body);
    assert_eq!(answer.status, 201, "{}", answer.brief());
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn listed(client: &mut Client, query: &str) -> Vec<String> {
    let page = client.get(&format!("/v1/sessions{query}")).ok();
    let sessions = page["sessions"].as_array().unwrap();
    sessions.iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_session_is_made_read_changed_and_removed() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let body = json!({"project_dir": "/proj/garden", "title": "water", "tags": ["a"], "unknown": 1,
        "model": {"name": "m", "context_window": 100_000, "max_output_tokens": 4000}});
    let made = client.post("/v1/sessions", &body);
    assert_eq!(made.status, 201);
    let made = made.json();
    let path = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    assert_eq!(client.get(&path).ok(), made);
    assert_eq!(made["model"]["context_window"], 100_000);
    assert_eq!((&made["messages"], &made["last_seq"]), (&json!(0), &json!(0)));

    let changed = client.patch(&path, &json!({"title": "once a day"})).ok();
    assert_eq!((&changed["title"], &changed["tags"]), (&json!("once a day"), &json!(["a"])));
    assert_eq!(client.patch(&path, &json!({"tags": []})).ok()["title"], "once a day");

    assert!(client.delete(&path).status < 300);
    assert_eq!(client.get(&path).status, 404);
    assert!(listed(&mut client, "").is_empty());
    daemon.is_well();
}

#[test]
fn lists_are_filtered_and_paged_newest_first() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let a = titled(&mut client, "/proj/a", "Watering 100%", &["green"]);
    let b = titled(&mut client, "/proj/a", "pruning_roses", &["red", "green"]);
    let c = titled(&mut client, "/proj/b", "mowing", &[]);
    assert_eq!(listed(&mut client, ""), [c.clone(), b.clone(), a.clone()]);
    assert_eq!(listed(&mut client, "?project_dir=/proj/a"), [b.clone(), a.clone()]);
    assert_eq!(listed(&mut client, "?tag=green"), [b.clone(), a.clone()]);
    assert_eq!(listed(&mut client, "?q=PRUNING"), [b.as_str()]);
    assert_eq!(listed(&mut client, "?q=100%25"), [a.as_str()], "% is no wildcard");
    assert_eq!(listed(&mut client, "?q=g_r"), [b.as_str()], "_ is no wildcard");
    daemon.append(&a, &[say::user("touched")]);
    assert_eq!(listed(&mut client, "?limit=1"), [a.as_str()], "an append makes it the newest");

    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("/v1/sessions?limit=2{cursor}")).ok();
        seen.extend(page["sessions"].as_array().unwrap().iter().map(|s| s["id"].clone()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, [json!(a), json!(c), json!(b)]);

    let projects = client.get("/v1/projects").ok().to_string();
    assert!(projects.contains("/proj/a") && projects.contains("/proj/b"), "{projects}");
}

#[test]
fn the_same_key_makes_one_session() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let create = |title: &str| {
        let body = json!({"project_dir": "/proj/a", "title": title});
        Request::new("POST", "/v1/sessions").json(&body).header("Idempotency-Key", "k-1")
    };
    let first = client.must(&create("one"));
    let again = client.must(&create("one"));
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(client.must(&create("another")).problem()["type"], "key_reused");
    assert_eq!(listed(&mut client, "").len(), 1);
}

#[test]
fn what_does_not_exist_is_not_found_on_every_route() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let removed = daemon.session(100_000);
    daemon.append(&removed, &say::work(1, 100));
    assert!(client.delete(&format!("/v1/sessions/{removed}")).status < 300);
    for session in [NOBODY, &removed] {
        for route in routes::OF_A_SESSION {
            let request = Request::new(route.method, &routes::path(route, session));
            let request = match route.body {
                Some(body) => request.bytes("application/json", body.as_bytes()),
                None => request,
            };
            let answer = client.must(&request);
            let what = format!("{} {} {}", route.method, request.path, answer.brief());
            // Deleting something that does not exist may succeed.
            if route.method != "DELETE" {
                assert_eq!(answer.status, 404, "{what}");
                answer.problem();
            }
        }
    }
    for id in ["x", "..%2f..%2fetc", "%00", &"9".repeat(300)] {
        let problem = client.get(&format!("/v1/sessions/{id}")).problem();
        assert!(problem["status"] == 404 || problem["status"] == 400, "{problem}");
    }
    daemon.is_well();
}

#[test]
fn a_fork_shares_the_past_and_not_the_future() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let session = daemon.session(200_000);
    for n in 0..5 {
        daemon.append(&session, &say::work(n, 300));
    }
    // At message 6 a call waits for its result, so the fork's prompt must be repaired.
    let fork = client.post(&format!("/v1/sessions/{session}/fork"), &json!({"at_seq": 6}));
    assert_eq!(fork.status, 201, "{}", fork.brief());
    let fork = fork.json();
    assert_eq!((&fork["parent"], &fork["forked_at_seq"]), (&json!(session), &json!(6)));
    let id = fork["id"].as_str().unwrap();
    let shared = client.get(&format!("/v1/sessions/{id}/messages")).ok();
    let original = client.get(&format!("/v1/sessions/{session}/messages?before_seq=7")).ok();
    let bodies = |page: &Value| -> Vec<Value> {
        page["messages"].as_array().unwrap().iter().map(|m| m["message"].clone()).collect()
    };
    assert_eq!(bodies(&shared), bodies(&original));
    let prompt = client.post(&format!("/v1/sessions/{id}/context"), &json!({})).ok();
    assert_eq!(bethink_harness::prompt::faults_of(&prompt), [""; 0]);

    daemon.append(id, &[say::user("only in the fork")]);
    assert_eq!(kill_loop::stored(&mut client, &session).len(), 20);
    assert_eq!(kill_loop::stored(&mut client, id).len(), 7);
    let hits = client.get(&format!("/v1/sessions/{session}/search?q=fork")).ok();
    assert_eq!(hits["hits"], json!([]));

    assert!(client.delete(&format!("/v1/sessions/{session}")).status < 300);
    assert_eq!(kill_loop::stored(&mut client, id).len(), 7, "a fork outlives its parent");
    let beyond = client.post(&format!("/v1/sessions/{id}/fork"), &json!({"at_seq": 999}));
    assert_eq!(beyond.problem()["field"], "at_seq");
}

#[test]
fn a_child_session_explores_with_a_window_of_its_own() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let parent = daemon.session(200_000);
    let body = json!({"project_dir": "/proj/a", "parent": parent,
        "model": {"name": "m", "context_window": 30_000}});
    let child = client.post("/v1/sessions", &body).ok();
    assert_eq!(child["parent"], json!(parent));
    assert_eq!(child["model"]["context_window"], 30_000);
    let orphan = json!({"project_dir": "/proj/a", "parent": NOBODY});
    let refused = client.post("/v1/sessions", &orphan).problem();
    assert_eq!(refused["field"], "parent", "{refused}");
}

#[test]
fn ids_are_unique_and_in_order_of_time() {
    let daemon = Daemon::fresh();
    let ids: Vec<String> = (0..20).map(|_| daemon.session(100_000)).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 20);
    assert!(ids.iter().all(|id| id.as_bytes()[14] == b'7'), "UUIDv7: {ids:?}");
}
