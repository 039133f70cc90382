//! A daemon with a gateway to a scripted provider.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bethink_harness::http::connect;
use bethink_harness::{Answer, Daemon, Home, Request, until};
use bethink_model_server::{Script, Seen, Server};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "sk-canary-upstream-0815";
const KEY_VARIABLE: &str = "GATEWAY_TEST_KEY";
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) daemon: Daemon,
}

/// Returns the settings of a gateway to `url`, with or without a configured key.
pub(crate) fn home(url: &str, key: bool) -> Home {
    let home = Home::new()
        .with("BETHINK_GATEWAY__ANTHROPIC_URL", url)
        .with("BETHINK_GATEWAY__OPENAI_URL", url)
        .with("BETHINK_GATEWAY__GEMINI_URL", url)
        .with("BETHINK_LOG", "trace");
    if !key {
        return home;
    }
    home.with("BETHINK_GATEWAY__ANTHROPIC_KEY_ENV", KEY_VARIABLE)
        .with("BETHINK_GATEWAY__GEMINI_KEY_ENV", KEY_VARIABLE)
        .with("BETHINK_GATEWAY__OPENAI_KEY_ENV", KEY_VARIABLE)
        .with(KEY_VARIABLE, KEY)
}

impl World {
    pub(crate) fn new(script: Script) -> Self {
        Self::with(script, |home| home)
    }

    pub(crate) fn with(script: Script, change: impl Fn(Home) -> Home) -> Self {
        let server = Server::start(script).unwrap();
        let daemon = change(home(&server.url(), true)).start();
        Self { server, daemon }
    }

    pub(crate) fn keyless(script: Script) -> Self {
        let server = Server::start(script).unwrap();
        let daemon = home(&server.url(), false).start();
        Self { server, daemon }
    }

    pub(crate) fn send(&self, request: &Request) -> Answer {
        self.daemon.client().must(request)
    }

    pub(crate) fn ask(&self, body: &Value) -> Answer {
        self.send(&Request::new("POST", "/anthropic/v1/messages").json(body))
    }

    pub(crate) fn chat(&self, body: &Value) -> Answer {
        self.send(&Request::new("POST", "/openai/v1/chat/completions").json(body))
    }

    /// Returns the path with the capability.
    pub(crate) fn capability(&self, wire: &str) -> String {
        let addresses = self.daemon.client().get("/v1/gateway").ok();
        let address = addresses[wire].as_str().unwrap().to_owned();
        let path = address.split_once("//").unwrap().1.split_once('/').unwrap().1;
        format!("/{}", path.strip_suffix("/v1").unwrap_or(path))
    }

    /// Returns the newest request that the provider received.
    pub(crate) fn seen(&self) -> Seen {
        self.server.requests().pop().expect("no request went up")
    }

    /// Sends a request on a new connection, and does not read the answer.
    pub(crate) fn open(&self, path: &str, body: &Value) -> TcpStream {
        let mut stream = connect(self.daemon.addr()).unwrap();
        stream.write_all(&self.raw(path, body)).unwrap();
        stream
    }

    pub(crate) fn raw(&self, path: &str, body: &Value) -> Vec<u8> {
        let body = body.to_string();
        let (addr, token) = (self.daemon.addr(), self.daemon.token());
        format!(
            "POST {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    /// Returns the histories of all sessions, oldest session first. Waits until there are `messages` messages in all.
    pub(crate) fn histories(&self, messages: usize) -> Vec<Vec<Value>> {
        let found = until(PATIENCE, || {
            let all = self.read_histories();
            (all.iter().map(Vec::len).sum::<usize>() >= messages).then_some(all)
        });
        found.unwrap_or_else(|| panic!("fewer than {messages}: {:?}", self.read_histories()))
    }

    fn read_histories(&self) -> Vec<Vec<Value>> {
        let mut client = self.daemon.client();
        let sessions = client.get("/v1/sessions").ok();
        let ids = sessions["sessions"].as_array().unwrap().iter().rev();
        let ids: Vec<String> = ids.map(|s| s["id"].as_str().unwrap().to_owned()).collect();
        let read = |id: &String| {
            let page = client.get(&format!("/v1/sessions/{id}/messages?limit=1000")).ok();
            let messages = page["messages"].as_array().unwrap();
            messages.iter().map(|stored| stored["message"].clone()).collect()
        };
        ids.iter().map(read).collect()
    }
}

/// Reads until the received bytes contain `found`, or the connection ends.
pub(crate) fn read_until(stream: &mut TcpStream, found: &str) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&bytes).contains(found) {
        match stream.read(&mut piece) {
            Ok(n @ 1..) => bytes.extend_from_slice(&piece[..n]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn body(text: &str) -> Value {
    json!({"model": "scripted-1", "max_tokens": 1000, "messages": [{"role": "user", "content": text}]})
}

pub(crate) fn streamed(text: &str) -> Value {
    let mut body = body(text);
    body["stream"] = json!(true);
    body
}
