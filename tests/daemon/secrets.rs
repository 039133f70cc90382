//! Keys never appear in a core file, or in anything that the daemon writes or sends.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bethink_harness::{Daemon, Home, Request, say, until, wait};
use serde_json::{Value, json};

/// A user without special rights.
const SOMEBODY: u32 = 65_534;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The daemon must not run as root here: if a process must not be dumped, the kernel gives its files to root.
#[test]
fn a_crash_leaves_no_memory_behind() {
    let home = Home::new();
    let mut command = home.command();
    let own = home.scratch().metadata().unwrap().uid();
    if own == 0 {
        chown(home.scratch(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        // The built program may be in a directory that only root can open.
        let copy = home.scratch().join("bethinkd");
        std::fs::copy(command.get_program(), &copy).unwrap();
        let mut as_somebody = Command::new(&copy);
        as_somebody.args(command.get_args()).uid(SOMEBODY).gid(SOMEBODY).stderr(Stdio::null());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => as_somebody.env(name, value),
                None => as_somebody.env_remove(name),
            };
        }
        command = as_somebody;
    }
    let daemon = Running(command.spawn().unwrap());
    let place = home.path().join("daemon.json");
    until(wait::PATIENCE, || place.exists().then_some(())).expect("it serves");
    let process = std::path::PathBuf::from(format!("/proc/{}", daemon.0.id()));
    let limits = std::fs::read_to_string(process.join("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let figures: Vec<_> = core.split_whitespace().skip(4).take(2).collect();
    assert_eq!(figures, ["0", "0"], "{core}");
    let environment = process.join("environ").metadata().unwrap();
    assert_eq!((environment.uid(), environment.mode() & 0o077), (0, 0), "readable by its own user");
}

/// A random key, which cannot occur by chance.
#[derive(Clone)]
struct Canary {
    /// The beginning, which would still be visible in a shortened key.
    head: String,
    key: String,
}

impl Canary {
    fn new() -> Self {
        let random = || format!("{:016x}", RandomState::new().hash_one(0));
        let (head, tail) = (random(), random());
        let key = format!("sk-ant-{head}+/{tail}==");
        Self { head, key }
    }

    /// All forms in which the key may be written accidentally.
    fn spellings(&self) -> Vec<String> {
        let bytes = self.key.as_bytes();
        let mut all = vec![self.head.clone(), self.key.replace('/', "\\/")];
        for hex in [|b: &u8| format!("{b:02x}"), |b: &u8| format!("{b:02X}")] {
            all.push(bytes.iter().map(hex).collect());
        }
        for shift in 0..3 {
            // In a longer text, the first and last characters also encode neighboring bytes.
            let shifted = [&vec![0; shift][..], bytes].concat();
            let text = base64(&shifted, b"+/");
            let inner = &text[(shift * 8).div_ceil(6)..text.len() - 6];
            all.push(inner.to_owned());
            all.push(inner.replace('+', "-").replace('/', "_"));
        }
        all
    }

    #[track_caller]
    fn is_absent(&self, place: &str, bytes: &[u8]) {
        for spelling in self.spellings() {
            let found = bytes.windows(spelling.len()).position(|w| w == spelling.as_bytes());
            if let Some(at) = found {
                let around = &bytes[at.saturating_sub(120)..bytes.len().min(at + 120)];
                panic!("{place} holds the key: {:?}", String::from_utf8_lossy(around));
            }
        }
    }
}

fn base64(bytes: &[u8], last: &[u8; 2]) -> String {
    let alphabet: Vec<u8> =
        (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(*last).collect();
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let word =
            group.iter().chain([0, 0].iter()).take(3).fold(0, |w, b| w << 8 | usize::from(*b));
        let digits = [18, 12, 6, 0].map(|shift| char::from(alphabet[word >> shift & 63]));
        out.extend(&digits[..=group.len()]);
        out.extend(std::iter::repeat_n('=', 3 - group.len()));
    }
    out
}

#[test]
fn the_search_would_find_it() {
    assert_eq!(base64(b"foob", b"+/"), "Zm9vYg==");
    let canary = Canary::new();
    for text in [
        canary.key.clone(),
        canary.key[..24].to_owned(),
        base64(format!("Bearer {}", canary.key).as_bytes(), b"+/"),
        base64(format!("x{}y", canary.key).as_bytes(), b"-_"),
        canary.key.bytes().map(|b| format!("{b:02x}")).collect(),
    ] {
        let search = std::panic::AssertUnwindSafe(|| canary.is_absent("", text.as_bytes()));
        assert!(std::panic::catch_unwind(search).is_err(), "{text}");
    }
}

/// A server whose answers repeat everything it receives, including the key.
struct Echo {
    addr: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Echo {
    /// `answer` makes the whole answer from the head of the request.
    fn serve(answer: fn(&str) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (addr, asked) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let count = asked.clone();
        // Runs until the test process ends.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _lost = exchange(stream, answer, &count);
            }
        });
        Self { addr, asked }
    }
}

fn exchange(
    mut stream: TcpStream,
    answer: fn(&str) -> String,
    asked: &AtomicUsize,
) -> std::io::Result<()> {
    let (mut request, mut buffer) = (Vec::new(), [0; 16_384]);
    let end = loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
        if let Some(at) = request.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&request[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut left = length.unwrap_or(0_usize).saturating_sub(request.len() - end);
    while left > 0 {
        left = left.saturating_sub(stream.read(&mut buffer)?.max(1));
    }
    asked.fetch_add(1, Ordering::SeqCst);
    stream.write_all(answer(&head).as_bytes())
}

fn key_of(head: &str) -> &str {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("x-api-key:"));
    line.map_or("", |line| line["x-api-key:".len()..].trim())
}

fn whole(status: &str, kind: &str, head: &str, body: &str) -> String {
    let key = key_of(head);
    format!(
        "HTTP/1.1 {status} {key}\r\ncontent-type: {kind}\r\nrequest-id: {key}\r\nx-said: {key}\r\n\
         retry-after: 0\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn error(status: &str, kind: &str, head: &str) -> String {
    let message = format!("you said: {head}");
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    whole(status, "application/json", head, &body.to_string())
}

fn denies(head: &str) -> String {
    error("401 Unauthorized", "authentication_error", head)
}

fn fails(head: &str) -> String {
    error("500 Oh", "api_error", head)
}

fn shows_a_page(head: &str) -> String {
    whole("200 OK", "text/html", head, &format!("<html><pre>{head}</pre></html>"))
}

fn breaks_off(head: &str) -> String {
    let message = json!({"type": "error", "error": {"type": "overloaded_error", "message": head}});
    let body = format!("event: error\ndata: {message}\n\n");
    whole("200 OK", "text/event-stream", head, &body)
}

fn turns_away(head: &str) -> String {
    let there = format!("http://127.0.0.1:1/{}", key_of(head));
    whole("307 There", "text/plain", head, &there).replace("x-said:", "location:")
}

/// A home whose model is at `addr`, with the most detailed log.
fn home(addr: SocketAddr) -> Home {
    Home::new()
        .with("BETHINK_LOG", "trace")
        .with("BETHINK_MODEL__PROVIDER", "anthropic")
        .with("BETHINK_MODEL__BASE_URL", &format!("http://{addr}"))
        .with("BETHINK_MODEL__DEADLINE_MS", "3000")
}

/// Makes every request that a client can make, with a model that does not work; then searches all written files
/// for the key. Returns the final state of the model.
#[track_caller]
fn search(canary: &Canary, home: Home) -> Value {
    let mut daemon = home.start();
    let id = daemon.session(40_000);
    let path = |end: &str| format!("/v1/sessions/{id}{end}");
    let events = daemon.client().events(&path("/events"), None);
    let heard = std::thread::spawn(move || {
        events.map(|event| format!("{} {}", event.kind, event.data)).collect::<Vec<_>>()
    });
    for n in 0..30 {
        daemon.append(&id, &say::work(n, 3_000));
    }
    let mut answers = drive(&daemon, &path);
    let usage = daemon.client().get("/v1/usage?by=session");
    assert!(usage.json()["totals"]["failed"].as_u64() > Some(0), "asked: {}", usage.brief());
    let model = daemon.client().get("/v1/model").json();
    assert!(model["key"]["from"].is_string(), "{model}");
    answers.push(("usage".to_owned(), usage.body));
    daemon.terminate();
    for event in heard.join().unwrap() {
        answers.push(("an event".to_owned(), event.into_bytes()));
    }
    for (place, bytes) in answers.iter().chain(&files(daemon.home.scratch())) {
        canary.is_absent(place, bytes);
    }
    let kinds: Vec<_> = answers.iter().filter(|(place, _)| place == "an event").collect();
    assert!(kinds.iter().any(|(_, data)| data.starts_with(b"model ")), "steps are told");
    model["state"].clone()
}

fn drive(daemon: &Daemon, path: &dyn Fn(&str) -> String) -> Vec<(String, Vec<u8>)> {
    let requests = [
        Request::new("POST", &path("/compact")).json(&json!({"level": "full"})),
        Request::new("POST", &path("/notes/update")).json(&json!({})),
        Request::new("POST", &path("/context")).json(&json!({})),
        Request::new("POST", &path("/compact")).json(&json!({})),
        Request::new("GET", &path("")),
        Request::new("GET", &path("/messages")),
        Request::new("GET", &path("/context/report")),
        Request::new("GET", &path("/compactions")),
        Request::new("GET", &path("/notes")),
        Request::new("GET", &path("/search?q=authentication")),
        Request::new("GET", &path("/export")),
        Request::new("GET", "/v1/model"),
        Request::new("GET", "/health"),
        Request::new("GET", "/metrics"),
        Request::new("GET", "/openapi.json"),
        Request::new("GET", "/v1/sessions/x"),
    ];
    let asked = |request: &Request| {
        let answer = daemon.client().must(request);
        let headers: String = answer.headers.iter().map(|(k, v)| format!("{k}: {v}\n")).collect();
        let said = [headers.as_bytes(), &answer.body].concat();
        (format!("{} {}", request.method, request.path), said)
    };
    requests.iter().map(asked).collect()
}

/// All files: the log, the database, notes, everything.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut dirs: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in dir.read_dir().unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                dirs.push(path);
            } else if kind.is_file() {
                all.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    assert!(all.iter().any(|(name, log)| name.ends_with("bethinkd.log") && !log.is_empty()));
    all
}

#[track_caller]
fn a_server_that(answer: fn(&str) -> String) -> Value {
    let (canary, server) = (Canary::new(), Echo::serve(answer));
    let home =
        home(server.addr).with("BETHINK_MODEL__API_KEY_ENV", "A_KEY").with("A_KEY", &canary.key);
    let state = search(&canary, home);
    assert!(server.asked.load(Ordering::SeqCst) > 0);
    state
}

#[test]
fn a_server_that_denies_the_key_and_shows_it_is_not_repeated() {
    assert_eq!(a_server_that(denies), "resting");
}

#[test]
fn a_server_that_fails_and_shows_the_key_is_not_repeated() {
    a_server_that(fails);
}

#[test]
fn a_page_that_shows_the_key_is_not_repeated() {
    a_server_that(shows_a_page);
}

#[test]
fn an_error_in_a_stream_that_shows_the_key_is_not_repeated() {
    a_server_that(breaks_off);
}

#[test]
fn a_way_elsewhere_that_shows_the_key_is_not_repeated() {
    a_server_that(turns_away);
}

#[test]
fn a_closed_port_shows_no_key() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let canary = Canary::new();
    let key = home(closed).with("BETHINK_MODEL__API_KEY_ENV", "A_KEY").with("A_KEY", &canary.key);
    search(&canary, key);
}

/// The command itself wrongly contains the key and prints it to stderr.
#[test]
fn a_command_that_gives_the_key_is_not_shown() {
    let canary = Canary::new();
    let server = Echo::serve(denies);
    let command = format!("printf %s '{}' | tee /dev/stderr", canary.key);
    search(&canary, home(server.addr).with("BETHINK_MODEL__API_KEY_COMMAND", &command));
    assert!(server.asked.load(Ordering::SeqCst) > 0);
}
