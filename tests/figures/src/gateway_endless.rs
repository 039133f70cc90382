//! Drives clients with histories of ten windows and more through the gateway, to a provider that rejects prompts that
//! do not fit.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bethink_harness::{Client, Daemon, Home, Request};
use bethink_model_server::{Counts, Recording, Script, Server};
use serde_json::{Value, json};

use crate::recording::{self, Recorded};
use crate::table::{Goal, Row};

/// The window for the generated session and for recorded ones.
const WINDOW: u64 = 30_000;
/// Length of the generated session, in windows.
const LONG: usize = 10;
/// Number of bytes that the provider counts as one token.
const BYTES_PER_TOKEN: f64 = 3.6;
const OUTPUT: u64 = 2_000;
const EARLY: &str = "The deploy word of the harbour is heliotrope-77. Read all parts.";

/// The results of all conversations.
#[derive(Default)]
struct Driven {
    requests: usize,
    windows: f64,
    refused: Vec<String>,
    counts: Vec<Counts>,
    waits: Vec<Duration>,
    found_early: bool,
    sessions: usize,
    conversations: usize,
}

pub fn rows(files: &[PathBuf]) -> Vec<Row> {
    let mut rows = told("a made-up session", &drive(&[made_up()]), true);
    let recorded: Vec<Vec<Value>> =
        files.iter().map(|file| conversation(&recording::load(file))).collect();
    if !recorded.is_empty() {
        rows.extend(told("recorded sessions", &drive(&recorded), false));
    }
    rows
}

fn told(what: &str, driven: &Driven, made_up: bool) -> Vec<Row> {
    let sum = |of: fn(&Counts) -> u64| driven.counts.iter().map(of).sum::<u64>() as f64;
    let detail = format!(
        "{} conversations of {:.1} windows of {WINDOW} in all, {} requests, {} sessions stored, median {} ms a request",
        driven.conversations,
        driven.windows,
        driven.requests,
        driven.sessions,
        crate::median(&driven.waits).as_millis(),
    );
    let refused = driven.refused.first().cloned().unwrap_or_default();
    let mut rows = vec![
        Row::new(
            format!("{what}: upstream overflows"),
            sum(|c| c.over_window),
            "",
            Goal::AtMost(0.0),
        )
        .detail(detail),
        Row::new(
            format!("{what}: invalid prompts"),
            sum(|c| c.invalid_prompts),
            "",
            Goal::AtMost(0.0),
        ),
        Row::new(
            format!("{what}: requests without an answer"),
            driven.refused.len() as f64,
            "",
            Goal::AtMost(0.0),
        )
        .detail(refused),
    ];
    if made_up {
        let found = f64::from(u8::from(driven.found_early));
        rows.push(Row::new("what was said first is found", found, "", Goal::AtLeast(1.0)));
    }
    rows
}

/// Runs a session in which the agent reads files.
fn made_up() -> Vec<Value> {
    let mut said = vec![json!({"role": "user", "content": EARLY})];
    let mut bytes = 0;
    for number in 0.. {
        let id = format!("toolu_{number}");
        let lines: String = (0..220).map(|n| format!("value {n} of part {number}\n")).collect();
        bytes += lines.len();
        said.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("I read part {number}.")},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("/p/part{number}.rs")}}]}));
        said.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": lines}]}));
        if bytes as f64 / BYTES_PER_TOKEN > (LONG as u64 * WINDOW) as f64 {
            break;
        }
    }
    said
}

/// Returns recorded messages as a client sends them, with the parts of a message joined.
fn conversation(recorded: &[Recorded]) -> Vec<Value> {
    let mut said: Vec<Value> = Vec::new();
    for part in recorded {
        let blocks = bethink_harness::prompt::blocks(&json!({"content": part.content}));
        // Records contain empty texts, which no client sends and no provider accepts.
        let blank = |block: &Value| block["text"].as_str().is_some_and(|t| t.trim().is_empty());
        let blocks: Vec<Value> = blocks.into_iter().filter(|block| !blank(block)).collect();
        if blocks.is_empty() {
            continue;
        }
        match said.last_mut() {
            Some(last) if last["role"] == part.role.as_str() => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            _ => said.push(json!({"role": part.role, "content": blocks})),
        }
    }
    said
}

fn drive(conversations: &[Vec<Value>]) -> Driven {
    let server = Server::start(Script::good()).expect("a free port");
    let daemon = Home::new()
        .with("BETHINK_GATEWAY__ANTHROPIC_URL", &server.url())
        .with("BETHINK_GATEWAY__ANTHROPIC_KEY_ENV", "FIGURES_GATEWAY_KEY")
        .with("FIGURES_GATEWAY_KEY", "none")
        .with("BETHINK_CONTEXT__WINDOWS", &format!("scripted={WINDOW}"))
        .start();
    let mut driven = Driven { conversations: conversations.len(), ..Driven::default() };
    let mut client = daemon.client();
    for (number, said) in conversations.iter().enumerate() {
        one(&server, &mut client, number, said, &mut driven);
    }
    driven.counts.push(server.counts());
    driven.found_early = finds_early(&daemon);
    let sessions = daemon.client().get("/v1/sessions?limit=1000").ok();
    driven.sessions = sessions["sessions"].as_array().map_or(0, Vec::len);
    driven
}

fn one(server: &Server, client: &mut Client, number: usize, said: &[Value], driven: &mut Driven) {
    let bytes = Value::from(said.to_vec()).to_string().len();
    driven.windows += bytes as f64 / BYTES_PER_TOKEN / WINDOW as f64;
    for (at, answer) in said.iter().enumerate() {
        let asks = at.checked_sub(1).is_some_and(|before| said[before]["role"] == "user");
        if answer["role"] != "assistant" || !asks {
            continue;
        }
        server.set_script(saying(&answer["content"]));
        let key = format!("{{\"session_id\":\"recorded-{number}\"}}");
        let body = json!({"model": "scripted-1", "max_tokens": OUTPUT, "messages": said[..at],
            "metadata": {"user_id": key}});
        let start = Instant::now();
        let request = Request::new("POST", "/anthropic/v1/messages").json(&body);
        let answer = client.must(&request.header("anthropic-version", "2023-06-01"));
        driven.waits.push(start.elapsed());
        driven.requests += 1;
        if answer.status != 200 {
            driven.refused.push(format!("{number} at {at}: {}", answer.brief()));
        }
    }
}

/// A provider that returns recorded answers, and rejects prompts longer than its window. It reports no usage, because a
/// recorded answer would have wrong figures.
fn saying(content: &Value) -> Script {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted-1",
        "content": content, "stop_reason": "end_turn"});
    let recording = Recording { kind: "application/json".to_owned(), body: body.to_string() };
    Script { window: Some(WINDOW), recording: Some(recording), keep: 1, ..Script::good() }
}

fn finds_early(daemon: &Daemon) -> bool {
    let mut client = daemon.client();
    let sessions = client.get("/v1/sessions").ok();
    let ids = sessions["sessions"].as_array().cloned().unwrap_or_default();
    ids.iter().filter_map(|session| session["id"].as_str()).any(|id| {
        let path = format!("/v1/sessions/{id}/search?q=deploy%20word%20harbour");
        client.get(&path).ok()["hits"][0]["seq"] == 1
    })
}
