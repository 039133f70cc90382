//! Tests that a key is sent only in one header to one origin.

use crate::canned::{Canned, End, Script, answer, call, json, request, stream};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bethink_model::ErrorClass;
use bethink_model_http::{Endpoint, KeySource, Provider, open};

const CANARY: &str = "sk-canary+7Qx/19=zz&42";

fn with_key(server: &Canned, provider: Provider) -> Endpoint {
    let key = KeySource::Command(format!("printf '%s\\n' '{CANARY}'"));
    Endpoint { key, ..server.endpoint(provider) }
}

fn spellings() -> Vec<String> {
    let percent =
        CANARY.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D").replace('&', "%26");
    let bearer = format!("Bearer {CANARY}");
    vec![
        CANARY.to_owned(),
        CANARY[..12].to_owned(),
        CANARY[10..].to_owned(),
        percent.to_lowercase(),
        percent,
        STANDARD.encode(CANARY),
        URL_SAFE_NO_PAD.encode(CANARY),
        STANDARD.encode(bearer)[12..].to_owned(),
    ]
}

#[tokio::test]
async fn the_key_is_sent_in_its_header_and_nowhere_else() {
    for (provider, header) in [
        (Provider::Anthropic, format!("x-api-key: {CANARY}")),
        (Provider::OpenAi, format!("authorization: Bearer {CANARY}")),
    ] {
        let server = Canned::start(vec![json("{}")]).await;
        let _ = call(&with_key(&server, provider)).await;
        let heard = server.heard();
        assert!(heard[0].contains(&header), "{}", heard[0]);
        assert_eq!(heard[0].matches("canary").count(), 1);
    }
}

#[tokio::test]
async fn no_answer_contains_the_key() {
    let said = format!("the key is {CANARY}.");
    let anthropic = serde_json::json!({ "id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [{ "type": "text", "text": said }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 1, "output_tokens": 1 } });
    let openai = serde_json::json!({ "id": "m", "model": "m",
        "choices": [{ "index": 0, "message": { "content": said }, "finish_reason": "stop" }] });
    for (provider, body) in [(Provider::Anthropic, anthropic), (Provider::OpenAi, openai)] {
        let server = Canned::start(vec![json(&body.to_string())]).await;
        let reply = call(&with_key(&server, provider)).await.unwrap();
        assert_eq!(reply.text(), "the key is [key].");
    }
}

#[tokio::test]
async fn no_error_shows_the_key_however_it_is_echoed() {
    for echo in spellings() {
        let body = format!(
            r#"{{"error":{{"type":"authentication_error","message":"bad key {echo} given"}}}}"#
        );
        let event = format!("event: error\ndata: {body}\n\n");
        let scripts = vec![
            answer(
                "401 No",
                &format!("request-id: {}\r\n", echo.replace(' ', "")),
                body.as_bytes(),
            ),
            answer(
                "500 No",
                "content-type: text/html\r\n",
                format!("<title>{echo}</title>").as_bytes(),
            ),
            answer("302 Found", &format!("location: https://host/{echo}\r\n"), b""),
            answer("200 OK", &format!("content-type: {echo}\r\n"), b""),
            answer("200 OK", &format!("content-encoding: {echo}\r\n"), b""),
            json(&body),
            json(&format!(r#"{{"content":"{echo}","choices":"{echo}"}}"#)),
            stream(&[event.as_bytes()]),
            stream(&[
                format!("data: {{\"type\":\"{echo}\",\"choices\":{{\"{echo}\":1}}\n\n").as_bytes()
            ]),
            Script {
                pieces: vec![format!("HTTP/1.1 200 {echo}\r\n\u{1}").into_bytes()],
                end: End::Close,
            },
        ];
        let calls = scripts.len();
        for provider in [Provider::Anthropic, Provider::OpenAi] {
            let server = Canned::start(scripts.clone()).await;
            let model = open(&with_key(&server, provider)).unwrap();
            for at in 0..calls {
                let error = model.call(&request()).await.unwrap_err();
                let shown = format!("{error} {error:?} {model:?}");
                for secret in spellings() {
                    assert!(
                        !shown.to_lowercase().contains(&secret.to_lowercase()),
                        "script {at}: {shown}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn another_server_never_sees_the_key() {
    let other = Canned::start(vec![json("{}")]).await;
    for target in [&other.base, &other.base.replace("127.0.0.1", "localhost")] {
        let script = answer("307 Keep", &format!("location: {target}/v1/messages\r\n"), b"");
        let server = Canned::start(vec![script]).await;
        let error = call(&with_key(&server, Provider::Anthropic)).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Forbidden);
    }
    assert_eq!(other.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn without_the_key_that_was_named_nothing_is_sent() {
    let server = Canned::start(vec![json("{}")]).await;
    for key in [
        KeySource::Env("BETHINK_TEST_NO_SUCH_VARIABLE".into()),
        KeySource::Command(format!("echo {CANARY}; exit 1")),
        KeySource::Command(format!("printf 'a\\n{CANARY}'")),
        KeySource::Command("true".into()),
    ] {
        let model = open(&Endpoint { key, ..server.endpoint(Provider::OpenAi) }).unwrap();
        let error = model.call(&request()).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Auth, "{error}");
        assert!(!format!("{error:?} {model:?}").contains("canary"), "{error:?}");
    }
    assert_eq!(server.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn a_key_that_was_refused_is_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("n");
    let command = format!("echo x >> '{0}'; echo key-$(wc -l < '{0}')", count.display());
    let server = Canned::start(vec![answer("401 No", "", b""), json("{}")]).await;
    let key = KeySource::Command(command);
    let model = open(&Endpoint { key, ..server.endpoint(Provider::OpenAi) }).unwrap();
    assert_eq!(model.call(&request()).await.unwrap_err().class, ErrorClass::Auth);
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    tokio::time::resume();
    assert_eq!(model.call(&request()).await.unwrap_err().class, ErrorClass::Broken);
    let heard = server.heard();
    let keys = heard.iter().map(|head| head.lines().find(|line| line.starts_with("authorization")));
    let keys: Vec<&str> = keys.map(Option::unwrap).collect();
    assert_eq!(keys, ["authorization: Bearer key-1", "authorization: Bearer key-2"]);
}

const TARGET: &str = "BETHINK_TEST_TARGET";

/// Runs itself in a second process with a proxy, because the environment belongs to the whole process.
#[tokio::test]
async fn a_proxy_sees_nothing_that_is_not_encrypted() {
    if let Ok(base_url) = std::env::var(TARGET) {
        let key = KeySource::Command(format!("echo '{CANARY}'"));
        let endpoint = Endpoint { base_url, key, ..Endpoint::own(Provider::Anthropic) };
        assert_eq!(call(&endpoint).await.unwrap_err().class, ErrorClass::Broken);
        return;
    }
    let server = Canned::start(vec![json("{}")]).await;
    let proxy = Canned::start(vec![answer("502 Proxy", "", b"")]).await;
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"] {
        child.env(name, &proxy.base);
    }
    child.env(TARGET, &server.base).env_remove("NO_PROXY").env_remove("no_proxy");
    child.args(["--exact", "secrets::a_proxy_sees_nothing_that_is_not_encrypted"]);
    assert!(child.output().await.unwrap().status.success());
    assert_eq!((proxy.heard().len(), server.heard().len()), (0, 1));
}
