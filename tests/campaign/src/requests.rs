//! Hostile requests: all routes of the API except [`LEFT_OUT`] and event streams get mutated bodies and requests without
//! credentials, and the daemon gets bytes that are barely HTTP.
//!
//! There must be no internal error and no unauthorized access, and the daemon must keep running.

use std::time::Instant;

use bethink_harness::{Client, Daemon, Request, Rng, http, say};
use serde_json::{Value, json};

use crate::fuzz::corpus::Corpus;
use crate::fuzz::mutate::mutated;
use crate::limit::AttackLimit;
use crate::report::AttackResult;

/// Maximum size of a body, in bytes.
const MAX_BODY: usize = 16 << 10;
/// Routes that write into the project's directory, whose name is mutated here, and the one that replaces our own token.
const LEFT_OUT: [&str; 2] = ["/v1/team", "/v1/token/rotate"];
/// Routes that contain no secrets and need no token.
const OPEN: [&str; 4] = ["/health", "/openapi.json", "/v1/dashboard/login", "/v1/proof"];

/// A route of the API.
#[derive(Debug)]
struct AttackedRoute {
    method: String,
    path: String,
    media_type: Option<String>,
}

#[derive(Debug, Default)]
struct RequestTally {
    sent: u64,
    strangers: u64,
    broken: Vec<String>,
}

struct Attack {
    daemon: Daemon,
    client: Client,
    session: String,
    routes: Vec<AttackedRoute>,
    bodies: Vec<Vec<u8>>,
    tally: RequestTally,
}

pub fn run(limit: AttackLimit, seed: u64) -> Vec<AttackResult> {
    let (start, mut rng) = (Instant::now(), Rng::new(seed));
    let mut attack = Attack::new();
    while limit.allows(attack.tally.sent) {
        match rng.below(4) {
            0 => attack.stranger(&mut rng),
            1 => attack.bytes(&mut rng),
            _ => attack.body(&mut rng),
        }
    }
    // One of the requests may have paused recording.
    attack.client.post("/v1/recording/resume", &json!({})).ok();
    attack.daemon.is_well();
    let RequestTally { sent, strangers, broken } = attack.tally;
    vec![AttackResult {
        attack: "hostile requests".to_owned(),
        size: format!("{sent} requests"),
        checks: sent,
        broken,
        took: start.elapsed(),
        note: format!("{} routes, {strangers} requests without credentials", attack.routes.len()),
    }]
}

impl Attack {
    fn new() -> Self {
        let daemon = Daemon::fresh();
        let session = daemon.session(200_000);
        daemon.append(&session, &say::work(1, 2_000));
        let mut client = daemon.client();
        let routes = routes(&client.get("/openapi.json").ok());
        let mut bodies = Corpus::of("json-spans").examples;
        bodies.extend(Corpus::of("hook-input").examples);
        bodies.push(say::user("hello").to_string().into_bytes());
        let text = json!({"messages": [say::user("hello")], "project_dir": daemon.home.scratch(),
            "text": "a", "query": "b", "todos": [{"content": "c", "status": "pending"}], "limit": 5});
        bodies.push(text.to_string().into_bytes());
        Self { daemon, client, session, routes, bodies, tally: RequestTally::default() }
    }

    fn request(&self, rng: &mut Rng) -> Request {
        let route = rng.pick(&self.routes);
        let project = self.daemon.home.scratch().display().to_string();
        let path = route
            .path
            .replace("{id}", &self.session)
            .replace("{scope}", "private")
            .replace("{name}", "fog")
            .replace("{kind}", "plan")
            .replace("{event}", "stop")
            .replace("{cid}", &self.session);
        let path = format!("{path}?project_dir={project}&limit={}&q=fog", rng.below(100));
        let request = Request::new(&route.method, &path);
        match &route.media_type {
            Some(media_type) => request.bytes(media_type, &mutated(rng, &self.bodies, MAX_BODY)),
            None => request,
        }
    }

    fn body(&mut self, rng: &mut Rng) {
        let request = self.request(rng);
        self.tally.sent += 1;
        match self.client.send(&request) {
            Ok(answer) if answer.status < 500 || matches!(answer.status, 503 | 507) => {}
            Ok(answer) => self.broken(&request, &format!("{}: {}", answer.status, answer.brief())),
            Err(error) => self.broken(&request, &error.to_string()),
        }
    }

    /// Sends a request without a token, for another host, or from a web page.
    fn stranger(&mut self, rng: &mut Rng) {
        let request = self.request(rng);
        let path = request.path.split('?').next().unwrap_or_default();
        if OPEN.contains(&path) {
            return;
        }
        let request = match rng.below(4) {
            0 => request.anonymous(),
            1 => request.header("Authorization", "Bearer 0123456789abcdef0123456789abcdef"),
            2 => request.header("Host", "evil.example"),
            _ => request.header("Origin", "https://evil.example"),
        };
        self.tally.sent += 1;
        self.tally.strangers += 1;
        let refused = [401, 403, 421, 429];
        match self.client.send(&request) {
            Ok(answer) if refused.contains(&answer.status) => {}
            Ok(answer) => self.broken(&request, &format!("a stranger got {}", answer.status)),
            Err(error) => self.broken(&request, &error.to_string()),
        }
    }

    /// Sends random bytes instead of a request. They contain no token, so they must not change anything.
    fn bytes(&mut self, rng: &mut Rng) {
        let head = "POST /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}";
        let bytes = mutated(rng, &[head.as_bytes().to_vec()], MAX_BODY);
        self.tally.sent += 1;
        if let Ok(Some(answer)) = http::raw(self.daemon.addr(), &bytes)
            && (answer.status < 400 || answer.status == 500)
        {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.tally.broken.push(format!("{text:?}: {}", answer.status));
        }
    }

    fn broken(&mut self, request: &Request, what: &str) {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let text = format!("{} {} {body:.300}: {what}", request.method, request.path);
        self.tally.broken.push(text);
    }
}

/// Returns the routes in the API's description.
fn routes(description: &Value) -> Vec<AttackedRoute> {
    let mut routes = Vec::new();
    for (path, methods) in description["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let is_stream = path.ends_with("/events");
            if is_stream || LEFT_OUT.iter().any(|left_out| path.starts_with(left_out)) {
                continue;
            }
            let content = operation["requestBody"]["content"].as_object();
            let media_type = content.and_then(|content| content.keys().next()).cloned();
            routes.push(AttackedRoute { method: method.clone(), path: path.clone(), media_type });
        }
    }
    routes
}
