//! The server, with one thread and one port.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;

use crate::admin;
use crate::answer::{self, Answer, Stop};
use crate::ask::{Ask, Wire};
use crate::check::bound_elsewhere;
use crate::deliver::{After, Manner, deliver, reset};
use crate::fault::Fault;
use crate::gemini::{self, ModelCall};
use crate::http::{self, Incoming};
use crate::payload::Payload;
use crate::refusal::{self, Refusal};
use crate::responses;
use crate::script::Script;
use crate::state::{Counts, Decided, Seen, State};

/// How many bytes of a request are read to recognize a test's own routes.
const PEEKED: usize = 8;
/// The model that `/v1/models` lists.
const MODEL: &str = "scripted-1";
/// Path of the responses that are kept.
const RESPONSES: &str = "/v1/responses/";
/// How long a connection must remain unanswered before the backlog counts as full.
const UNANSWERED: Duration = Duration::from_millis(200);

/// A running server, which stops when dropped.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server on a free loopback port.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::listen(SocketAddr::from(([127, 0, 0, 1], 0)), script)
    }

    pub fn listen(addr: SocketAddr, script: Script) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bind = async |addr| TcpListener::bind(addr).await;
        let listener = runtime.block_on(bind(addr))?;
        let other = runtime.block_on(bind(SocketAddr::new(addr.ip(), 0)))?;
        let addr = listener.local_addr()?;
        let elsewhere = format!("http://{}/v1/messages", other.local_addr()?);
        let state = Arc::new(State::new(script, elsewhere));
        let (stop, stopped) = oneshot::channel::<()>();
        let kept = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, &kept) => {}
                    () = trap(other, &kept) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Ok(Self { addr, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub fn counts(&self) -> Counts {
        self.state.counts()
    }

    /// Returns the newest requests, oldest first.
    pub fn requests(&self) -> Vec<Seen> {
        self.state.seen()
    }

    pub fn set_script(&self, script: Script) {
        self.state.set_script(script);
    }

    /// Holds all answers back until [`Server::release`]. Requests are still read and counted.
    pub fn hold(&self) {
        self.state.hold(true);
    }

    pub fn release(&self) {
        self.state.hold(false);
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// A port with a full backlog: connections to it are neither made nor refused.
#[derive(Debug)]
pub struct Deaf {
    addr: SocketAddr,
    _listener: std::net::TcpListener,
    _waiting: Vec<std::net::TcpStream>,
}

impl Deaf {
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
            let listener = socket.listen(1)?;
            let addr = listener.local_addr()?;
            let mut waiting = Vec::new();
            while let Ok(made) = tokio::time::timeout(UNANSWERED, TcpStream::connect(addr)).await {
                waiting.push(made?.into_std()?);
            }
            Ok(Self { addr, _listener: listener.into_std()?, _waiting: waiting })
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

async fn serve(listener: TcpListener, state: &Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(state);
        // Many faults make clients disconnect.
        tokio::spawn(async move { drop(connection(stream, &state).await) });
    }
}

/// The target of redirects, which counts connections and answers none.
async fn trap(listener: TcpListener, state: &State) {
    while let Ok((stream, _)) = listener.accept().await {
        state.count(|counts| counts.elsewhere += 1);
        drop(stream);
    }
}

async fn connection(mut stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut rest = Vec::new();
    let mut counted = false;
    loop {
        let Some(start) = peek(&stream, &rest).await? else { return Ok(()) };
        let own = String::from_utf8_lossy(&start).contains(admin::PREFIX);
        if !own && !counted {
            state.count(|counts| counts.connections += 1);
            counted = true;
        }
        if !own && start.starts_with(b"POST") {
            match state.draw_unread() {
                Some(Fault::ResetAtAccept) => return reset(&stream).map(drop),
                // Never read, and kept open until the server stops.
                Some(_) => std::future::pending().await,
                None => {}
            }
        }
        let Some(incoming) = http::read(&mut stream, &mut rest).await? else { return Ok(()) };
        if respond(&mut stream, state, &incoming).await? != After::Kept {
            return Ok(());
        }
    }
}

/// Peeks at the first bytes of the next request; `None` at the end.
async fn peek(stream: &TcpStream, rest: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut start = [0; PEEKED];
    loop {
        if rest.len() >= PEEKED {
            return Ok(Some(rest[..PEEKED].to_vec()));
        }
        match stream.peek(&mut start).await? {
            0 => return Ok(None),
            PEEKED => return Ok(Some(start.to_vec())),
            _ => tokio::task::yield_now().await,
        }
    }
}

async fn respond(stream: &mut TcpStream, state: &State, incoming: &Incoming) -> io::Result<After> {
    let plain =
        |payload: Payload| (payload, manner(None, Wire::Anthropic, &Script::default(), state));
    if ModelCall::of(incoming).is_some_and(|call| call.generates()) {
        return ask(stream, state, incoming, Wire::Gemini).await;
    }
    let (payload, manner) = match (incoming.method.as_str(), incoming.path.as_str()) {
        (_, path) if path.starts_with(admin::PREFIX) => plain(admin::answer(state, incoming)),
        ("POST", "/v1/messages") => return ask(stream, state, incoming, Wire::Anthropic).await,
        ("POST", "/v1/chat/completions") => {
            return ask(stream, state, incoming, Wire::OpenAi).await;
        }
        ("POST", "/v1/messages/count_tokens") => {
            state.count(|counts| counts.count_tokens += 1);
            let asked = Ask::read(Wire::Anthropic, &body(incoming));
            plain(Payload::json(200, &json!({"input_tokens": asked.tokens()})))
        }
        ("POST", "/v1/responses") => {
            return ask(stream, state, incoming, Wire::Responses).await;
        }
        ("POST", "/v1/responses/input_tokens") => {
            state.count(|counts| counts.count_tokens += 1);
            let asked = Ask::read(Wire::Responses, &body(incoming));
            let counted =
                json!({"object": "response.input_tokens", "input_tokens": asked.tokens()});
            plain(Payload::json(200, &counted))
        }
        ("POST", "/v1/responses/compact") => plain(compacted(&body(incoming))),
        ("POST", "/v1/embeddings") => {
            let vector = json!({"object": "embedding", "index": 0, "embedding": [0.5, -0.5]});
            plain(Payload::json(200, &json!({"object": "list", "data": [vector], "model": "e"})))
        }
        (_, path) if path.starts_with(RESPONSES) => {
            plain(kept_response(state, incoming.method.as_str(), &path[RESPONSES.len()..]))
        }
        (_, path) if path.starts_with("/v1beta/") || ModelCall::of(incoming).is_some() => {
            let tokens = Ask::read(Wire::Gemini, &body(incoming)).tokens();
            plain(gemini::other(incoming, tokens).unwrap_or_else(not_found))
        }
        ("GET", path) if path.starts_with("/v1/models/") => {
            let name = &path["/v1/models/".len()..];
            plain(Payload::json(200, &json!({"id": name, "object": "model", "type": "model"})))
        }
        ("GET", "/v1/models") => {
            state.count(|counts| counts.models += 1);
            let model =
                json!({"id": MODEL, "object": "model", "type": "model", "owned_by": "script"});
            plain(Payload::json(200, &json!({"object": "list", "data": [model]})))
        }
        _ => plain(not_found()),
    };
    deliver(stream, &payload, &manner).await
}

fn not_found() -> Payload {
    let error = json!({"type": "not_found_error", "message": "Not Found"});
    Payload::json(404, &json!({"type": "error", "error": error}))
}

async fn ask(
    stream: &mut TcpStream,
    state: &State,
    incoming: &Incoming,
    wire: Wire,
) -> io::Result<After> {
    let mut body = body(incoming);
    if let Some(call) = ModelCall::of(incoming).filter(|_| body.is_object()) {
        call.describe(&mut body);
    }
    let unknown = if wire == Wire::Responses { continue_answer(state, &mut body) } else { None };
    let asked = Ask::read(wire, &body);
    let decided = state.decide(incoming, &body, &asked);
    let request = format!("req_{:06}", decided.number);
    let refused = match decided.fault {
        None => unknown.or_else(|| refused(&asked, &decided, state)),
        Some(_) => None,
    };
    let (payload, reason) = match refused {
        Some((refusal, reason)) => (Payload::refused(wire, &refusal, &request), Some(reason)),
        None => match &decided.script.recording {
            Some(recording) if decided.fault.is_none() => (Payload::recorded(recording), None),
            _ => {
                let (payload, answer) = react(&asked, &decided, &request, key(incoming));
                if let Some(answer) = answer.filter(|_| asked.is_stored) {
                    let output = responses::output(&answer, &request);
                    let items = [responses::items(&body["input"]), output].concat();
                    state.keep_response(responses::id(&request), items);
                }
                (payload, None)
            }
        },
    };
    state.ended(&decided, &asked, reason.as_deref());
    let fault = decided.fault.filter(|_| reason.is_none());
    let manner = manner(fault, wire, &decided.script, state);
    state.released().await;
    let after = deliver(stream, &payload, &manner).await;
    if !matches!(after, Ok(After::Kept | After::Closed)) {
        state.left(decided.number);
    }
    after
}

/// Returns why the server rejects a request without a fault; `None` if it does not.
fn refused(asked: &Ask, decided: &Decided, state: &State) -> Option<(Refusal, String)> {
    if !decided.prompt_faults.is_empty() {
        let faults = &decided.prompt_faults;
        return Some((refusal::broken(faults), faults.join("; ")));
    }
    if let Some(place) = bound_elsewhere(asked).filter(|_| decided.script.thinking) {
        return Some((refusal::bound(&place), format!("thinking at {place}")));
    }
    let over = decided.script.window.and_then(|window| refusal::over_window(asked, window))?;
    state.count(|counts| counts.over_window += 1);
    Some((over, "over the window".to_owned()))
}

/// Adds what was said through the answer that a request continues. Returns the refusal if it is unknown.
fn continue_answer(state: &State, body: &mut Value) -> Option<(Refusal, String)> {
    let id = body["previous_response_id"].as_str()?.to_owned();
    let Some(earlier) = state.response(&id) else {
        return Some((refusal::unknown_response(&id), format!("no response {id}")));
    };
    body["input"] = json!([earlier, responses::items(&body["input"])].concat());
    None
}

/// Answers a request for a kept response, or for a part of it.
fn kept_response(state: &State, method: &str, path: &str) -> Payload {
    let (id, part) = path.split_once('/').unwrap_or((path, ""));
    let Some(items) = state.response(id) else {
        let error = json!({"message": format!("Response with id '{id}' not found."),
            "type": "invalid_request_error", "param": null, "code": null});
        return Payload::json(404, &json!({"error": error}));
    };
    match (method, part) {
        ("DELETE", "") => {
            let deleted = state.delete_response(id);
            Payload::json(200, &json!({"id": id, "object": "response", "deleted": deleted}))
        }
        (_, "input_items") => Payload::json(200, &json!({"object": "list", "data": items})),
        _ => Payload::json(
            200,
            &json!({"id": id, "object": "response", "status": "completed", "output": items}),
        ),
    }
}

/// Answers a request to compact an input.
fn compacted(body: &Value) -> Payload {
    let items = responses::items(&body["input"]);
    let users = items.iter().filter(|item| item["role"] == "user").cloned();
    let compaction = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "compacted"});
    let output: Vec<Value> = users.chain([compaction]).collect();
    Payload::json(
        200,
        &json!({"id": "resp_compacted", "object": "response.compaction", "output": output,
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}),
    )
}

/// Returns the response, and the answer if it is a good one.
fn react(asked: &Ask, decided: &Decided, request: &str, key: &str) -> (Payload, Option<Answer>) {
    let error =
        decided.fault.and_then(|fault| refusal::refusal(fault, asked, decided.script.window, key));
    let in_stream = matches!(
        decided.fault,
        Some(Fault::ErrorAfterOk | Fault::ErrorMidStream | Fault::OverflowAfterOk)
    );
    if let Some(error) = error.as_ref().filter(|_| !in_stream) {
        return (Payload::refused(asked.wire, error, request), None);
    }
    let mut answer = answer::answer(asked, decided);
    let thinks = asked.wire != Wire::OpenAi && answer.stop != Stop::Refusal;
    if decided.script.thinking && thinks {
        answer.content.insert(0, answer::thinking(asked));
    }
    (Payload::answered(asked, &answer, decided.fault, request, error.as_ref()), Some(answer))
}

fn manner(fault: Option<Fault>, wire: Wire, script: &Script, state: &State) -> Manner {
    Manner {
        fault,
        wire,
        split: script.split,
        pace: Duration::from_millis(script.pace_ms),
        drip: Duration::from_millis(script.drip_ms),
        elsewhere: state.elsewhere.clone(),
    }
}

fn body(incoming: &Incoming) -> Value {
    let mut plain = Vec::new();
    let read = match incoming.header("content-encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(&*incoming.body).read_to_end(&mut plain),
        Some("zstd") => match ruzstd::decoding::StreamingDecoder::new(&*incoming.body) {
            Ok(mut decoder) => decoder.read_to_end(&mut plain),
            Err(error) => Err(io::Error::other(error)),
        },
        _ => return serde_json::from_slice(&incoming.body).unwrap_or(Value::Null),
    };
    read.ok().and_then(|_| serde_json::from_slice(&plain).ok()).unwrap_or(Value::Null)
}

/// Returns the key in a request.
fn key(incoming: &Incoming) -> &str {
    let bearer = incoming.header("authorization").map(|value| value.trim_start_matches("Bearer "));
    let own = ["x-api-key", "x-goog-api-key"].into_iter().find_map(|name| incoming.header(name));
    own.or(bearer).unwrap_or("")
}
