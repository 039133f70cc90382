//! Many clients at once: connections that take places, and large bodies that take memory.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use bethink_harness::{Daemon, Home, Request, say};
use serde_json::{Value, json};

/// Few places: 8 for clients with a token, 2 for others, 2 for the socket.
const PLACES: &str = "8";

/// The problem that a refused connection reads before it is closed.
fn refusal(connection: &mut impl Read) -> Value {
    let mut text = String::new();
    connection.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("not told: {text:?}"));
    assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("retry-after: "), "{head}");
    serde_json::from_str(body).unwrap()
}

#[test]
fn whoever_has_no_token_keeps_nobody_out() {
    let daemon = Home::new().with("BETHINK_DAEMON__MAX_CONNECTIONS", PLACES).start();
    let session = daemon.session(200_000);
    let mut silent: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(daemon.addr()).unwrap()).collect();
    for n in 0..20 {
        // Each over a new connection.
        daemon.append(&session, &[say::user(&format!("message {n}"))]);
    }
    let mut socket = UnixStream::connect(daemon.home.path().join("daemon.sock")).unwrap();
    socket.write_all(b"GET /v1/sessions HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 ") || answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // The last ones still have their places.
    for connection in &mut silent[..98] {
        assert_eq!(refusal(connection)["type"], "busy");
    }
    daemon.is_well();
}

#[test]
fn when_all_places_are_taken_each_refusal_says_so() {
    let daemon = Home::new().with("BETHINK_DAEMON__MAX_CONNECTIONS", "2").start();
    let mut known = [daemon.client(), daemon.client()];
    known.iter_mut().for_each(|client| drop(client.get("/v1/sessions").ok()));
    let problem = daemon.client().get("/v1/sessions").problem();
    assert_eq!((&problem["type"], &problem["status"]), (&json!("busy"), &json!(503)));
    daemon.client().get("/health").ok();
    let path = daemon.home.path().join("daemon.sock");
    let first = UnixStream::connect(&path).unwrap();
    assert_eq!(refusal(&mut UnixStream::connect(&path).unwrap())["type"], "busy");
    drop(first);
    known.iter_mut().for_each(|client| drop(client.get("/v1/sessions").ok()));
}

/// A request whose body takes all the room, and which has sent nothing of it yet.
fn takes_all_room(daemon: &Daemon) -> TcpStream {
    let mut connection = TcpStream::connect(daemon.addr()).unwrap();
    let head = format!(
        "POST /v1/import HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 900000\r\n\
         Expect: 100-continue\r\n\r\n",
        daemon.addr(),
        daemon.token()
    );
    connection.write_all(head.as_bytes()).unwrap();
    // The daemon asks for the body once there is room for it.
    let mut line = String::new();
    BufReader::new(&connection).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 100 "), "{line}");
    connection
}

#[test]
fn a_large_body_waits_until_there_is_room_and_a_small_one_does_not() {
    let daemon = Home::new().with("BETHINK_DAEMON__IN_FLIGHT_BYTES", "900000").start();
    let session = daemon.session(200_000);
    let large = json!({ "messages": [say::user(&"tide ".repeat(100_000))] });
    let request = Request::new("POST", &format!("/v1/sessions/{session}/messages")).json(&large);
    let other = takes_all_room(&daemon);
    std::thread::scope(|scope| {
        let (mut client, request) = (daemon.client(), &request);
        let waiting = scope.spawn(move || client.must(request));
        daemon.append(&session, &[say::user("small")]);
        // The other client gives up.
        other.shutdown(Shutdown::Both).unwrap();
        assert_eq!(waiting.join().unwrap().ok()["appended"], 1);
    });
    let other = takes_all_room(&daemon);
    let problem = daemon.client().must(&request).problem();
    assert_eq!((&problem["type"], &problem["status"]), (&json!("busy"), &json!(503)));
    drop(other);
    daemon.is_well();
}
