use super::*;
use Provider::{Anthropic, OpenAi};

fn parse(text: &str) -> Result<Base, EndpointError> {
    Base::parse(Anthropic, text, false)
}

#[test]
fn routes_lie_below_the_prefix() {
    for (provider, base, route, expect) in [
        (Anthropic, "", "messages", "https://api.anthropic.com/v1/messages"),
        (Anthropic, "https://host", "messages", "https://host/v1/messages"),
        (Anthropic, "https://host/", "messages", "https://host/v1/messages"),
        (
            Anthropic,
            "https://host/v1",
            "messages/count_tokens",
            "https://host/v1/messages/count_tokens",
        ),
        (Anthropic, "https://host:8443/a/v1/", "messages", "https://host:8443/a/v1/messages"),
        (Anthropic, "https://host/a", "messages", "https://host/a/v1/messages"),
        (OpenAi, "", "chat/completions", "https://api.openai.com/v1/chat/completions"),
        (
            OpenAi,
            "http://127.0.0.1:11434",
            "chat/completions",
            "http://127.0.0.1:11434/v1/chat/completions",
        ),
        (OpenAi, "http://[::1]:1/", "chat/completions", "http://[::1]:1/v1/chat/completions"),
        (
            OpenAi,
            "https://host/openai/",
            "chat/completions",
            "https://host/openai/chat/completions",
        ),
    ] {
        let found = Base::parse(provider, base, false).unwrap().route(route);
        assert_eq!(found.as_str(), expect, "{base}");
    }
}

#[test]
fn what_is_no_address_is_refused_by_what_is_wrong() {
    for text in
        ["https://me:secret@host", "https://me@host", "https://@host", "http://:secret@127.0.0.1"]
    {
        assert_eq!(parse(text), Err(EndpointError::Credentials), "{text}");
    }
    for text in ["https://host?", "https://host/v1?a=b", "https://host#x", "https://host/#"] {
        assert_eq!(parse(text), Err(EndpointError::Query), "{text}");
    }
    for text in [
        "https://host/../x",
        "https://host//",
        "https://host/a//b",
        "https://host/%2e%2e",
        "https://host/a;b",
    ] {
        assert_eq!(parse(text), Err(EndpointError::Path), "{text}");
    }
    for text in [
        "host",
        "host:443",
        "https:host",
        "https:/host",
        "https://",
        "https:///v1",
        " https://host",
        "https://host\n",
        "https:\\\\host",
        "ftp://host",
        "file:///etc/passwd",
        "https://host:99999",
        "https://ho st",
        "https://[::1",
        "javascript://x",
        "https://\u{202e}",
    ] {
        assert!(
            matches!(parse(text), Err(EndpointError::Address(_))),
            "{text:?}: {:?}",
            parse(text)
        );
    }
}

#[test]
fn plain_http_stays_on_this_machine() {
    for (text, loopback) in [
        ("http://127.0.0.1:1", true),
        ("http://127.9.9.9", true),
        ("http://2130706433", true),
        ("http://0x7f.1", true),
        ("http://localhost:1", true),
        ("http://LOCALHOST.", true),
        ("http://[::1]", true),
        ("http://[::ffff:127.0.0.1]", true),
        ("https://127.0.0.1", true),
        ("https://localhost.example.com", false),
        ("https://10.0.0.7", false),
    ] {
        assert_eq!(parse(text).unwrap().is_loopback(), loopback, "{text}");
    }
    for text in [
        "http://10.0.0.7",
        "http://host",
        "http://localhost.example.com",
        "http://127.0.0.1.nip.io",
        "http://0.0.0.0",
        "http://[::]",
        "http://128.0.0.1",
        "http://notlocalhost",
        "http://[2002:7f00:1::]",
        "http://[64:ff9b::7f00:1]",
        "http://[::127.0.0.1]",
    ] {
        assert!(matches!(parse(text), Err(EndpointError::PlainHttp { .. })), "{text}");
        assert!(!Base::parse(Anthropic, text, true).unwrap().is_loopback(), "{text}");
    }
}

#[test]
fn link_local_and_metadata_are_refused_in_every_spelling() {
    for host in [
        "169.254.169.254",
        "169.254.0.1",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "0xa9.254.43518",
        "169.254.169.254.",
        "[fe80::1]",
        "[febf::1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "\u{ff11}69.254.169.254",
    ] {
        for scheme in ["http", "https"] {
            let found = Base::parse(OpenAi, &format!("{scheme}://{host}/v1"), true);
            assert!(matches!(found, Err(EndpointError::ForbiddenHost { .. })), "{host}: {found:?}");
        }
    }
}

#[test]
fn a_refusal_shows_no_password() {
    for text in ["https://me:hunter2@host", "https://me:hunter2@host?x", "https://me:hunter2@ho st"]
    {
        let error = parse(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}

#[test]
fn openai_itself_is_known_by_its_host() {
    let own = |text: &str| Base::parse(OpenAi, text, false).unwrap().is_openai();
    assert!(own("") && own("https://api.openai.com/v1"));
    assert!(!own("https://api.openai.com.evil.example/v1") && !own("http://127.0.0.1:1"));
}
