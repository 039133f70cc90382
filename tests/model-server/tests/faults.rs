//! Tests that each fault does what its name says, with a client that reads only bytes.

// A failed operation ends the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bethink_model_server::{Deaf, Fault, Kind, Script, Server, Wire};
use serde_json::{Value, json};

/// How long a connection must send nothing to count as silent.
const SILENCE: Duration = Duration::from_millis(400);
/// How many bytes of an endless answer are read.
const ENOUGH: usize = 8 << 20;
const KEY: &str = "sk-canary-12345";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The body ended as its headers announced.
    Whole,
    Closed,
    Reset,
    Silent,
    Endless,
}

#[derive(Debug)]
struct Got {
    head: String,
    body: Vec<u8>,
    end: End,
}

impl Got {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn has(&self, header: &str) -> bool {
        self.head.lines().any(|line| line.starts_with(header))
    }
}

fn addr(server: &Server) -> SocketAddr {
    server.url().strip_prefix("http://").unwrap().parse().unwrap()
}

fn request(wire: Wire, stream: bool) -> Value {
    let tools = match wire {
        Wire::Anthropic => json!([{"name": "Read", "input_schema": {"properties": {"path": {}}}}]),
        Wire::Responses => {
            json!([{"type": "function", "name": "Read", "parameters": {"properties": {"path": {}}}}])
        }
        Wire::Gemini => json!([{"functionDeclarations": [{"name": "Read"}]}]),
        Wire::OpenAi => {
            json!([{"type": "function", "function": {"name": "Read", "parameters": {"properties": {"path": {}}}}}])
        }
    };
    const TEXT: &str = "Sum up in <summary>: Primary Request and Intent.";
    if wire == Wire::Responses {
        return json!({"model": "m", "max_output_tokens": 4000, "stream": stream, "tools": tools, "input": TEXT});
    }
    if wire == Wire::Gemini {
        return json!({"stream": stream, "tools": tools, "contents": [{"parts": [{"text": TEXT}]}]});
    }
    json!({"model": "m", "max_tokens": 4000, "stream": stream, "tools": tools,
        "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": TEXT}]})
}

fn post(server: &Server, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr(server)).unwrap();
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {KEY}\r\nanthropic-version: 1\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

fn ask(server: &Server, wire: Wire, body: &Value) -> Got {
    let path = match wire {
        Wire::Anthropic => "/v1/messages",
        Wire::OpenAi => "/v1/chat/completions",
        Wire::Responses => "/v1/responses",
        Wire::Gemini if body["stream"] == true => "/v1beta/models/m:streamGenerateContent?alt=sse",
        Wire::Gemini => "/v1beta/models/m:generateContent",
    };
    read(post(server, path, &body.to_string()))
}

fn read(mut stream: TcpStream) -> Got {
    let mut bytes = Vec::new();
    let mut piece = [0; 65536];
    let end = loop {
        if whole(&bytes) {
            break End::Whole;
        }
        if bytes.len() > ENOUGH {
            break End::Endless;
        }
        match stream.read(&mut piece) {
            Ok(0) => break End::Closed,
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => break End::Reset,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break End::Silent;
            }
            Err(e) => panic!("{e}"),
        }
    };
    let (head, body) = match bytes.windows(4).position(|w| w == b"\r\n\r\n") {
        Some(at) => (bytes[..at].to_vec(), bytes[at + 4..].to_vec()),
        None => (bytes, Vec::new()),
    };
    let head = String::from_utf8_lossy(&head).into_owned();
    let body = if head.contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
    Got { head, body, end }
}

fn whole(bytes: &[u8]) -> bool {
    let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..at]);
    let body = &bytes[at + 4..];
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length.and_then(|l| l.parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => body.ends_with(b"0\r\n\r\n"),
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = bytes.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&bytes[..at]), 16).unwrap();
        let end = (at + 2 + size).min(bytes.len());
        body.extend_from_slice(&bytes[at + 2..end]);
        bytes = &bytes[(end + 2).min(bytes.len())..];
    }
    body
}

/// Returns whether the bytes are a complete answer.
fn is_answer(got: &Got, stream: bool) -> bool {
    let text = got.text();
    if !stream {
        return serde_json::from_str::<Value>(&text).is_ok_and(|v| v["error"].is_null());
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let data: Vec<&str> = data.filter(|data| *data != "[DONE]").collect();
    let parsed: Vec<Value> =
        data.iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
    const ENDS: [&str; 3] = ["message_stop", "response.completed", "response.incomplete"];
    let ended = parsed.iter().any(|v| {
        ENDS.iter().any(|end| v["type"] == *end) || v["choices"][0]["finish_reason"].is_string()
    });
    parsed.len() == data.len() && ended && parsed.iter().all(|v| v["error"].is_null())
}

/// Returns the number of different calls of tools.
fn calls(text: &str) -> usize {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("toolu_")).collect::<BTreeSet<_>>().len()
}

fn looks(fault: Fault, got: &Got, stream: bool) -> bool {
    let Got { end, .. } = got;
    let text = got.text();
    let answer = is_answer(got, stream);
    match fault {
        Fault::HangAtAccept | Fault::HangBeforeHeaders => {
            *end == End::Silent && got.head.is_empty()
        }
        Fault::ResetAtAccept | Fault::ResetBeforeHeaders => {
            *end == End::Reset && got.head.is_empty()
        }
        Fault::HangInHeaders => *end == End::Silent && !got.head.is_empty() && got.body.is_empty(),
        Fault::HangAfterHeaders => *end == End::Silent && got.status() == 200 && text.is_empty(),
        Fault::HangMidStream => *end == End::Silent && !text.is_empty() && !answer,
        Fault::OneByteASecond => *end == End::Silent && (1..4).contains(&got.body.len()),
        Fault::ResetMidStream => *end == End::Reset && !answer,
        Fault::HalfClose => *end == End::Closed && !text.is_empty() && !answer,
        Fault::CloseBeforeHeaders => *end == End::Closed && got.head.is_empty(),
        Fault::TruncatedJson | Fault::EofWithoutStop => *end == End::Whole && !answer,
        Fault::LengthTooLong => *end == End::Closed && answer,
        // The client of this test reads what came with it, too.
        Fault::LengthTooShort => *end == End::Whole && got.has("content-length"),
        Fault::NotHttp => *end == End::Closed && got.head.starts_with("220 mail"),
        Fault::HtmlOk => got.status() == 200 && text.starts_with("<!DOCTYPE html>"),
        Fault::HugeStream | Fault::HugeEvent => *end == End::Endless,
        Fault::GzipBomb => got.has("content-encoding: gzip") && got.body.starts_with(&[0x1f, 0x8b]),
        Fault::ErrorAfterOk => got.status() == 200 && text.contains("verloaded") && !answer,
        Fault::ErrorMidStream => got.status() == 200 && text.contains("verloaded") && !answer,
        Fault::OverflowAfterOk => {
            let is_told = text.contains("maximum") || text.contains("exceeds the context window");
            got.status() == 200 && is_told && !answer
        }
        Fault::Redirect => got.status() == 307 && got.has("location: http://127.0.0.1:"),
        Fault::EchoedKey => got.status() == 401 && text.contains(KEY),
        _ if fault.kind() == Kind::Refusal => *end == End::Whole && got.status() >= 400,
        Fault::ToolLoop => answer && text.contains("toolu_"),
        Fault::ForbiddenTool => answer && text.contains("Bash"),
        Fault::ManyCalls => answer && calls(&text) == 500,
        Fault::OtherFile => answer && text.contains("toolu_"),
        Fault::EscapesPath => answer && text.contains("toolu_"),
        Fault::Refuses => answer && (text.contains("refusal\"") || text.contains("content_filter")),
        Fault::CutOff => {
            const REASONS: [&str; 3] =
                ["max_tokens", "\"length\"", "\"reason\":\"max_output_tokens\""];
            answer && REASONS.iter().any(|reason| text.contains(reason))
        }
        Fault::NegativeUsage => answer && text.contains(":-5"),
        Fault::AbsurdUsage => answer && text.contains("9000000000000000"),
        Fault::MissingUsage => {
            answer && !text.contains("input_tokens") && !text.contains("prompt_tokens")
        }
        Fault::TerminalEscapes => answer && text.contains("\\u001b"),
        Fault::UnknownEvents => text.contains("vendor_news"),
        Fault::OddSse => {
            if stream {
                got.body.starts_with("\u{feff}:".as_bytes())
            } else {
                answer
            }
        }
        Fault::EmptyContent if stream => answer,
        Fault::EmptyContent => answer && text.contains("[]"),
        Fault::BrokenArguments => answer && text.contains("toolu_"),
        Fault::NoFormat => answer && !text.contains("<summary>"),
        Fault::EmptySummary => answer && !text.contains("Primary"),
        Fault::LacksSection => {
            answer && text.contains("Errors") && !text.contains("Files and Code")
        }
        Fault::LargerThanInput => answer && text.len() > 4000,
        _ => false,
    }
}

#[test]
fn every_fault_does_what_it_says_on_every_wire() {
    std::thread::scope(|scope| {
        for fault in Fault::ALL {
            scope.spawn(move || {
                let server = Server::start(Script::always(*fault)).unwrap();
                for wire in [Wire::Anthropic, Wire::OpenAi, Wire::Responses] {
                    for stream in [true, false] {
                        let got = ask(&server, wire, &request(wire, stream));
                        let brief: String = got.text().chars().take(300).collect();
                        let seen = (&got.head, got.end, brief);
                        assert!(
                            looks(*fault, &got, stream),
                            "{fault:?} {wire:?} {stream}: {seen:?}"
                        );
                    }
                }
                let counts = server.counts();
                assert_eq!(counts.failed.get(fault.name()), Some(&6), "{counts:?}");
                assert_eq!((counts.answered_well, counts.invalid_prompts), (0, 0), "{counts:?}");
                // The same bytes came twice as one stream and twice as one JSON, on three wires.
                assert_eq!(counts.repeated, 0, "{counts:?}");
            });
        }
    });
}

#[test]
fn a_bomb_unpacks() {
    let server = Server::start(Script::always(Fault::GzipBomb)).unwrap();
    let got = ask(&server, Wire::Anthropic, &request(Wire::Anthropic, false));
    assert!(got.body.len() < ENOUGH, "{} bytes", got.body.len());
    let gzip = std::process::Command::new("gzip")
        .arg("-dc")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut gzip = gzip.expect("gzip");
    let mut unpacked = gzip.stdout.take().unwrap();
    let mut stdin = gzip.stdin.take().unwrap();
    let counted = std::thread::spawn(move || {
        let (mut piece, zeros) = (vec![1; 1 << 20], vec![0; 1 << 20]);
        let mut count = 0;
        loop {
            match unpacked.read(&mut piece).unwrap() {
                0 => return count,
                n => {
                    assert!(piece[..n] == zeros[..n]);
                    count += n;
                }
            }
        }
    });
    // Unpacking a part of it is enough.
    stdin.write_all(&got.body[..1 << 20]).unwrap();
    drop(stdin);
    assert!(counted.join().unwrap() > 150 << 20);
    gzip.wait().unwrap();
}

#[test]
fn a_deaf_port_neither_connects_nor_refuses() {
    let deaf = Deaf::start().unwrap();
    let addr: SocketAddr = deaf.url().strip_prefix("http://").unwrap().parse().unwrap();
    let failed = TcpStream::connect_timeout(&addr, SILENCE).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::TimedOut, "{failed}");
}
