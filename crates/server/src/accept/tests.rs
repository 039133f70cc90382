use super::*;
use axum::extract::{Extension, Request};
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Notify;

use crate::places::ConnectionPlace;

struct House {
    connections: Connections,
    stop: CancellationToken,
}

impl House {
    fn open(settings: &DaemonSettings, router: Router) -> Self {
        let stop = CancellationToken::new();
        let connections = Connections::new(router, settings, stop.clone(), TaskTracker::new());
        Self { connections, stop }
    }

    /// Creates a server with a place for one newcomer over TCP and for one client of the socket.
    fn narrow(router: Router) -> Self {
        Self::open(&DaemonSettings { max_connections: 1, ..DaemonSettings::default() }, router)
    }

    fn client(&self, listener: Listener) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        self.connections.take(theirs, listener);
        ours
    }

    /// Sends a request over a new connection, which the client keeps open.
    async fn request(&self, listener: Listener, path: &str) -> DuplexStream {
        let mut client = self.client(listener);
        send(&mut client, path).await;
        client
    }

    async fn close(self) {
        self.stop.cancel();
        self.connections.drain().await;
    }
}

async fn send(client: &mut DuplexStream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
}

/// Reads everything until the connection is closed.
async fn rest(client: &mut DuplexStream) -> String {
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    text
}

/// Reads an answer that ends with "hi".
async fn hi(client: &mut DuplexStream) {
    let mut text = Vec::new();
    while !text.ends_with(b"hi") {
        text.push(client.read_u8().await.unwrap());
    }
    assert!(text.starts_with(b"HTTP/1.1 200 OK\r\n"));
}

/// Reads a refusal that says when to try again.
async fn refused(client: &mut DuplexStream) {
    let answer = rest(client).await;
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer:?}");
    for part in ["application/problem+json", "retry-after: 1", "\"type\":\"busy\""] {
        assert!(answer.contains(part), "{answer}");
    }
}

/// Creates the routes: `/` is open, `/known` has credentials, `/slow` does not answer, and `/read` reads a body.
fn routes() -> Router {
    let known = |Extension(place): Extension<Arc<ConnectionPlace>>| async move {
        if place.become_known() { "hi" } else { "no" }
    };
    let read = |request: Request| async move {
        let (parts, body) = request.into_parts();
        match bethink_intake::whole(body, &parts, u64::MAX).await {
            Ok(_) => "hi".to_owned(),
            Err(unread) => format!("{unread:?}."),
        }
    };
    let slow = || async { std::future::pending::<()>().await };
    Router::new()
        .route("/", get(|| async { "hi" }))
        .route("/known", get(known))
        .route("/slow", get(slow))
        .route("/read", post(read))
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_makes_room_and_is_told() {
    let house = House::narrow(routes());
    let mut silent = house.client(Listener::Tcp);
    tokio::task::yield_now().await;
    let mut half = house.client(Listener::Tcp);
    half.write_all(b"GET / HT").await.unwrap();
    refused(&mut silent).await;
    let mut client = house.request(Listener::Tcp, "/").await;
    refused(&mut half).await;
    hi(&mut client).await;
    house.close().await;
}

/// A client sends the body after the head, and reads only then.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_early_does_not_end_its_connection() {
    let house = House::narrow(routes());
    let mut client = house.client(Listener::Socket);
    client.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n").await.unwrap();
    // The time is paused, so this only lets the server run.
    tokio::time::sleep(Duration::from_millis(10)).await;
    client.write_all(b"{}").await.unwrap();
    send(&mut client, "/").await;
    let mut text = Vec::new();
    while !text.ends_with(b"hi") {
        text.push(client.read_u8().await.unwrap());
    }
    assert!(text.starts_with(b"HTTP/1.1 405 "), "{}", String::from_utf8_lossy(&text));
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_known_client_stays_whoever_else_connects() {
    let house = House::narrow(routes());
    let mut known = house.request(Listener::Tcp, "/known").await;
    hi(&mut known).await;
    let silent: Vec<_> = (0..100).map(|_| house.client(Listener::Tcp)).collect();
    send(&mut known, "/").await;
    hi(&mut known).await;
    let mut socket = house.request(Listener::Socket, "/").await;
    hi(&mut socket).await;
    drop(silent);
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_newcomer_that_makes_room_is_answered() {
    let house = House::narrow(routes());
    let mut slow = house.request(Listener::Tcp, "/slow").await;
    tokio::task::yield_now().await;
    let mut client = house.request(Listener::Tcp, "/").await;
    refused(&mut slow).await;
    hi(&mut client).await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_full_socket_is_told_and_a_freed_place_is_taken() {
    let house = House::narrow(routes());
    let mut first = house.request(Listener::Socket, "/").await;
    hi(&mut first).await;
    refused(&mut house.request(Listener::Socket, "/").await).await;
    drop(first);
    // The task of the connection ends first.
    while !house.connections.tasks.is_empty() {
        tokio::task::yield_now().await;
    }
    hi(&mut house.request(Listener::Socket, "/").await).await;
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_bodies_of_all_connections_share_a_budget() {
    let settings = DaemonSettings { in_flight_bytes: 100_000, ..DaemonSettings::default() };
    let house = House::open(&settings, routes());
    let mut clients = Vec::new();
    for listener in [Listener::Tcp, Listener::Socket] {
        let mut client = house.client(listener);
        let head = "POST /read HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\n";
        client.write_all(head.as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
        clients.push(client);
    }
    let mut text = Vec::new();
    while !text.ends_with(b"Busy.") {
        text.push(clients[1].read_u8().await.unwrap());
    }
    drop(clients);
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn half_a_head_is_closed() {
    let settings = DaemonSettings { header_timeout_ms: 100, ..DaemonSettings::default() };
    let house = House::open(&settings, Router::new());
    let mut client = house.client(Listener::Tcp);
    client.write_all(b"GET / HTTP/1.1\r\nho").await.unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(5), rest(&mut client)).await;
    assert!(closed.is_ok(), "the connection with the half-sent head stayed open");
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_endless_head_is_refused() {
    let house = House::open(&DaemonSettings::default(), routes());
    let mut client = house.client(Listener::Tcp);
    let head = format!("GET / HTTP/1.1\r\nhost: {}", "x".repeat(BUFFER_BYTES));
    // The rest of the head is not read.
    drop(client.write_all(head.as_bytes()).await);
    assert!(rest(&mut client).await.starts_with("HTTP/1.1 431 "));
    house.close().await;
}

#[tokio::test]
async fn a_stop_lets_a_request_finish() {
    let (entered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (inside, wait) = (entered.clone(), go.clone());
    let handler = move || async move {
        inside.notify_one();
        wait.notified().await;
        "done"
    };
    let house = House::open(&DaemonSettings::default(), Router::new().route("/", get(handler)));
    let mut client = house.request(Listener::Tcp, "/").await;
    entered.notified().await;
    house.stop.cancel();
    go.notify_one();
    assert!(rest(&mut client).await.ends_with("done"));
    house.close().await;
}

#[tokio::test]
async fn half_a_head_does_not_hold_up_a_stop() {
    let house = House::open(&DaemonSettings::default(), Router::new());
    let mut half = house.client(Listener::Tcp);
    half.write_all(b"GET / HT").await.unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(3), house.close()).await;
    assert!(stopped.is_ok(), "the server waited for the rest of the head");
    drop(half);
}

#[tokio::test]
async fn the_drain_has_a_deadline() {
    let settings = DaemonSettings { drain_ms: 50, ..DaemonSettings::default() };
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let endless = move || async move {
        begins.notify_one();
        std::future::pending::<()>().await;
    };
    let house = House::open(&settings, Router::new().route("/endless", get(endless)));
    let mut endless = house.request(Listener::Tcp, "/endless").await;
    begun.notified().await;
    let closed = async {
        house.close().await;
        rest(&mut endless).await
    };
    let closed = tokio::time::timeout(Duration::from_secs(5), closed).await;
    assert_eq!(closed.as_deref(), Ok(""), "the request was dropped without an answer");
}
