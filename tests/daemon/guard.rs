//! Who may talk to the daemon: Host and Origin first, then the token, on every route.

use bethink_harness::{Answer, Client, Daemon, Request};

use crate::routes::{self, NOBODY};

/// Without the token: refused, or refused and slowed after many tries.
const REFUSED: [u16; 2] = [401, 429];

/// Every method and path of the daemon's own contract, with ids filled in.
fn served(client: &mut Client) -> Vec<(String, String)> {
    let document = client.get("/openapi.json").ok();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        parts.iter_mut().filter(|p| p.starts_with('{')).for_each(|p| *p = NOBODY.to_owned());
        for method in ["get", "put", "post", "patch", "delete"] {
            if !item[method].is_null() {
                routes.push((method.to_uppercase(), parts.join("/")));
            }
        }
    }
    routes
}

fn check(client: &mut Client, request: &Request, statuses: &[u16]) -> Answer {
    let answer = client.must(request);
    let what = format!("{} {} {:?}", request.method, request.path, request.headers);
    assert!(statuses.contains(&answer.status), "{what}: {} {}", answer.status, answer.brief());
    answer.problem();
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
        // The document need not describe itself.
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
        if path == "/health" {
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
    let port = daemon.addr().port();
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1.evil.example".to_owned(),
        format!("localhost.evil.example:{port}"),
        String::new(),
    ];
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
        for origin in ["http://evil.example", "null", "http://localhost.evil.example", "file://"] {
            check(&mut client, &Request::new(&method, &path).header("Origin", origin), &[403]);
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
