//! Tests which credential is sent to the provider, and that none is returned or stored.

use bethink_harness::{Answer, Request};
use bethink_model_server::{Fault, Script};
use serde_json::Value;

use crate::world::{KEY, World, body, streamed};

const OWN: &str = "sk-own-of-the-client-4711";

const ROUTES: [(&str, &str, &str); 2] = [
    ("anthropic", "/v1/messages", "x-api-key"),
    ("openai", "/v1/chat/completions", "authorization"),
];

fn ask(world: &World, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::new("POST", path).json(&body("hi"));
    if path.contains("/k/") {
        request = request.anonymous();
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    world.send(&request)
}

/// Returns all credentials in the newest request.
fn carried(world: &World) -> Vec<String> {
    let seen = world.seen();
    let kept = seen.headers.iter().filter(|(n, _)| n == "x-api-key" || n == "authorization");
    kept.map(|(_, value)| value.trim_start_matches("Bearer ").to_owned()).collect()
}

fn never(world: &World, what: &str) {
    for seen in world.server.requests() {
        let sent = format!("{:?} {}", seen.headers, String::from_utf8_lossy(&seen.body));
        assert!(!sent.contains(what), "{what} went up: {sent}");
    }
    assert!(!world.daemon.home.log().contains(what), "{what} is in the log");
}

#[test]
fn the_configured_key_takes_the_token_s_place() {
    let world = World::new(Script::good());
    let token = world.daemon.token().to_owned();
    for (wire, route, name) in ROUTES {
        assert_eq!(ask(&world, &format!("/{wire}{route}"), &[]).status, 200);
        assert_eq!(carried(&world), [KEY], "{wire}");
        let capability = world.capability(wire);
        let path = format!("{capability}{route}");
        // Without and with a credential of the client's own.
        assert_eq!(ask(&world, &path, &[]).status, 200);
        assert_eq!(carried(&world), [KEY], "{wire}");
        let own = if name == "authorization" { format!("Bearer {OWN}") } else { OWN.to_owned() };
        assert_eq!(ask(&world, &path, &[(name, &own)]).status, 200);
        assert_eq!(carried(&world), [OWN], "{wire}");
        let ours = format!("Bearer {token}");
        assert_eq!(ask(&world, &path, &[("authorization", &ours)]).status, 200);
        assert_eq!(
            carried(&world),
            [KEY],
            "{wire}: the token is no credential of the client's own"
        );
        never(&world, capability.rsplit('/').next().unwrap());
    }
    // Claude Code and the SDK send the token as the API key.
    let request = Request::new("POST", "/anthropic/v1/messages").json(&body("hi")).anonymous();
    assert_eq!(world.send(&request.header("x-api-key", &token)).status, 200);
    assert_eq!(carried(&world), [KEY]);
    never(&world, &token);
    assert!(!world.daemon.home.log().contains(KEY) && !world.daemon.home.log().contains(OWN));
}

#[test]
fn without_a_configured_key_the_client_s_own_goes_up_or_nothing() {
    let world = World::keyless(Script::good());
    let token = world.daemon.token().to_owned();
    for (wire, route, name) in ROUTES {
        let own = if name == "authorization" { format!("Bearer {OWN}") } else { OWN.to_owned() };
        let path = format!("{}{route}", world.capability(wire));
        assert_eq!(ask(&world, &path, &[(name, &own)]).status, 200);
        assert_eq!(carried(&world), [OWN], "{wire}");
        let before = world.server.counts().requests;
        let refused = ask(&world, &format!("/{wire}{route}"), &[]);
        assert_eq!(refused.status, 401, "{}", refused.brief());
        let error: Value = refused.json();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("{wire}_key_env")), "{message}");
        let kind = error["error"]["type"].as_str().unwrap();
        let expect =
            if wire == "anthropic" { "authentication_error" } else { "invalid_request_error" };
        assert_eq!(kind, expect);
        assert_eq!(world.server.counts().requests, before, "nothing went up");
    }
    never(&world, &token);
}

#[test]
fn somebody_else_s_token_opens_nothing() {
    let world = World::new(Script::good());
    for path in [
        "/anthropic/v1/messages",
        "/anthropic/k/0123456789abcdef/v1/messages",
        "/openai/v1/chat/completions",
        "/openai/k//v1/chat/completions",
    ] {
        let request = Request::new("POST", path).json(&body("hi"));
        let answer = world.send(&request.header("authorization", "Bearer somebody-else-s"));
        assert!(matches!(answer.status, 401 | 404), "{path}: {}", answer.status);
    }
    assert_eq!(world.server.counts().requests, 0);
}

#[test]
fn an_outdated_address_or_route_ends_at_once_in_the_providers_format() {
    let world = World::new(Script::good());
    let capability = world.capability("openai");
    let secret = capability.split('/').find(|part| part.len() == 64).unwrap();
    let wrong = "0".repeat(64);
    for (path, status, kind, said) in [
        (
            format!("/anthropic/k/{wrong}/v1/messages"),
            401,
            "authentication_error",
            "`bethink gateway`",
        ),
        (
            format!("/openai/k/{wrong}/v1/chat/completions"),
            401,
            "invalid_request_error",
            "`bethink gateway`",
        ),
        (
            format!("/anthropic/k/{secret}/v1/batches"),
            404,
            "not_found_error",
            "the gateway does not support POST /anthropic/k/…/v1/batches",
        ),
        (
            format!("/openai/k/{secret}/v1/audio/speech"),
            404,
            "invalid_request_error",
            "the gateway does not support POST /openai/k/…/v1/audio/speech",
        ),
        (
            format!("/openai/k/{secret}/p/relative/v1/chat/completions"),
            422,
            "invalid_request_error",
            "`bethink gateway`",
        ),
    ] {
        let answer = world.send(&Request::new("POST", &path).json(&body("hi")).anonymous());
        assert_eq!(answer.status, status, "{path}: {}", answer.brief());
        assert_eq!(answer.header("x-should-retry"), Some("false"), "{path}");
        let text = answer.text();
        let error: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(error["error"]["type"], kind, "{text}");
        assert!(error["error"]["message"].as_str().unwrap().contains(said), "{text}");
        assert!(!text.contains(secret) && !text.contains(&wrong), "{text}");
    }
    assert_eq!(world.server.counts().requests, 0);
}

#[test]
fn an_address_names_the_project_of_clients_that_name_none() {
    let world = World::new(Script::good());
    let project = world.daemon.home.scratch().join("über dir");
    std::fs::create_dir_all(&project).unwrap();
    let dir = project.display().to_string();
    let addresses = world.daemon.client().get("/v1/gateway").ok();
    let addresses: bethink_api::GatewayAddresses = serde_json::from_value(addresses).unwrap();
    let url = addresses.for_project(&dir).openai;
    let path = url.splitn(4, '/').nth(3).unwrap();
    let request = Request::new("POST", &format!("/{path}/chat/completions"));
    let answer = world.send(&request.json(&body("hi")).anonymous());
    assert_eq!(answer.status, 200, "{}", answer.brief());
    world.histories(2);
    let sessions = world.daemon.client().get("/v1/sessions").ok();
    assert_eq!(sessions["sessions"][0]["project_dir"], dir, "{sessions}");
    let sent = world.seen();
    assert!(
        sent.path.ends_with("/chat/completions") && !format!("{sent:?}").contains("x-bethink"),
        "{sent:?}"
    );
}

#[test]
fn a_key_that_an_upstream_repeats_does_not_come_back() {
    let world = World::new(Script::always(Fault::EchoedKey));
    for answer in [world.ask(&body("hi")), world.ask(&streamed("hi")), world.chat(&body("hi"))] {
        assert_eq!(answer.status, 401, "{}", answer.brief());
        let all = format!("{:?} {}", answer.headers, answer.text());
        assert!(!all.contains(KEY), "{all}");
    }
    assert!(!world.daemon.home.log().contains(KEY));
}

#[test]
fn a_project_s_files_set_no_upstream() {
    let sink = bethink_model_server::Server::start(Script::good()).unwrap();
    let world = World::new(Script::good());
    let project = world.daemon.home.scratch().join("project");
    let settings = format!("[gateway]\nanthropic_url = '{0}'\nopenai_url = '{0}'\n", sink.url());
    std::fs::create_dir_all(project.join(".bethink")).unwrap();
    for place in ["bethink.toml", "config.toml", ".bethink/config.toml", ".bethink.toml"] {
        std::fs::write(project.join(place), &settings).unwrap();
    }
    let env = format!(
        "BETHINK_GATEWAY__ANTHROPIC_URL={}\nANTHROPIC_BASE_URL={}\n",
        sink.url(),
        sink.url()
    );
    std::fs::write(project.join(".env"), env).unwrap();
    let request = Request::new("POST", "/anthropic/v1/messages").json(&body("hi"));
    let answer = world.send(&request.header("x-bethink-project", project.to_str().unwrap()));
    assert_eq!(answer.status, 200, "{}", answer.brief());
    assert_eq!((sink.counts().connections, world.server.counts().requests), (0, 1));
}
