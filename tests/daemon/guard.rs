//! Access to the daemon: every route checks Host and Origin first, then the token.

use bethink_harness::{Answer, Client, Daemon, Request};
use serde_json::json;

use crate::routes::{self, NOBODY};

/// Answers without the token: refused, or, after many tries, slowed down.
const REFUSED: [u16; 2] = [401, 429];

/// Every method and path from the daemon's OpenAPI document, with ids filled in.
fn served(client: &mut Client) -> Vec<(String, String)> {
    let document = client.get("/openapi.json").ok();
    let filled = |path: &str| {
        let part =
            |part: &str| if part.starts_with('{') { NOBODY.to_owned() } else { part.to_owned() };
        path.split('/').map(part).collect::<Vec<_>>().join("/")
    };
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for method in ["get", "put", "post", "patch", "delete"] {
            if !item[method].is_null() {
                routes.push((method.to_uppercase(), filled(path)));
            }
        }
    }
    for route in document["x-bethink-entrances"].as_array().expect("entrances") {
        let text = |name: &str| route[name].as_str().expect("text");
        routes.push((text("method").to_owned(), filled(text("path"))));
    }
    routes
}

/// Routes that need no token, because they reveal nothing.
fn is_open(method: &str, path: &str) -> bool {
    let page = matches!(path, "/" | "/health" | "/openapi.json" | "/v1/proof")
        || path.starts_with("/assets/");
    (method == "GET" && page) || (method, path) == ("POST", "/v1/dashboard/login")
}

/// Host names that are not the daemon's; some of them resolve to it.
fn foreign_hosts(port: u16) -> Vec<String> {
    let with_port = [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "0x7f.1",
        "127.1",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "127.0.0.2",
        "localhost.",
        "127.0.0.1.",
        "user@127.0.0.1",
        "127.0.0.1%00",
        "[::1%25lo]",
    ];
    let with_port = with_port.iter().map(|host| format!("{host}:{port}"));
    let bare = ["evil.example", "localhost", "127.0.0.1", "[::1]", ""].map(str::to_owned);
    let wrong = [format!("localhost:{}", port ^ 1), format!("127.0.0.1:{port}, evil.example")];
    with_port.chain(bare).chain(wrong).collect()
}

const FOREIGN_ORIGINS: [&str; 9] = [
    "http://evil.example",
    "null",
    "http://localhost.evil.example",
    "file://",
    "http://localhost:1",
    "https://127.0.0.1",
    "vscode-webview://abc",
    "chrome-extension://abc",
    "",
];

fn check(client: &mut Client, request: &Request, statuses: &[u16]) -> Answer {
    let answer = client.must(request);
    let what = format!("{} {} {:?}", request.method, request.path, request.headers);
    assert!(statuses.contains(&answer.status), "{what}: {} {}", answer.status, answer.brief());
    // Clients of the gateway only read their provider's format.
    if ["/anthropic/", "/openai/", "/gemini/"].iter().any(|below| request.path.starts_with(below)) {
        assert!(answer.json()["error"]["message"].is_string(), "{what}: {}", answer.brief());
    } else {
        answer.problem();
    }
    answer
}

#[test]
fn the_document_names_every_route_of_the_contract() {
    let daemon = Daemon::fresh();
    let served = served(&mut daemon.client());
    for route in routes::all() {
        let path = routes::path(route, NOBODY);
        let path = path.split('?').next().unwrap().to_owned();
        let template = |p: &str| p.replace(NOBODY, "*");
        let known = served.iter().any(|(m, p)| {
            let kind = ["/plan", "/skills", "/agents", "/tools", "/files"];
            let same = template(p) == template(&path)
                || (kind.iter().any(|k| path.ends_with(k))
                    && template(p).ends_with("/state/*")
                    && path.contains("/state/"));
            m == route.method && same
        });
        // The document does not have to list itself.
        assert!(
            known || path == "/openapi.json",
            "{} {path} is not in /openapi.json",
            route.method
        );
    }
}

#[test]
fn without_its_token_no_route_answers() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    for (method, path) in served(&mut client) {
        if is_open(&method, &path) {
            continue;
        }
        let request = Request::new(&method, &path);
        check(&mut client, &request.clone().anonymous(), &REFUSED);
        for token in ["Bearer wrong", "Bearer ", "Basic eDp5", daemon.token()] {
            check(&mut client, &request.clone().header("Authorization", token), &REFUSED);
        }
    }
    assert_eq!(client.must(&Request::new("GET", "/health").anonymous()).status, 200);
    check(&mut client, &Request::new("GET", "/no/such/route").anonymous(), &[401, 429]);
}

#[test]
fn a_foreign_host_is_refused_on_every_route_even_with_the_token() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let hosts = foreign_hosts(daemon.addr().port());
    for (method, path) in served(&mut client) {
        for host in &hosts {
            let request = Request::new(&method, &path).header("Host", host);
            check(&mut client, &request, &[400, 403, 421]);
        }
    }
}

#[test]
fn a_foreign_origin_is_refused_on_every_route_even_with_the_token() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let served = served(&mut client);
    for (method, path) in served {
        for origin in FOREIGN_ORIGINS {
            let request = Request::new(&method, &path).header("Origin", origin);
            let answer = check(&mut client, &request, &[403]);
            assert_eq!(answer.header("access-control-allow-origin"), None, "{method} {path}");
        }
        for site in ["cross-site", "same-site"] {
            let request = Request::new(&method, &path).header("Sec-Fetch-Site", site);
            check(&mut client, &request, &[403]);
        }
    }
}

#[test]
fn a_foreign_host_is_told_nothing_that_a_token_would_change() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let request = Request::new("GET", "/v1/sessions").header("Host", "evil.example");
    let (with, without) = (client.must(&request), client.must(&request.clone().anonymous()));
    assert_eq!((with.status, with.text()), (without.status, without.text()));
}

/// A page on another site can make a logged-in browser send requests, but they change nothing.
#[test]
fn no_form_of_a_foreign_page_changes_anything() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let (cookie, page) = log_in(&mut client);
    let body = br#"{"project_dir":"/proj/garden"}"#;
    let kinds = [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ];
    for kind in kinds {
        for origin in FOREIGN_ORIGINS.into_iter().chain(["none"]) {
            let mut request = Request::new("POST", "/v1/sessions").bytes(kind, body).anonymous();
            request = request.header("Cookie", &cookie);
            if origin != "none" {
                request = request.header("Origin", origin);
            }
            check(&mut client, &request, &[401, 403, 429]);
        }
    }
    let sessions = || Request::new("GET", "/v1/sessions");
    assert_eq!(client.must(&sessions()).json()["sessions"].as_array().map(Vec::len), Some(0));
    let own = sessions().anonymous().header("Cookie", &cookie).header("X-Bethink-Page", &page);
    assert_eq!(client.must(&own).status, 200, "the page itself");
}

#[test]
fn a_browser_is_logged_in_once() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let launch = launch(&mut client);
    let login = || {
        Request::new("POST", "/v1/dashboard/login").json(&json!({ "launch": launch })).anonymous()
    };
    let answer = client.must(&login());
    assert_eq!(answer.status, 200, "{}", answer.brief());
    let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    check(&mut client, &login(), &[401]);
    let long =
        Request::new("POST", "/v1/dashboard/login").bytes("application/json", &[b' '; 5_000]);
    check(&mut client, &long.anonymous(), &[413]);
    for stale in ["", "bethink-1=x", &format!("bethink-{}=stale", daemon.addr().port())] {
        let request = Request::new("GET", "/v1/sessions").anonymous().header("Cookie", stale);
        check(&mut client, &request.header("X-Bethink-Page", "stale"), &[401]);
    }
}

fn launch(client: &mut Client) -> String {
    let url =
        client.post("/v1/dashboard/launch", &json!({})).ok()["url"].as_str().unwrap().to_owned();
    url.split_once("#launch=").expect("a fragment").1.to_owned()
}

/// Logs in; returns the cookie and the value from the page.
fn log_in(client: &mut Client) -> (String, String) {
    let launch = json!({ "launch": launch(client) });
    let answer =
        client.must(&Request::new("POST", "/v1/dashboard/login").json(&launch).anonymous());
    let cookie =
        answer.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned();
    (cookie, answer.ok()["page"].as_str().expect("a value").to_owned())
}

#[test]
fn the_gateways_addresses_open_the_gateway_alone() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let addresses = client.get("/v1/gateway").ok();
    let capability =
        addresses["anthropic"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    assert_eq!(
        (capability.len(), addresses["anthropic"].as_str().unwrap().contains(daemon.token())),
        (64, false)
    );
    let as_token = format!("Bearer {capability}");
    let request = Request::new("GET", "/v1/sessions").header("Authorization", &as_token);
    check(&mut client, &request, &REFUSED);
    for path in [format!("/v1/k/{capability}/sessions"), format!("/mcp/k/{capability}")] {
        check(&mut client, &Request::new("GET", &path).anonymous(), &REFUSED);
    }
    let wrong = format!("/anthropic/k/{}/v1/messages", "0".repeat(64));
    check(&mut client, &Request::new("POST", &wrong).json(&json!({})).anonymous(), &REFUSED);
}

#[test]
fn its_own_names_are_welcome() {
    let daemon = Daemon::fresh();
    let mut client = daemon.client();
    let port = daemon.addr().port();
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let request = Request::new("GET", "/v1/sessions").header("Host", &host);
        assert_eq!(client.must(&request).status, 200, "{host}");
        let same = Request::new("GET", "/v1/sessions").header("Origin", &format!("http://{host}"));
        assert_eq!(client.must(&same).status, 200, "Origin http://{host}");
    }
}

#[test]
fn the_token_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let daemon = Daemon::fresh();
    for file in ["token", "daemon.sock"] {
        let place = daemon.home.path().join(file);
        let mode = std::fs::metadata(&place).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file}: {mode:o}");
    }
    assert!(daemon.token().len() >= 32, "{}", daemon.token().len());
}
