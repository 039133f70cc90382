//! What a credential other than the whole token opens.

use bethink_credentials::{HomeToken, Nonce};
use bethink_harness::{Client, Daemon, Request};

const NOBODY: &str = "01a20000-0000-7000-8000-000000000000";

/// Every route of the API, with ids filled in.
fn routes(client: &mut Client) -> Vec<(String, String)> {
    let document = client.get("/openapi.json").ok();
    let paths = document["paths"].as_object().unwrap();
    let mut routes = Vec::new();
    for (path, item) in paths {
        let filled = path.split('/').map(|part| if part.starts_with('{') { NOBODY } else { part });
        let filled = filled.collect::<Vec<_>>().join("/");
        let methods = item.as_object().unwrap().keys();
        routes.extend(methods.map(|method| (method.to_uppercase(), filled.clone())));
    }
    routes
}

#[test]
fn the_token_of_hooks_opens_no_other_route() {
    let daemon = Daemon::fresh();
    let hooks = HomeToken::new(daemon.token()).of_hooks();
    let mut client = Client::new(daemon.addr(), hooks.expose());
    let event = Request::new("POST", "/v1/hooks/stop").json(&serde_json::json!({"session_id":"s"}));
    assert_eq!(client.must(&event).status, 200);
    let open = ["/health", "/openapi.json", "/v1/proof", "/v1/dashboard/login"];
    let mut refused = 0;
    for (method, path) in routes(&mut client) {
        if open.contains(&path.as_str()) || path.starts_with("/v1/hooks/") {
            continue;
        }
        let status = client.must(&Request::new(&method, &path)).status;
        assert!([401, 429].contains(&status), "{method} {path}: {status}");
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
    daemon.is_well();
}

#[test]
fn a_proof_is_given_to_everybody_and_says_nothing_else() {
    let daemon = Daemon::fresh();
    let (token, nonce) = (HomeToken::new(daemon.token()), Nonce::random());
    let mut client = daemon.client();
    let mut ask =
        |query: &str| client.must(&Request::new("GET", &format!("/v1/proof{query}")).anonymous());
    let answer = ask(&format!("?nonce={nonce}")).ok();
    let proof = answer["proof"].as_str().unwrap();
    assert!(token.is_proof(daemon.addr().port(), &nonce, proof), "{answer}");
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    for wrong in ["", "?nonce=", "?nonce=00", &format!("?nonce={nonce}0"), "?nonce=zz"] {
        let problem = ask(wrong).problem();
        assert_eq!(
            (&problem["status"], &problem["field"]),
            (&422.into(), &"nonce".into()),
            "{wrong}"
        );
    }
}
