//! `bethink mcp`, the real program: lines in, lines out, and a daemon that comes and goes.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use bethink_credentials::{HomeToken, Nonce};
use bethink_harness::daemon::binary;
use bethink_harness::wait::PATIENCE;
use bethink_harness::{say, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::{Desk, VERSION};

/// A client with the program that it started.
struct Piped {
    child: Child,
    to: Option<ChildStdin>,
    lines: Receiver<String>,
}

fn command(home: &Path, project: &Path) -> Command {
    let mut command = Command::new(binary("bethink"));
    command
        .arg("mcp")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.parent().unwrap().join("person"))
        .env("BETHINK_HOME", home)
        .env("BETHINK_DAEMON__LISTEN", "127.0.0.1:0")
        .current_dir(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Piped {
    fn of(desk: &Desk) -> Self {
        Self::start(command(desk.daemon.home.path(), &desk.project))
    }

    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take(), child.stdout.take().unwrap());
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, to, lines }
    }

    fn write(&mut self, line: &[u8]) {
        let to = self.to.as_mut().unwrap();
        to.write_all(line).unwrap();
        to.write_all(b"\n").unwrap();
        to.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// The next line, which must be a JSON-RPC message.
    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a line");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    #[track_caller]
    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// A handshake; the version that was agreed on.
    #[track_caller]
    fn begin(&mut self) -> Value {
        let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let answer = self.ask(0, "initialize", &params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer["result"]["protocolVersion"].clone()
    }

    /// Closes its end; what the program still said, and how it ended.
    fn end(mut self) -> (Vec<String>, i32, String) {
        drop(self.to.take());
        let status =
            until(PATIENCE, || self.child.try_wait().unwrap()).expect("it ends with stdin");
        let mut complaint = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        let rest = self.lines.iter().collect();
        (rest, status.code().unwrap_or(-1), complaint)
    }
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[test]
#[cfg(target_os = "linux")]
fn a_daemon_that_it_starts_is_nobodys_child() {
    let dir = TempDir::new().unwrap();
    let (home, project) = (dir.path().join("home"), dir.path().join("project"));
    std::fs::create_dir_all(&project).unwrap();
    let mut piped = Piped::start(command(&home, &project));
    piped.begin();
    let file = until(PATIENCE, || std::fs::read(home.join("daemon.json")).ok()).expect("a daemon");
    let file: Value = serde_json::from_slice(&file).unwrap();
    let daemon = file["pid"].as_u64().unwrap();
    // Parent, process group and session follow the name in parentheses and the state.
    let stat = std::fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap();
    let fields: Vec<u32> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .skip(1)
        .take(3)
        .map(|field| field.parse().unwrap())
        .collect();
    let near = [piped.child.id(), std::process::id()];
    assert!(fields.iter().all(|id| !near.contains(id)), "{stat} {near:?}");
    let daemon = rustix::process::Pid::from_raw(i32::try_from(daemon).unwrap()).unwrap();
    piped.end();
    assert!(rustix::process::test_kill_process(daemon).is_ok(), "it outlives its starter");
    rustix::process::kill_process(daemon, rustix::process::Signal::TERM).unwrap();
    until(PATIENCE, || (!home.join("daemon.json").exists()).then_some(())).expect("it ends");
}

#[test]
fn a_session_over_stdio_knows_its_project() {
    let desk = Desk::new();
    desk.put("fog", "The fog ends at 800 metres.\n");
    let mut piped = Piped::of(&desk);
    assert_eq!(piped.begin(), VERSION);
    let tools = piped.ask(1, "tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 7);
    let found = piped.ask(
        2,
        "tools/call",
        &json!({ "name": "recall", "arguments": { "query": "How far is the fog?" } }),
    );
    assert_eq!(found["result"]["structuredContent"]["memories"][0]["name"], "fog", "{found}");
    let listed = piped.ask(3, "resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "bethink://memory/private/fog");
    assert_eq!(piped.end(), (vec![], 0, String::new()), "nothing else is ever said");
    desk.daemon.is_well();
}

#[test]
fn the_version_without_sessions_is_carried_too() {
    let desk = Desk::new();
    let mut piped = Piped::of(&desk);
    let own = "io.modelcontextprotocol/";
    let meta = json!({ format!("{own}protocolVersion"): "2026-07-28", format!("{own}clientCapabilities"): {},
        format!("{own}clientInfo"): { "name": "t", "version": "1" } });
    let found = piped.ask(1, "server/discover", &json!({ "_meta": meta }));
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found}"
    );
    let called = json!({ "name": "recall", "arguments": { "query": "fog" }, "_meta": meta });
    let called = piped.ask(2, "tools/call", &called);
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    assert_eq!(piped.end().1, 0);
}

#[test]
fn what_is_no_message_is_answered_and_the_next_one_served() {
    let desk = Desk::new();
    let mut piped = Piped::of(&desk);
    piped.begin();
    for (line, code) in [
        (&b"{"[..], -32_700),
        (b"not json", -32_700),
        (b"\xff\xfe\x00", -32_700),
        (b"[]", -32_600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32_600),
        (b"\"ping\"", -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}", -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5}", -32_600),
        (b"{}", -32_600),
    ] {
        piped.write(line);
        let answer = piped.next();
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", String::from_utf8_lossy(line));
    }
    piped.write(b"\r\n\n   ");
    piped.write(&vec![b'x'; 17 << 20]);
    assert_eq!(piped.next()["error"]["code"], -32_600);
    let long = call(
        8,
        "memory",
        &json!({ "command": "create", "path": "/memories/a.md", "file_text": "x".repeat(8 << 20) }),
    );
    piped.send(&long);
    let answer = piped.next();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32_600), &json!(8)), "{answer}");
    let answer = piped.ask(9, "ping", &json!({}));
    assert_eq!(answer["result"], json!({}), "{answer}");
    assert_eq!(piped.end(), (vec![], 0, String::new()));
}

/// Each is answered once, whatever the order, and the daemon is none the worse.
#[test]
fn a_thousand_calls_at_once_are_answered() {
    let desk = Desk::new();
    desk.put("fog", "The fog ends at 800 metres.\n");
    let mut piped = Piped::of(&desk);
    piped.begin();
    for id in 1..=1_000 {
        piped.send(&call(id, "recall", &json!({ "query": "How far is the fog?" })));
    }
    let mut answered = BTreeSet::new();
    for _ in 1..=1_000 {
        let answer = piped.next();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(answered.insert(answer["id"].as_u64().unwrap()), "{answer}");
    }
    assert_eq!(answered.len(), 1_000);
    assert_eq!(piped.end(), (vec![], 0, String::new()));
    desk.daemon.is_well();
}

/// Those that were asked for are answered before the program ends.
#[test]
fn what_was_piped_in_is_answered_before_the_end() {
    let desk = Desk::new();
    let mut piped = Piped::of(&desk);
    for id in 1..=20 {
        piped.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
    }
    let (lines, code, complaint) = piped.end();
    assert_eq!((lines.len(), code, complaint.as_str()), (20, 0, ""));
}

/// A client does not notice a restart: messages that no daemon received are sent again.
#[test]
fn a_daemon_that_restarts_is_found_again() {
    let mut desk = Desk::new();
    let mut piped = Piped::of(&desk);
    piped.begin();
    assert!(piped.ask(1, "tools/list", &json!({}))["result"].is_object());
    for (id, stop) in [(2, true), (3, false)] {
        match stop {
            true => assert!(desk.daemon.terminate().success()),
            false => desk.daemon.kill9(),
        }
        desk.daemon.start();
        let text = format!("Sentence {id} about the harbour.");
        let kept = piped.ask(
            id,
            "tools/call",
            &json!({ "name": "remember", "arguments": { "text": text } }),
        );
        assert_eq!(kept["result"]["isError"], false, "{kept}");
    }
    let listed = piped.ask(4, "resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 2, "once each: {listed}");
    assert_eq!(piped.end(), (vec![], 0, String::new()));
}

/// Answers the question that a client asks first on each connection, as a daemon with the token `t` does.
fn prove(from: &mut impl BufRead, to: &mut TcpStream) {
    let (mut head, port) = (String::new(), to.local_addr().unwrap().port());
    while !head.ends_with("\r\n\r\n") {
        assert!(from.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let nonce = head.split_once("?nonce=").unwrap().1.split(' ').next().unwrap();
    let proof = HomeToken::new("t").proof(port, &Nonce::parse(nonce).unwrap());
    let body = json!({ "proof": proof }).to_string();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    to.write_all(answer.as_bytes()).unwrap();
}

/// A server that takes a request and goes away: the call is told so, and is not made twice.
#[test]
fn a_daemon_that_goes_away_in_a_call_is_an_error_of_that_call() {
    let home = TempDir::with_prefix("bethink-").unwrap();
    let place = home.path().join("home");
    std::fs::create_dir_all(&place).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, calls) = channel();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut from = BufReader::new(client.try_clone().unwrap());
            prove(&mut from, &mut client);
            let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
            from.read_line(&mut first).unwrap();
            while from.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            from.read_exact(&mut body).unwrap();
            if first.starts_with("GET /health") {
                let health = "{\"status\":\"ok\",\"version\":\"0\"}";
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    health.len()
                );
                client.write_all((head + health).as_bytes()).unwrap();
            } else {
                tell.send(first).unwrap();
            }
        }
    });
    let mut command = command(&place, home.path());
    command.env("BETHINK_URL", &url).env("BETHINK_TOKEN", "t");
    let mut piped = Piped::start(command);
    for id in [1, 2] {
        piped.send(&call(id, "remember", &json!({ "text": "x" })));
        let answer = piped.next();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(id), &json!(-32_000)),
            "{answer}"
        );
        assert_eq!(answer["error"]["data"]["type"], "lost", "{answer}");
        assert!(
            answer["error"]["data"]["hint"].as_str().unwrap().contains("it is unknown"),
            "{answer}"
        );
    }
    assert_eq!(calls.try_iter().count(), 2, "each call is made once");
    assert_eq!(piped.end(), (vec![], 0, String::new()));
}

#[test]
fn nobody_there_is_an_error_of_each_call() {
    let home = TempDir::with_prefix("bethink-").unwrap();
    let place = home.path().join("home");
    let mut command = command(&place, home.path());
    // A daemon that somebody else runs is never started from here.
    command.env("BETHINK_URL", "http://127.0.0.1:1").env("BETHINK_TOKEN", "t");
    let mut piped = Piped::start(command);
    let answer = piped.ask(1, "tools/list", &json!({}));
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["type"]),
        (&json!(-32_000), &json!("unreachable")),
        "{answer}"
    );
    assert_eq!(piped.end(), (vec![], 0, String::new()));
}

/// A client on a machine where nothing runs yet. The daemon stays for the next one; the program does not.
#[test]
fn the_daemon_is_started_when_none_runs() {
    let home = TempDir::with_prefix("bethink-").unwrap();
    let place = home.path().join("home");
    let mut piped = Piped::start(command(&place, home.path()));
    assert_eq!(piped.begin(), VERSION);
    let id = piped.child.id();
    assert_eq!(piped.end(), (vec![], 0, String::new()));
    assert!(!Path::new(&format!("/proc/{id}")).exists(), "no process is left behind");
    let down = Command::new(binary("bethink"))
        .arg("down")
        .env("BETHINK_HOME", &place)
        .env_remove("BETHINK_URL")
        .output()
        .unwrap();
    assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
}

/// A request that is taken back gets no answer, and those after it do.
#[test]
fn a_request_is_taken_back() {
    let desk = Desk::new();
    let session = desk.session();
    for n in 0..20 {
        desk.daemon.append(&session, &say::work(n, 3_000));
    }
    let mut piped = Piped::of(&desk);
    piped.begin();
    for id in 1..=200 {
        piped.send(&call(id, "search_history", &json!({ "query": "case mended step" })));
        piped.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    piped.send(&json!({ "jsonrpc": "2.0", "id": 999, "method": "ping" }));
    let mut answered = 0;
    while piped.next()["id"] != 999 {
        answered += 1;
    }
    let (rest, code, _) = piped.end();
    assert!(
        answered + rest.len() < 200 && code == 0,
        "{answered} of 200 were answered all the same"
    );
    desk.daemon.is_well();
}

#[test]
fn a_project_and_a_session_can_be_named() {
    let desk = Desk::new();
    desk.put("fog", "The fog ends at 800 metres.\n");
    let session = desk.session();
    desk.daemon.append(&session, &[say::user("Hello."), say::assistant("Good day.")]);
    let mut command = command(desk.daemon.home.path(), desk.daemon.home.scratch());
    command.args(["--project", desk.project(), "--session", "last"]);
    let mut piped = Piped::start(command);
    piped.begin();
    let listed = piped.ask(1, "resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1, "{listed}");
    let todos = piped.ask(2, "tools/call", &json!({ "name": "todos", "arguments": {} }));
    assert_eq!(todos["result"]["structuredContent"]["session_id"], json!(session), "{todos}");
    assert_eq!(piped.end().1, 0);
}
