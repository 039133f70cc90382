//! Wrong model settings: what the daemon reports when it starts, and when it is asked.

use bethink_harness::{Daemon, Home, say};
use bethink_model_server::{Fault, Script, Server};
use serde_json::{Value, json};

const SECRET: &str = "c4n4ry";

fn home(provider: &str, base_url: &str) -> Home {
    Home::new()
        .with("BETHINK_MODEL__PROVIDER", provider)
        .with("BETHINK_MODEL__BASE_URL", base_url)
        .with("BETHINK_MODEL__NAME", "some-model")
}

/// A session that is long enough for a summary.
fn worked(daemon: &Daemon) -> String {
    let session = daemon.session(200_000);
    let messages: Vec<Value> = (0..30).flat_map(|n| say::work(n, 3000)).collect();
    daemon.append(&session, &messages);
    format!("/v1/sessions/{session}")
}

#[track_caller]
fn has(value: &Value, words: &str) {
    let text = value.to_string();
    assert!(text.contains(words) && !text.contains(SECRET), "{words:?} in {text}");
}

#[test]
fn an_unknown_provider_ends_the_start_with_those_that_are_known() {
    let exit = home("gemini", "").try_start().unwrap_err();
    assert_eq!(exit.status.and_then(|status| status.code()), Some(1), "{exit:?}");
    for words in ["model.provider", "\"gemini\"", "\"none\", \"anthropic\" or \"openai\""] {
        assert!(exit.stderr.contains(words), "{}", exit.stderr);
    }
}

/// The daemon starts anyway, because its clients need no model, and reports the problem everywhere.
#[test]
fn an_address_that_can_not_be_used_is_told_wherever_one_looks() {
    for (base_url, words) in [
        (
            format!("https://me:{SECRET}@host"),
            "base_url must not contain a user name or a password",
        ),
        (
            format!("https://{SECRET}@host/v1"),
            "base_url must not contain a user name or a password",
        ),
        (format!("https://host/v1?key={SECRET}"), "base_url must not have a query or a fragment"),
        ("https://host/a/../b".to_owned(), "base_url has an invalid path"),
        ("https://host/%2e%2e".to_owned(), "base_url has an invalid path"),
        ("localhost:11434".to_owned(), "does not begin with https:// or http://"),
        ("http://192.0.2.1:8080".to_owned(), "set allow_plain_http = true"),
        ("http://169.254.169.254/v1".to_owned(), "169.254.169.254"),
    ] {
        let daemon = home("openai", &base_url).start();
        let mut client = daemon.client();
        let health = client.get("/health").ok();
        assert_eq!(health["status"], "ok", "{health}");
        has(&health["notices"], words);
        has(&health["notices"], "[model]");
        let model = client.get("/v1/model").ok();
        assert_eq!(
            (&model["state"], &model["origin"]),
            (&json!("broken"), &Value::Null),
            "{model}"
        );
        has(&model["detail"], words);
        let path = worked(&daemon) + "/compact";
        let refused = client.post(&path, &json!({"level": "full"})).problem();
        has(&refused["hint"], words);
        assert_eq!(client.post(&path, &json!({})).ok()["level"], "embedded");
        let log = daemon.home.log();
        assert!(log.contains("could not set up the model") && !log.contains(SECRET), "{log}");
    }
}

#[test]
fn a_path_before_the_providers_own_is_taken() {
    for (provider, path, asked) in [
        ("anthropic", "/", "/v1/messages"),
        ("anthropic", "/v1", "/v1/messages"),
        ("openai", "", "/v1/chat/completions"),
        ("openai", "/v1/", "/v1/chat/completions"),
    ] {
        let server = Server::start(Script::good()).unwrap();
        let daemon = home(provider, &(server.url() + path)).start();
        let path = worked(&daemon) + "/compact";
        let made = daemon.client().post(&path, &json!({"level": "full"})).ok();
        assert_eq!(made["level"], "full", "{made}");
        assert_eq!(server.requests()[0].path, asked);
    }
}

/// A problem that only a person can fix is reported with the server's message after one call.
#[test]
fn a_wrong_key_and_a_wrong_name_are_told_as_the_server_said() {
    for (fault, words, todo) in [
        (Fault::WrongKey, "invalid x-api-key", "renew the key"),
        (Fault::NoModel, "some-model", "fix name"),
        (Fault::Quota, "quota", "add credit"),
    ] {
        let server = Server::start(Script::always(fault)).unwrap();
        let daemon = home("anthropic", &server.url()).start();
        let mut client = daemon.client();
        assert_eq!(client.get("/v1/model").ok()["state"], "ready");
        let path = worked(&daemon) + "/compact";
        let made = client.post(&path, &json!({"level": "full"})).ok();
        assert_eq!(made["level"], "embedded", "{made}");
        has(&made["attempts"], words);
        assert_eq!(server.counts().requests, 1);
        let model = client.get("/v1/model").ok();
        assert_eq!(model["state"], "resting", "{model}");
        has(&model["detail"], words);
        has(&model["detail"], todo);
        has(&client.get("/health").ok()["notices"], todo);
    }
}

/// After one failure the model is tried again, but it is not reported as simply "ready".
#[test]
fn a_server_that_is_not_there_is_told_after_the_first_call() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = home("openai", &format!("http://{closed}/v1"))
        .with("BETHINK_MODEL__DEADLINE_MS", "300")
        .start();
    let mut client = daemon.client();
    assert_eq!(client.get("/v1/model").ok()["problems"], json!([]));
    let made = client.post(&(worked(&daemon) + "/compact"), &json!({"level": "full"})).ok();
    assert_eq!(made["level"], "embedded", "{made}");
    has(&made["attempts"], "unreachable");
    let model = client.get("/v1/model").ok();
    assert_eq!(model["state"], "ready", "{model}");
    has(&model["problems"][0]["found"], "the last call failed: ");
    has(&model["problems"][0]["found"], "unreachable");
    has(&model["problems"][0]["todo"], "check that the model's server is running");
}
