//! Tests of streams through the real daemon: their bytes, their pace, and slow readers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use bethink_harness::Request;
use bethink_harness::http::connect;
use bethink_model_server::{Fault, Recording, Script, Split};
use serde_json::json;

use crate::world::{World, home, read_until, streamed};

/// A stream with rare but valid elements: a byte-order mark, carriage returns, comments, unknown events and members.
fn recording(crlf: bool) -> String {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm é中😀"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "EqQB+/=="}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "vendor_news", "mood": [null]}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "It is\n\ndata: red"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let event = |data: &serde_json::Value| {
        format!(": c\n\nevent:{}\ndata:{data}\n\n", data["type"].as_str().unwrap())
    };
    let text: String = events.iter().map(event).collect();
    if crlf { format!("\u{feff}{}", text.replace('\n', "\r\n")) } else { text }
}

fn script(body: &str, split: Split) -> Script {
    let recording = Recording { kind: "text/event-stream".to_owned(), body: body.to_owned() };
    Script { recording: Some(recording), split, ..Script::good() }
}

/// A sample of the offsets, all of which the gateway's own tests try.
#[test]
fn streams_are_byte_identical_wherever_they_are_cut() {
    let world = World::new(Script::good());
    for crlf in [false, true] {
        let body = recording(crlf);
        let offsets = (0..body.len()).step_by(61).map(Split::At);
        for split in offsets.chain([Split::Whole, Split::Bytes(1), Split::Bytes(7)]) {
            world.server.set_script(script(&body, split));
            let answer = world.ask(&streamed("Why is the build red?"));
            assert_eq!((answer.status, answer.text()), (200, body.clone()), "{split:?}");
        }
    }
    let histories = world.histories(2);
    let kept = &histories[0][1]["content"];
    let expect = json!([
        {"type": "thinking", "thinking": "hm é中😀", "signature": "EqQB+/=="},
        {"type": "text", "text": "It is\n\ndata: red"},
    ]);
    assert_eq!(kept, &expect);
}

#[test]
fn the_first_frame_leaves_at_once() {
    let world = World::new(Script::always(Fault::HangMidStream));
    let mut stream = world.open("/anthropic/v1/messages", &streamed("hi"));
    let start = Instant::now();
    let came = read_until(&mut stream, "message_start");
    assert!(came.contains("message_start") && start.elapsed() < Duration::from_secs(2), "{came}");
}

/// A client that does not read slows the provider down, and costs the daemon no memory.
#[test]
fn a_slow_reader_is_felt_upstream() {
    const MOST_BUFFERED: usize = 16 << 20;
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let daemon = home(&format!("http://{}", upstream.local_addr().unwrap()), true).start();
    let writer = std::thread::spawn(move || {
        let (mut up, _) = upstream.accept().unwrap();
        read_until(&mut up, "\r\n\r\n");
        up.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
        up.set_write_timeout(Some(Duration::from_millis(1500))).unwrap();
        let piece = format!("10000\r\n: {}\n\r\n", "x".repeat(0x10000 - 3));
        let mut sent = 0;
        while sent < 64 << 20 && up.write_all(piece.as_bytes()).is_ok() {
            sent += piece.len();
        }
        sent
    });
    let body = streamed("hi").to_string();
    let mut stream = connect(daemon.addr()).unwrap();
    let head = format!(
        "POST /anthropic/v1/messages HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        daemon.addr(),
        daemon.token(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut first = [0; 16];
    stream.read_exact(&mut first).unwrap();
    let sent = writer.join().unwrap();
    println!("a reader that stopped: {} KB left the provider", sent >> 10);
    assert!(sent < MOST_BUFFERED, "{sent} bytes were taken for a reader that reads nothing");
    drop(stream);
    assert_eq!(daemon.client().send(&Request::new("GET", "/health")).unwrap().status, 200);
}
