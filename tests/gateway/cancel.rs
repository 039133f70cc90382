//! Tests that the provider's connection is closed at once when a client disconnects, and that nothing is retried.

use std::io::Write;
use std::time::{Duration, Instant};

use bethink_harness::until;
use bethink_model_server::{Fault, Script};

use crate::world::{World, body, read_until, streamed};

/// Maximum time until the provider sees that the client disconnected.
const AT_MOST: Duration = Duration::from_millis(250);
/// How often each case is tried, to find races.
const TIMES: usize = 8;

/// Disconnects, and returns how long it took until the provider saw it.
fn gone(world: &World, stream: std::net::TcpStream, before: u64) -> Duration {
    let start = Instant::now();
    drop(stream);
    let left =
        until(Duration::from_secs(5), || (world.server.counts().left > before).then_some(()));
    assert!(left.is_some(), "the provider never saw it: {:?}", world.server.counts());
    start.elapsed()
}

fn window(name: &str, fault: Fault, stream: bool, until_sent: &str) {
    let world = World::new(Script::always(fault));
    let mut slowest = Duration::ZERO;
    for n in 0..TIMES {
        let before = world.server.counts();
        let asked = if stream { streamed("hi") } else { body("hi") };
        let mut connection = world.open("/anthropic/v1/messages", &asked);
        if !until_sent.is_empty() {
            let came = read_until(&mut connection, until_sent);
            assert!(came.contains(until_sent), "{came}");
        }
        let arrived = || (world.server.counts().requests > before.requests).then_some(());
        assert!(until(Duration::from_secs(5), arrived).is_some(), "{name}: no request {n}");
        slowest = slowest.max(gone(&world, connection, before.left));
    }
    println!("{name}: at most {} ms of {TIMES}", slowest.as_millis());
    assert!(slowest <= AT_MOST, "{name}: {slowest:?}");
    let counts = world.server.counts();
    assert_eq!((counts.requests, counts.left), (TIMES as u64, TIMES as u64), "asked once each");
}

#[test]
fn while_the_head_is_awaited() {
    window("awaiting the head", Fault::HangBeforeHeaders, true, "");
}

#[test]
fn in_the_middle_of_a_stream() {
    window("mid-stream", Fault::HangMidStream, true, "content_block_delta");
}

#[test]
fn while_a_whole_answer_is_awaited() {
    window("not streamed", Fault::HangBeforeHeaders, false, "");
    window("not streamed, half of it there", Fault::HangMidStream, false, "HTTP/1.1 200");
}

/// A client that disconnects while it sends its body causes no request to the provider.
#[test]
fn before_anything_is_sent_up() {
    let world = World::new(Script::good());
    for _ in 0..TIMES {
        let raw = world.raw("/anthropic/v1/messages", &streamed("hi"));
        let mut connection = bethink_harness::http::connect(world.daemon.addr()).unwrap();
        connection.write_all(&raw[..raw.len() - 5]).unwrap();
        drop(connection);
    }
    assert_eq!(world.ask(&body("hi")).status, 200);
    assert_eq!(world.server.counts().requests, 1);
    assert_eq!(world.histories(2).len(), 1);
}
