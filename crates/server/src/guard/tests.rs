use super::*;
use axum::Router;
use axum::body::Body;
use std::sync::atomic::{AtomicUsize, Ordering};
use tower::ServiceExt;

const RIGHT: &str = "Bearer 0123456789abcdef0123456789abcdef";

struct Door {
    router: Router,
    entered: Arc<AtomicUsize>,
}

impl Door {
    fn new() -> Self {
        let settings = DaemonSettings {
            allowed_hosts: vec!["Box.example:9".into()],
            allowed_origins: vec!["https://app.example".into(), "null".into()],
            ..DaemonSettings::default()
        };
        let address = "127.0.0.1:4747".parse().unwrap();
        let token = Token::new("0123456789abcdef0123456789abcdef");
        let state = Arc::new(Guard::new(address, &settings, token));
        let entered = Arc::new(AtomicUsize::new(0));
        let inside = entered.clone();
        let router = Router::new()
            .fallback(move || async move {
                inside.fetch_add(1, Ordering::SeqCst);
            })
            .layer(axum::middleware::from_fn_with_state(state, guard));
        Self { router, entered }
    }

    /// The status, and whether the request came past the guard.
    async fn status(&self, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await.status().as_u16()
    }

    async fn send(&self, request: Request) -> Response {
        let before = self.entered.load(Ordering::SeqCst);
        let response = self.router.clone().oneshot(request).await.unwrap();
        let came_in = self.entered.load(Ordering::SeqCst) > before;
        assert_eq!(came_in, response.status() == 200);
        response
    }
}

#[tokio::test]
async fn hosts_are_exact() {
    let door = Door::new();
    for host in ["127.0.0.1:4747", "localhost:4747", "LOCALHOST:4747", "[::1]:4747"] {
        assert_eq!(door.status("/", &[("host", host), ("authorization", RIGHT)]).await, 200);
    }
    let configured = [("host", "box.example:9"), ("authorization", RIGHT)];
    assert_eq!(door.status("/", &configured).await, 200);
    for host in ["evil.example", "localhost", "localhost:4748", "127.0.0.1.evil:4747", ""] {
        let headers = [("host", host), ("authorization", RIGHT)];
        assert_eq!(door.status("/", &headers).await, 421, "{host}");
    }
    assert_eq!(door.status("/", &[("authorization", RIGHT)]).await, 421);
    let twice = [("host", "localhost:4747"), ("host", "localhost:4747")];
    assert_eq!(door.status("/", &twice).await, 421);
    assert_eq!(door.status("/health", &[("host", "evil.example")]).await, 421);
}

#[tokio::test]
async fn an_absolute_uri_agrees_with_the_host() {
    let door = Door::new();
    let headers = [("host", "localhost:4747"), ("authorization", RIGHT)];
    assert_eq!(door.status("http://localhost:4747/", &headers).await, 200);
    assert_eq!(door.status("http://evil.example/", &headers).await, 421);
    assert_eq!(door.status("http://127.0.0.1:4747/", &headers).await, 421);
}

#[tokio::test]
async fn origins_are_exact() {
    let door = Door::new();
    for (origin, site, expect) in [
        (Some("http://localhost:4747"), None, 200),
        (Some("http://localhost:4747"), Some("same-origin"), 200),
        (Some("http://localhost:4747"), Some("cross-site"), 403),
        (Some("https://app.example"), Some("cross-site"), 200),
        (Some("https://app.example.evil"), None, 403),
        (Some("http://localhost:3000"), None, 403),
        (Some("https://localhost:4747"), None, 403),
        (Some("null"), None, 403),
        (Some(""), None, 403),
        (None, Some("cross-site"), 403),
        (None, Some("same-site"), 403),
        (None, Some("none"), 200),
    ] {
        let mut headers = vec![("host", "localhost:4747"), ("authorization", RIGHT)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        headers.extend(site.map(|site| ("sec-fetch-site", site)));
        assert_eq!(door.status("/", &headers).await, expect, "{origin:?} {site:?}");
    }
}

#[tokio::test]
async fn every_route_but_health_wants_the_token() {
    let door = Door::new();
    let host = ("host", "localhost:4747");
    assert_eq!(door.status("/health", &[host]).await, 200);
    for uri in ["/", "/metrics", "/v1/sessions", "/health/", "//health", "/nothing"] {
        assert_eq!(door.status(uri, &[host]).await, 401, "{uri}");
    }
    let wrong = [
        "Bearer 0123456789abcdef0123456789abcdeX",
        "Bearer 0123",
        "Bearer ",
        "Basic 0123456789abcdef0123456789abcdef",
        "0123456789abcdef0123456789abcdef",
    ];
    for authorization in wrong {
        let headers = [host, ("authorization", authorization)];
        assert_eq!(door.status("/", &headers).await, 401, "{authorization}");
    }
    let lower = RIGHT.replace("Bearer", "bearer");
    assert_eq!(door.status("/", &[host, ("authorization", &lower)]).await, 200);
}

#[tokio::test]
async fn guessing_is_slowed_and_the_right_token_still_works() {
    let door = Door::new();
    let host = ("host", "localhost:4747");
    for _ in 0..crate::failures::MAX_FAILURES {
        assert_eq!(door.status("/", &[host]).await, 401);
    }
    let request = Request::builder().uri("/").header("host", host.1);
    let response = door.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key(RETRY_AFTER));
    assert_eq!(door.status("/", &[host, ("authorization", RIGHT)]).await, 200);
}

#[tokio::test]
async fn the_socket_needs_no_host_and_no_token_but_keeps_pages_out() {
    let door = Door::new();
    let request = |origin: Option<&str>| {
        let mut request = Request::builder().uri("/").extension(Entrance::Socket);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(door.send(request(None)).await.status(), 200);
    assert_eq!(door.send(request(Some("https://evil.example"))).await.status(), 403);
}
