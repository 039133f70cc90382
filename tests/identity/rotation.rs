//! `bethink token rotate`: the old token and what it opened are refused at once.

use std::os::unix::fs::PermissionsExt;

use bethink_harness::{Client, Daemon, Request, say};
use serde_json::json;

use crate::person::{Person, token};

/// A request of a browser that has logged in.
fn log_in(daemon: &Daemon) -> Request {
    let launch = daemon.client().post("/v1/dashboard/launch", &json!({})).ok();
    let (_, launch) = launch["url"].as_str().unwrap().split_once("#launch=").unwrap();
    let login = Request::new("POST", "/v1/dashboard/login").json(&json!({ "launch": launch }));
    let answer = daemon.client().must(&login.anonymous());
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let page = answer.ok()["page"].as_str().unwrap().to_owned();
    let request = Request::new("GET", "/v1/sessions").anonymous();
    request.header("Cookie", &cookie).header("X-Bethink-Page", &page)
}

#[test]
fn an_old_token_and_what_is_derived_from_it_are_refused_at_once() {
    let daemon = Daemon::fresh();
    let old = daemon.token().to_owned();
    let session = daemon.session(200_000);
    let capability = daemon.client().get("/v1/gateway").ok();
    let capability = capability["anthropic"].as_str().unwrap().to_owned();
    let path = capability.split_once("/anthropic").unwrap().1.to_owned();
    let open = |daemon: &Daemon| {
        let request = Request::new("GET", &format!("/anthropic{path}/nothing")).anonymous();
        daemon.client().must(&request).status
    };
    assert_eq!(open(&daemon), 404, "the capability opens the gateway");
    let events = daemon.client().events(&format!("/v1/sessions/{session}/events"), None);
    let page = log_in(&daemon);
    assert_eq!(daemon.client().must(&page).status, 200);
    let mut kept_alive = daemon.client();
    kept_alive.get("/v1/sessions").ok();

    let rotated = Person::of(&daemon.home).run(&["token", "rotate"]);
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    assert!(rotated.err.contains("bethink install AGENT --gateway"), "{rotated:?}");

    assert_eq!(kept_alive.must(&Request::new("GET", "/v1/sessions")).status, 401);
    assert_eq!(open(&daemon), 401);
    assert_eq!(daemon.client().must(&page).status, 401, "the page is logged out");
    assert_eq!(events.count(), 0, "the stream of the old token ends");
    let new = token(daemon.home.path());
    assert_ne!(new, old);
    let mode = daemon.home.path().join("token").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = Client::new(daemon.addr(), &new);
    client.get("/v1/sessions").ok();
    let events = client.events(&format!("/v1/sessions/{session}/events"), None);
    let messages = json!({ "messages": [say::user("after")] });
    client.post(&format!("/v1/sessions/{session}/messages"), &messages).ok();
    assert!(events.take(1).count() == 1, "a stream of the new token goes on");
}

#[test]
fn a_new_token_stays_after_a_restart_and_clients_find_it() {
    let mut daemon = bethink_harness::Home::new().with("BETHINK_DAEMON__SOCKET", "false").start();
    let person = Person::of(&daemon.home);
    let old = daemon.token().to_owned();
    assert_eq!(person.run(&["token", "rotate"]).code, Some(0));
    assert_eq!(person.run(&["session", "ls"]).code, Some(0), "over TCP, with the new token");
    assert_eq!(person.prompts().code, Some(0));
    person.has_delivered();
    daemon.kill9();
    daemon.start();
    assert_eq!(daemon.token(), token(daemon.home.path()));
    assert_ne!(daemon.token(), old);
    assert_eq!(Client::new(daemon.addr(), &old).must(&Request::new("GET", "/v1/jobs")).status, 401);
}
