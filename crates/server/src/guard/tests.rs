use super::*;
use axum::Router;
use axum::body::Body;
use bethink_config::Home;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const RIGHT: &str = "Bearer 0123456789abcdef0123456789abcdef";

struct House {
    router: Router,
    pages: Arc<Pages>,
    entered: Arc<AtomicUsize>,
}

impl House {
    fn new() -> Self {
        let settings = DaemonSettings {
            allowed_hosts: vec!["Box.example:9".into()],
            allowed_origins: vec!["https://app.example".into(), "null".into()],
            ..DaemonSettings::default()
        };
        let address = "127.0.0.1:4747".parse().unwrap();
        let token = HomeToken::new(TOKEN);
        let token = CurrentToken::new(Home::new("/nowhere"), CancellationToken::new(), token);
        let pages = Arc::new(Pages::default());
        let state = Arc::new(Guard::new(address, &settings, Arc::new(token), pages.clone()));
        let entered = Arc::new(AtomicUsize::new(0));
        let inside = entered.clone();
        let router = Router::new()
            .fallback(move |headers: HeaderMap| async move {
                inside.fetch_add(1, Ordering::SeqCst);
                headers
            })
            .layer(axum::middleware::from_fn_with_state(state, guard));
        Self { router, pages, entered }
    }

    /// Returns the status of the answer. Checks that the guard let the request pass only if it should.
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
    let door = House::new();
    for host in ["127.0.0.1:4747", "localhost:4747", "LOCALHOST:4747", "[::1]:4747"] {
        assert_eq!(door.status("/v1/x", &[("host", host), ("authorization", RIGHT)]).await, 200);
    }
    let configured = [("host", "box.example:9"), ("authorization", RIGHT)];
    assert_eq!(door.status("/v1/x", &configured).await, 200);
    for host in ["evil.example", "localhost", "localhost:4748", "127.0.0.1.evil:4747", ""] {
        let headers = [("host", host), ("authorization", RIGHT)];
        assert_eq!(door.status("/v1/x", &headers).await, 421, "{host}");
    }
    assert_eq!(door.status("/v1/x", &[("authorization", RIGHT)]).await, 421);
    let twice = [("host", "localhost:4747"), ("host", "localhost:4747")];
    assert_eq!(door.status("/v1/x", &twice).await, 421);
    assert_eq!(door.status("/health", &[("host", "evil.example")]).await, 421);
}

#[tokio::test]
async fn an_absolute_uri_agrees_with_the_host() {
    let door = House::new();
    let headers = [("host", "localhost:4747"), ("authorization", RIGHT)];
    assert_eq!(door.status("http://localhost:4747/v1/x", &headers).await, 200);
    assert_eq!(door.status("http://evil.example/", &headers).await, 421);
    assert_eq!(door.status("http://127.0.0.1:4747/", &headers).await, 421);
}

#[tokio::test]
async fn origins_are_exact() {
    let door = House::new();
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
        assert_eq!(door.status("/v1/x", &headers).await, expect, "{origin:?} {site:?}");
    }
}

#[tokio::test]
async fn every_route_that_tells_something_wants_the_token() {
    let door = House::new();
    let host = ("host", "localhost:4747");
    for open in ["/health", "/v1/proof?nonce=x", "/", "/assets/page.js"] {
        assert_eq!(door.status(open, &[host]).await, 200, "{open}");
    }
    for uri in
        ["/metrics", "/v1/sessions", "/health/", "//health", "/nothing", "//", "/assets", "/mcp"]
    {
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
        assert_eq!(door.status("/v1/x", &headers).await, 401, "{authorization}");
    }
    let lower = RIGHT.replace("Bearer", "bearer");
    assert_eq!(door.status("/v1/x", &[host, ("authorization", &lower)]).await, 200);
}

#[tokio::test]
async fn guessing_is_slowed_and_the_right_token_still_works() {
    let door = House::new();
    let host = ("host", "localhost:4747");
    for _ in 0..crate::failures::MAX_FAILURES {
        assert_eq!(door.status("/v1/x", &[host]).await, 401);
    }
    let request = Request::builder().uri("/v1/x").header("host", host.1);
    let response = door.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key(RETRY_AFTER));
    assert_eq!(door.status("/v1/x", &[host, ("authorization", RIGHT)]).await, 200);
}

#[tokio::test]
async fn the_socket_needs_no_host_and_no_token_but_keeps_pages_out() {
    let door = House::new();
    let request = |origin: Option<&str>| {
        let mut request = Request::builder().uri("/v1/x").extension(Listener::Socket);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(door.send(request(None)).await.status(), 200);
    assert_eq!(door.send(request(Some("https://evil.example"))).await.status(), 403);
}

const CAPABILITY: &str = "/anthropic/k/";

fn capability_of(token: &str) -> String {
    HomeToken::new(token).capability().expose().to_owned()
}

#[tokio::test]
async fn a_capability_opens_the_gateway_alone() {
    let door = House::new();
    let right = capability_of("0123456789abcdef0123456789abcdef");
    let wrong = capability_of("another");
    let host = [("host", "localhost:4747"), ("authorization", "Bearer the-providers-own")];
    for (uri, expect) in [
        (format!("{CAPABILITY}{right}/v1/messages"), 200),
        (format!("/openai/k/{right}/v1/chat/completions"), 200),
        (format!("{CAPABILITY}{wrong}/v1/messages"), 401),
        (format!("{CAPABILITY}/v1/messages"), 401),
        (format!("{CAPABILITY}{right}x/v1/messages"), 401),
        (format!("/v1/k/{right}/messages"), 401),
        (format!("/mcp/k/{right}"), 401),
        ("/anthropic/v1/messages".to_owned(), 401),
    ] {
        assert_eq!(door.status(&uri, &host).await, expect, "{uri}");
    }
}

#[tokio::test]
async fn the_token_of_hooks_reports_events_and_nothing_else() {
    let door = House::new();
    let hooks = format!("Bearer {}", HomeToken::new(TOKEN).of_hooks().expose());
    let status = async |method: &str, uri: &str| {
        let request = Request::builder().method(method).uri(uri).header("host", "localhost:4747");
        let request = request.header("authorization", &hooks).body(Body::empty()).unwrap();
        door.send(request).await.status().as_u16()
    };
    assert_eq!(status("POST", "/v1/hooks/stop?client=claude").await, 200);
    for (method, uri) in [
        ("GET", "/v1/hooks/stop"),
        ("POST", "/v1/hooks"),
        ("POST", "/v1/hooks/../import"),
        ("POST", "/v1/import"),
        ("GET", "/v1/sessions"),
        ("POST", "/v1/token/rotate"),
        ("POST", "/mcp"),
        ("POST", "/anthropic/v1/messages"),
    ] {
        assert_eq!(status(method, uri).await, 401, "{method} {uri}");
    }
}

#[tokio::test]
async fn a_token_goes_no_further() {
    let door = House::new();
    let token = RIGHT.trim_start_matches("Bearer ");
    let sent = |uri: &str, name: &str, value: &str| {
        let request = Request::builder().uri(uri).header("host", "localhost:4747");
        door.send(request.header(name, value).body(Body::empty()).unwrap())
    };
    for (name, value) in [("authorization", RIGHT), ("x-api-key", token)] {
        let response = sent("/anthropic/v1/messages", name, value).await;
        assert_eq!(response.status(), 200, "{name}");
        assert!(!response.headers().contains_key(name), "{name} was passed on");
    }
    let gemini = sent("/gemini/v1beta/models", "x-goog-api-key", token).await;
    assert_eq!(gemini.status(), 200);
    assert!(!gemini.headers().contains_key("x-goog-api-key"));
    assert_eq!(sent("/gemini/v1beta/models", "x-api-key", token).await.status(), 401);
    assert_eq!(sent("/v1/sessions", "x-api-key", token).await.status(), 401);
    assert_eq!(sent("/openai/v1/models", "x-api-key", token).await.status(), 401);
    let both = Request::builder()
        .uri("/anthropic/v1/messages")
        .header("host", "localhost:4747")
        .header("authorization", RIGHT)
        .header("x-api-key", "the-providers-own");
    let response = door.send(both.body(Body::empty()).unwrap()).await;
    assert!(!response.headers().contains_key("authorization"));
    assert_eq!(response.headers()["x-api-key"], "the-providers-own");
}

#[tokio::test]
async fn a_page_asks_the_api_alone() {
    let door = House::new();
    let now = Instant::now();
    let page = door.pages.log_in(&door.pages.launch(now), &HeaderMap::new(), 4747, now).unwrap();
    let cookie = format!("bethink-4747={}", page.cookie);
    let host = ("host", "localhost:4747");
    let (cookie, value) = (("cookie", cookie.as_str()), ("x-bethink-page", page.page.as_str()));
    for (uri, expect) in [
        ("/v1/sessions", 200),
        ("/openapi.json", 200),
        ("/mcp", 401),
        ("/anthropic/v1/messages", 401),
        ("/openai/v1/models", 401),
    ] {
        assert_eq!(door.status(uri, &[host, cookie, value]).await, expect, "{uri}");
    }
    assert_eq!(door.status("/v1/sessions", &[host, cookie]).await, 401, "a cookie alone");
    assert_eq!(door.status("/v1/sessions", &[host, value]).await, 401);
    let evil = ("origin", "http://localhost:3000");
    assert_eq!(door.status("/v1/sessions", &[host, cookie, value, evil]).await, 403);
}

#[tokio::test]
async fn a_login_needs_no_token_and_nothing_else_is_posted_without_one() {
    let door = House::new();
    let post = |uri: &str| {
        let request = Request::builder().method("POST").uri(uri).header("host", "localhost:4747");
        door.send(request.body(Body::empty()).unwrap())
    };
    assert_eq!(post("/v1/dashboard/login").await.status(), 200);
    for uri in ["/v1/dashboard/launch", "/", "/health", "/assets/x", "/v1/dashboard/login/"] {
        assert_eq!(post(uri).await.status(), 401, "{uri}");
    }
    assert_eq!(door.status("/v1/dashboard/login", &[("host", "localhost:4747")]).await, 401, "GET");
}
