//! Sends a thousand concurrent streams through the gateway, with ten frames per second each, and counts lost and late ones.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bethink_harness::Daemon;
use bethink_model_server::{Recording, Script, Server};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::gateway::home;
use crate::table::{Goal, Row};

const STREAMS: usize = 1000;
const PACE: Duration = Duration::from_millis(100);
/// Number of frames in a stream, which takes six seconds.
const FRAMES: usize = 60;
/// The streams begin at random times within this period.
const WITHIN: Duration = Duration::from_millis(1500);
/// Time limit for the whole measurement.
const PATIENCE: Duration = Duration::from_secs(60);

/// The result of one client.
struct Seen {
    body: Vec<u8>,
    frames: usize,
    longest_gap: Duration,
}

pub fn rows() -> Vec<Row> {
    let expected = recording();
    let kind = "text/event-stream".to_owned();
    let recording = Some(Recording { kind, body: expected.clone() });
    let pace_ms = PACE.as_millis() as u64;
    let server = Server::start(Script { recording, pace_ms, keep: 1, ..Script::good() }).unwrap();
    let connections = (STREAMS + 50).to_string();
    let daemon = home(&server.url()).with("BETHINK_DAEMON__MAX_CONNECTIONS", &connections).start();
    let start = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seen = runtime.block_on(all(&daemon));
    let took = start.elapsed();
    judged(&seen, &expected, took, &daemon)
}

async fn all(daemon: &Daemon) -> Vec<Option<Seen>> {
    let mut running = Vec::with_capacity(STREAMS);
    for number in 0..STREAMS {
        let (addr, token) = (daemon.addr(), daemon.token().to_owned());
        let wait = WITHIN.mul_f64(number as f64 / STREAMS as f64);
        running.push(tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            tokio::time::timeout(PATIENCE, stream(addr, &token, number)).await.ok()?.ok()
        }));
    }
    let mut seen = Vec::with_capacity(STREAMS);
    for one in running {
        seen.push(one.await.ok().flatten());
    }
    seen
}

async fn stream(addr: SocketAddr, token: &str, number: usize) -> std::io::Result<Seen> {
    let text = format!("stream {number}");
    let body = json!({"model": "scripted-1", "max_tokens": 1000, "stream": true,
        "messages": [{"role": "user", "content": text}]})
    .to_string();
    let mut stream = TcpStream::connect(addr).await?;
    let head = format!(
        "POST /anthropic/v1/messages HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let mut bytes = Vec::new();
    let (mut last, mut longest_gap) = (None::<Instant>, Duration::ZERO);
    while !bytes.ends_with(b"\r\n0\r\n\r\n") {
        if stream.read_buf(&mut bytes).await? == 0 {
            break;
        }
        let now = Instant::now();
        longest_gap = longest_gap.max(last.map_or(Duration::ZERO, |last| now - last));
        last = Some(now);
    }
    let body = unchunked(&bytes);
    let frames = body.windows(2).filter(|w| w == b"\n\n").count();
    Ok(Seen { body, frames, longest_gap })
}

fn unchunked(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.windows(4).position(|w| w == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    let (mut rest, mut out) = (&bytes[start..], Vec::new());
    while let Some(at) = rest.windows(2).position(|w| w == b"\r\n") {
        let size = String::from_utf8_lossy(&rest[..at]);
        let Ok(size) = usize::from_str_radix(&size, 16) else { break };
        let Some(piece) = rest.get(at + 2..at + 2 + size).filter(|_| size > 0) else { break };
        out.extend_from_slice(piece);
        rest = rest.get(at + 4 + size..).unwrap_or_default();
    }
    out
}

fn judged(seen: &[Option<Seen>], expected: &str, took: Duration, daemon: &Daemon) -> Vec<Row> {
    let each = expected.matches("\n\n").count();
    let came: usize = seen.iter().flatten().map(|seen| seen.frames).sum();
    let whole = seen.iter().flatten().filter(|seen| seen.body == expected.as_bytes()).count();
    let mut gaps: Vec<Duration> = seen.iter().flatten().map(|seen| seen.longest_gap).collect();
    gaps.sort_unstable();
    let gap = |percent: usize| gaps.get(gaps.len().saturating_sub(1) * percent / 100).copied();
    let gap = |percent| gap(percent).unwrap_or_default().as_millis();
    let memory = daemon.pid().and_then(resident).unwrap_or(0);
    let detail = format!(
        "{whole} of {STREAMS} streams identical, {came} frames in {:.1} s, longest gap of a stream p50 {} ms, p99 {} ms (pace {} ms), {memory} MB resident",
        took.as_secs_f64(),
        gap(50),
        gap(99),
        PACE.as_millis()
    );
    let lost = (each * STREAMS).saturating_sub(came);
    vec![
        Row::new("gateway, 1,000 streams, frames lost", lost as f64, "", Goal::AtMost(0.0))
            .detail(detail),
        Row::new("streams that differ in a byte", (STREAMS - whole) as f64, "", Goal::AtMost(0.0)),
    ]
}

/// Converts bytes to megabytes.
fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb / 1024)
}

fn recording() -> String {
    let event = |data: serde_json::Value| {
        format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
    };
    let mut out =
        event(json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
        "role": "assistant", "model": "scripted-1", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 9, "output_tokens": 1}}}));
    out += &event(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    for number in 0..FRAMES - 4 {
        let delta = json!({"type": "text_delta", "text": format!("piece {number}, ")});
        out += &event(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    out += &event(json!({"type": "content_block_stop", "index": 0}));
    out += &event(
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 300}}),
    );
    out + &event(json!({"type": "message_stop"}))
}
