use super::*;
use axum::routing::get;
use tokio::net::TcpStream;

struct House {
    address: std::net::SocketAddr,
    stop: CancellationToken,
    served: tokio::task::JoinHandle<()>,
}

impl House {
    async fn open(settings: DaemonSettings, router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let connections = Connections::new(router, &settings, stop.clone(), TaskTracker::new());
        let served = tokio::spawn(async move {
            connections.accept_tcp(listener).await;
            connections.drain().await;
        });
        Self { address, stop, served }
    }

    async fn client(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn over_the_cap_is_told_and_a_freed_place_is_taken() {
    let settings = DaemonSettings { max_connections: 1, ..DaemonSettings::default() };
    let house = House::open(settings, Router::new().route("/", get(|| async { "hi" }))).await;
    let mut first = house.client().await;
    first.write_all(REQUEST).await.unwrap();
    assert_eq!(first.read_u8().await.unwrap(), b'H');
    let mut second = house.client().await;
    second.write_all(REQUEST).await.unwrap();
    second.shutdown().await.unwrap();
    let answer = rest(second).await;
    assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
    house.stop.cancel();
    house.served.await.unwrap();
}

#[tokio::test]
async fn half_a_head_is_closed() {
    let settings = DaemonSettings { header_timeout_ms: 100, ..DaemonSettings::default() };
    let house = House::open(settings, Router::new()).await;
    let mut client = house.client().await;
    client.write_all(b"GET / HTTP/1.1\r\nho").await.unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(5), rest(client)).await;
    assert!(closed.is_ok(), "the half-sent head was held");
    house.stop.cancel();
    house.served.await.unwrap();
}

#[tokio::test]
async fn a_stop_lets_a_request_finish() {
    let entered = Arc::new(tokio::sync::Notify::new());
    let go = Arc::new(tokio::sync::Notify::new());
    let (inside, wait) = (entered.clone(), go.clone());
    let handler = move || async move {
        inside.notify_one();
        wait.notified().await;
        "done"
    };
    let house =
        House::open(DaemonSettings::default(), Router::new().route("/", get(handler))).await;
    let mut client = house.client().await;
    client.write_all(REQUEST).await.unwrap();
    entered.notified().await;
    house.stop.cancel();
    go.notify_one();
    assert!(rest(client).await.ends_with("done"));
    house.served.await.unwrap();
}

#[tokio::test]
async fn half_a_head_does_not_hold_up_a_stop() {
    let house = House::open(DaemonSettings::default(), Router::new()).await;
    let mut half = house.client().await;
    half.write_all(b"GET / HT").await.unwrap();
    house.stop.cancel();
    let stopped = tokio::time::timeout(Duration::from_secs(3), house.served).await;
    assert!(stopped.is_ok(), "the half-sent head was waited for");
    drop(half);
}

#[tokio::test]
async fn the_drain_has_a_deadline() {
    let endless = || async { std::future::pending::<()>().await };
    let settings = DaemonSettings { drain_ms: 50, ..DaemonSettings::default() };
    let house = House::open(settings, Router::new().route("/", get(endless))).await;
    let mut client = house.client().await;
    client.write_all(REQUEST).await.unwrap();
    let mut half = house.client().await;
    half.write_all(b"GET / HT").await.unwrap();
    house.stop.cancel();
    let stopped = tokio::time::timeout(Duration::from_secs(5), house.served).await;
    assert!(stopped.is_ok(), "the drain did not end");
    drop((client, half));
}
