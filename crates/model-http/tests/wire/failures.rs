//! Tests with failing servers: every failure has a class and ends.

use std::time::Duration;

use crate::canned::{
    Canned, End, STREAM_HEAD, Script, answer, asked, call, error, json, request, stream,
};
use bethink_model::ErrorClass;
use bethink_model_http::{Endpoint, HttpLimits, Provider, open};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const ANTHROPIC: &str = include_str!("canned/anthropic.sse");
const OPENAI: &str = include_str!("canned/openai.sse");
const BOTH: [Provider; 2] = [Provider::Anthropic, Provider::OpenAi];

fn held(pieces: &[&[u8]]) -> Script {
    Script { pieces: pieces.iter().map(|p| p.to_vec()).collect(), end: End::Hold }
}

#[tokio::test]
async fn a_redirect_is_never_followed() {
    let other = Canned::start(vec![json("{}")]).await;
    for status in ["301 Moved", "302 Found", "303 See", "307 Keep", "308 Keep"] {
        for target in
            [format!("{}/v1/messages?secret=1", other.base), "https://evil.example/x".into()]
        {
            let script = answer(status, &format!("location: {target}\r\n"), b"");
            for provider in BOTH {
                let error = error(provider, script.clone()).await;
                assert_eq!(error.class, ErrorClass::Forbidden);
                let origin = target.split("/v1").next().unwrap().trim_end_matches("/x");
                assert!(error.message.contains(origin), "{error}");
                assert!(!error.message.contains("secret"), "{error}");
            }
        }
    }
    assert_eq!(other.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn refusals_are_classified_by_what_they_say() {
    let overflow = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 211539 tokens > 200000 maximum"},"request_id":"req_1"}"#;
    let found = error(Provider::Anthropic, answer("400 Bad", "", overflow.as_bytes())).await;
    assert_eq!((found.class, found.status), (ErrorClass::Overflow, Some(400)));
    assert_eq!((found.figures.input, found.figures.limit), (Some(211_539), Some(200_000)));
    assert_eq!(found.request_id.as_deref(), Some("req_1"));

    for (status, headers, body, class) in [
        (
            "529 Busy",
            "retry-after: 7\r\n",
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorClass::Overloaded,
        ),
        ("429 Slow", "", "", ErrorClass::RateLimited),
        (
            "503 No",
            "content-type: text/html\r\n",
            "<html><title>503 Backend</title>",
            ErrorClass::Overloaded,
        ),
        ("500 No", "content-encoding: gzip\r\n", "\u{1f}\u{8b}", ErrorClass::Server),
        (
            "401 No",
            "",
            r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            ErrorClass::Auth,
        ),
    ] {
        let found = error(Provider::OpenAi, answer(status, headers, body.as_bytes())).await;
        assert_eq!(found.class, class, "{status}: {found}");
        let wait = status.starts_with("529").then_some(Duration::from_secs(7));
        assert_eq!(found.retry_after, wait, "{status}");
    }
}

#[tokio::test]
async fn an_error_after_200_is_an_error() {
    let overloaded = b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let begun = ANTHROPIC
        .split("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1")
        .next()
        .unwrap();
    for (provider, before) in [
        (Provider::Anthropic, ""),
        (Provider::Anthropic, begun),
        (Provider::OpenAi, ""),
        (Provider::OpenAi, OPENAI.split("data: [DONE]").next().unwrap()),
    ] {
        let found = error(provider, stream(&[before.as_bytes(), overloaded])).await;
        assert_eq!((found.class, found.status), (ErrorClass::Overloaded, Some(200)));
        assert_eq!(found.usage.is_some(), !before.is_empty(), "{found:?}");
        assert_eq!(found.request_id.as_deref(), Some("req_9"));
    }
    for provider in BOTH {
        let body = r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        assert_eq!(error(provider, json(body)).await.class, ErrorClass::Overloaded);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    for (provider, text, last) in [
        (Provider::Anthropic, ANTHROPIC, "event: message_stop"),
        (Provider::OpenAi, OPENAI, "finish_reason\":\"tool_calls"),
    ] {
        let whole = text.find(last).unwrap();
        for at in (0..whole).step_by(67).chain([whole]) {
            let found = error(provider, stream(&[&text.as_bytes()[..at]])).await;
            assert_eq!(found.class, ErrorClass::Broken, "{provider} cut off at {at}: {found}");
        }
        let reset = Script { end: End::Reset, ..stream(&[&text.as_bytes()[..whole]]) };
        let found = error(provider, reset).await;
        let usage = found.usage.unwrap();
        assert_eq!(found.class, ErrorClass::Broken);
        assert!(usage.output_tokens > 0, "{usage:?}");
        // Chat completions report their usage at the end.
        assert_eq!(usage.prompt() > 0, provider == Provider::Anthropic, "{usage:?}");
    }
}

#[tokio::test]
async fn chat_completions_without_done_are_whole_once_they_told_their_end() {
    let cut = OPENAI
        .split("data: {\"id\":\"chatcmpl-1\",\"model\":\"m-1\",\"choices\":[],")
        .next()
        .unwrap();
    let reply = asked(Provider::OpenAi, stream(&[cut.as_bytes()])).await;
    assert!(reply.unwrap().usage_doubtful);
    let cut = OPENAI.split("data: [DONE]").next().unwrap();
    let reply = asked(Provider::OpenAi, stream(&[cut.as_bytes()])).await;
    assert!(!reply.unwrap().usage_doubtful);
}

#[tokio::test]
async fn what_is_no_answer_is_broken() {
    let page = "<!DOCTYPE html><title>Sign in</title>";
    let raw = |text: &str| Script { pieces: vec![text.as_bytes().to_vec()], end: End::Close };
    for provider in BOTH {
        for script in [
            answer("200 OK", "content-type: text/html\r\n", page.as_bytes()),
            answer("200 OK", "content-type: application/json\r\n", page.as_bytes()),
            answer("200 OK", "", page.as_bytes()),
            answer(
                "200 OK",
                "content-type: application/json\r\ncontent-encoding: gzip\r\n",
                b"\x1f\x8b\x08\0",
            ),
            answer("200 OK", "content-type: text/event-stream\r\ncontent-encoding: br\r\n", b"x"),
            answer("200 OK", "content-type: text/plain\r\n", b"ok"),
            answer("200 OK", "content-type: application/json\r\n", b"\xff\xfe"),
            json(""),
            json("{}"),
            json("[]"),
            json("null"),
            json(r#"{"content":[{"type":"text","te"#),
            json(r#"{"id":"x","content":7,"choices":7}"#),
            json(&"[".repeat(100_000)),
            stream(&[b"data: {\"type\":\n\n"]),
            stream(&[b"data: [1]\n\n"]),
            stream(&[]),
            raw(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":\"x\"}",
            ),
            raw(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            ),
            raw("HTTP/9 nonsense\r\n\r\n"),
            raw(""),
            Script { pieces: vec![], end: End::Reset },
        ] {
            let shown = script.pieces.concat();
            let found = error(provider, script).await;
            let shown = String::from_utf8_lossy(&shown[..shown.len().min(120)]).into_owned();
            assert_eq!(found.class, ErrorClass::Broken, "{provider} {shown:?}: {found}");
        }
    }
}

#[tokio::test]
async fn silence_ends_a_call_at_every_phase() {
    let begun = ANTHROPIC.split("event: message_delta").next().unwrap();
    for (phase, script) in [
        ("head", held(&[])),
        ("half a head", held(&[b"HTTP/1.1 200 OK\r\ncontent-"])),
        ("body", held(&[STREAM_HEAD.as_bytes()])),
        ("stream", held(&[STREAM_HEAD.as_bytes(), begun.as_bytes()])),
        ("json", held(&[b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{\"a\":"])),
    ] {
        let server = Canned::start(vec![script]).await;
        let mut endpoint = server.endpoint(Provider::Anthropic);
        endpoint.limits.idle = Duration::from_millis(150);
        let result = call(&endpoint).await;
        let found = result.unwrap_err();
        assert_eq!(found.class, ErrorClass::TimedOut, "{phase}: {found}");
    }
}

#[tokio::test]
async fn a_refusal_that_never_ends_still_has_its_class() {
    let head = b"HTTP/1.1 529 Busy\r\ncontent-length: 900\r\n\r\n{\"error\":";
    let server = Canned::start(vec![held(&[head])]).await;
    let mut endpoint = server.endpoint(Provider::OpenAi);
    endpoint.limits.idle = Duration::from_millis(150);
    assert_eq!(call(&endpoint).await.unwrap_err().class, ErrorClass::Overloaded);
}

#[tokio::test]
async fn slow_is_not_silent() {
    // Each piece arrives in time, but together they take far longer than the limit.
    let pieces: Vec<&[u8]> = ANTHROPIC.split_inclusive("\n\n").map(str::as_bytes).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let limits = HttpLimits { idle: Duration::from_millis(400), ..HttpLimits::default() };
    let server = async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 8192]).await.unwrap();
        socket.write_all(STREAM_HEAD.as_bytes()).await.unwrap();
        let mut beat = tokio::time::interval(Duration::from_millis(40));
        for piece in &pieces {
            beat.tick().await;
            socket.write_all(piece).await.unwrap();
        }
    };
    let endpoint = Endpoint {
        base_url,
        limits,
        key: bethink_model_http::KeySource::None,
        ..Endpoint::own(Provider::Anthropic)
    };
    let began = tokio::time::Instant::now();
    let ((), reply) = tokio::join!(server, call(&endpoint));
    assert!(reply.is_ok() && began.elapsed() > limits.idle, "{reply:?}");
}

#[tokio::test]
async fn too_much_is_not_taken() {
    let endless = format!("data: {}", "x".repeat(5000));
    let pings = ": ping\n\n".repeat(2000);
    let page = "x".repeat(20_000);
    for provider in BOTH {
        for script in [
            stream(&[endless.as_bytes()]),
            stream(&[pings.as_bytes()]),
            answer("200 OK", "content-type: application/json\r\n", page.as_bytes()),
        ] {
            let server = Canned::start(vec![script]).await;
            let mut endpoint = server.endpoint(provider);
            (endpoint.limits.event, endpoint.limits.answer) = (4096, 8192);
            let result = call(&endpoint).await;
            assert_eq!(result.unwrap_err().class, ErrorClass::TooMuch);
        }
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let endpoint = Endpoint {
        base_url: base_url.clone(),
        key: bethink_model_http::KeySource::None,
        ..Endpoint::own(Provider::OpenAi)
    };
    let found = call(&endpoint).await.unwrap_err();
    assert_eq!(found.class, ErrorClass::Unreachable);
    assert!(found.message.contains(&base_url) && !found.message.contains("/chat/"), "{found}");
}

#[tokio::test]
async fn a_server_without_tls_is_named_as_the_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let endpoint = Endpoint {
        base_url,
        key: bethink_model_http::KeySource::None,
        ..Endpoint::own(Provider::OpenAi)
    };
    let found = call(&endpoint).await.unwrap_err();
    server.await.unwrap();
    assert!(found.message.contains("use http://"), "{found}");
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    use tokio::io::AsyncReadExt;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let endpoint = Endpoint {
        base_url,
        key: bethink_model_http::KeySource::None,
        ..Endpoint::own(Provider::Anthropic)
    };
    let model = open(&endpoint).unwrap();
    let asked = tokio::spawn(async move { model.call(&request()).await });
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut buffer = [0; 8192];
    assert!(socket.read(&mut buffer).await.unwrap() > 0);
    asked.abort();
    while !matches!(socket.read(&mut buffer).await, Ok(0) | Err(_)) {}
}

#[tokio::test]
async fn a_compressed_answer_is_refused_by_its_head() {
    for encoding in ["gzip", "br", "GZIP, identity"] {
        let headers =
            format!("content-type: text/event-stream\r\ncontent-encoding: {encoding}\r\n");
        // The body is valid, so the header decides.
        let script = answer("200 OK", &headers, ANTHROPIC.as_bytes());
        let found = error(Provider::Anthropic, script).await;
        assert_eq!(found.class, ErrorClass::Broken);
        assert!(found.message.contains("compressed"), "{found}");
    }
}

/// While a listener's queue is full, Linux drops handshakes, so the listener behaves like an overloaded server.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_handshake_that_nobody_answers_times_out() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    let connect = || {
        tokio::time::timeout(Duration::from_millis(200), tokio::net::TcpStream::connect(address))
    };
    while let Ok(connected) = connect().await {
        waiting.push(connected.unwrap());
        assert!(waiting.len() < 100, "the queue did not fill up");
    }
    let limits = HttpLimits { connect: Duration::from_millis(150), ..HttpLimits::default() };
    let base_url = format!("http://{address}");
    let key = bethink_model_http::KeySource::None;
    let endpoint = Endpoint { base_url, limits, key, ..Endpoint::own(Provider::OpenAi) };
    // The operating system itself times out only after more than half a minute.
    let asked = tokio::time::timeout(Duration::from_secs(15), call(&endpoint)).await;
    assert_eq!(asked.unwrap().unwrap_err().class, ErrorClass::TimedOut);
}
