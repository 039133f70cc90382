//! Reads a client's session, project and options from its headers and metadata.

use bethink_api::Inject;
use bethink_model_http::Provider;
use bethink_transcript::SessionId;
use http::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::conversation::ClientKey;
use crate::fault::GatewayFault;

const CLAUDE_CODE: &str = "claude-code";
const CLAUDE_CODE_SESSION: &str = "x-claude-code-session-id";
/// The text before the session ID in Claude Code's `metadata.user_id`.
const IN_USER_ID: &str = "_session_";
/// Headers in which OpenAI and Gemini clients send their session IDs.
const OPENAI_SESSION: [&str; 4] = ["session-id", "session_id", "conversation_id", "x-session-id"];
/// Prefix of the beta flag for a context window of a million tokens; a date follows.
const LONG_CONTEXT_BETA: &str = "context-1m-";
/// Maximum length of a client's own session ID, in bytes. Typical IDs have about 40 bytes.
const MAX_CLIENT_KEY: usize = 200;
/// Maximum length of a project path, in bytes: `PATH_MAX` on Linux.
const MAX_PROJECT: usize = 4096;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientIdentity {
    pub(crate) session: Option<SessionId>,
    pub(crate) client: Option<ClientKey>,
    pub(crate) project_dir: Option<String>,
    /// The project in the client's gateway address. It is used if the prompt states no directory.
    pub(crate) default_project: Option<String>,
    pub(crate) inject: Option<Inject>,
    /// Whether the client asks for a context window of a million tokens.
    pub(crate) long_context: bool,
}

impl ClientIdentity {
    /// Reads the headers, and the members `metadata` and `prompt_cache_key` of the body. Fails if one of bethink's own
    /// headers is invalid; other invalid values are ignored.
    pub(crate) fn read(
        provider: Provider,
        headers: &HeaderMap,
        metadata: Option<&RawValue>,
        cache_key: Option<&RawValue>,
    ) -> Result<Self, GatewayFault> {
        let metadata = parsed::<RequestMetadata>(metadata).unwrap_or_default();
        let client = match provider {
            Provider::Anthropic => of_claude_code(headers, metadata),
            Provider::OpenAi | Provider::Gemini => of_chat(provider, headers, metadata, cache_key),
        };
        let directory = |name| {
            let absolute = |path: &str| path.starts_with('/') && path.len() <= MAX_PROJECT;
            let read = |path: &str| absolute(path).then(|| path.to_owned());
            own(
                headers,
                name,
                read,
                "must be an absolute path such as /home/me/work, of at most 4,096 bytes",
            )
        };
        Ok(Self {
            session: own(
                headers,
                "x-bethink-session",
                |text| text.parse().ok(),
                "is not a session ID: send the full UUID, as shown by `bethink session show`",
            )?,
            client,
            project_dir: directory("x-bethink-project")?,
            default_project: directory("x-bethink-default-project")?,
            inject: own(
                headers,
                "x-bethink-inject",
                |word| bethink_api::parse_word(word),
                "must be off, recall or full",
            )?,
            long_context: provider == Provider::Anthropic && wants_long_context(headers),
        })
    }
}

/// Reads one of bethink's own headers. The header may be absent, but must not be invalid.
fn own<T>(
    headers: &HeaderMap,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
    wrong: &str,
) -> Result<Option<T>, GatewayFault> {
    let Some(said) = headers.get(name) else { return Ok(None) };
    let text = std::str::from_utf8(said.as_bytes()).ok();
    let found = text.and_then(|text| read(text.trim()));
    found.map(Some).ok_or_else(|| GatewayFault::invalid(format!("{name} {wrong}")))
}

fn wants_long_context(headers: &HeaderMap) -> bool {
    let values = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|beta| beta.trim().starts_with(LONG_CONTEXT_BETA))
}

#[derive(Default, Deserialize)]
struct RequestMetadata {
    user_id: Option<String>,
    session_id: Option<String>,
}

fn parsed<T: DeserializeOwned>(json: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(json?.get()).ok()
}

/// Claude Code sends its session ID in a header, or in `metadata.user_id`, which is either
/// `user_…_account_…_session_<uuid>` or a string that contains JSON with a `session_id`.
fn of_claude_code(headers: &HeaderMap, metadata: RequestMetadata) -> Option<ClientKey> {
    let header = headers.get(CLAUDE_CODE_SESSION).and_then(|value| value.to_str().ok());
    let found = header.map(str::to_owned).or_else(|| {
        let user_id = metadata.user_id?;
        match user_id.rsplit_once(IN_USER_ID) {
            Some((user, session)) if user.starts_with("user_") => Some(session.to_owned()),
            _ => serde_json::from_str::<RequestMetadata>(&user_id).ok()?.session_id,
        }
    });
    key(CLAUDE_CODE, &found?)
}

fn of_chat(
    provider: Provider,
    headers: &HeaderMap,
    metadata: RequestMetadata,
    cache_key: Option<&RawValue>,
) -> Option<ClientKey> {
    let in_header = || {
        OPENAI_SESSION.iter().find_map(|name| headers.get(*name)?.to_str().ok().map(str::to_owned))
    };
    let found = metadata.session_id.or_else(in_header).or_else(|| parsed(cache_key));
    key(provider.as_str(), &found?)
}

fn key(entrance: &str, found: &str) -> Option<ClientKey> {
    let found = found.trim();
    let fits = !found.is_empty()
        && found.len() <= MAX_CLIENT_KEY
        && found.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| ClientKey { entrance: entrance.to_owned(), key: found.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "0197f3c2-7d1e-7c55-9d0e-2a4f6c8e0b13";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn client(
        provider: Provider,
        pairs: &[(&'static str, &str)],
        body: &serde_json::Value,
    ) -> Option<String> {
        let raw = |name: &str| {
            body.get(name).map(|value| RawValue::from_string(value.to_string()).unwrap())
        };
        let (metadata, cache_key) = (raw("metadata"), raw("prompt_cache_key"));
        let (metadata, cache_key) = (metadata.as_deref(), cache_key.as_deref());
        let identity =
            ClientIdentity::read(provider, &headers(pairs), metadata, cache_key).unwrap();
        identity.client.map(|client| format!("{} {}", client.entrance, client.key))
    }

    #[test]
    fn claude_code_is_known_in_every_form() {
        let long = format!("user_{}_account_{ID}_session_{ID}", "a".repeat(64));
        let text = json!({"device_id": "d", "session_id": ID}).to_string();
        let known = Some(format!("claude-code {ID}"));
        for user_id in [long.as_str(), text.as_str()] {
            let body = json!({"metadata": {"user_id": user_id}});
            assert_eq!(client(Provider::Anthropic, &[], &body), known, "{user_id}");
        }
        let body = json!({});
        assert_eq!(client(Provider::Anthropic, &[(CLAUDE_CODE_SESSION, ID)], &body), known);
        for user_id in ["alice", "team_session_5", "{}", r#"{"session_id":7}"#, ""] {
            let body = json!({"metadata": {"user_id": user_id}});
            assert_eq!(client(Provider::Anthropic, &[], &body), None, "{user_id}");
        }
        for odd in
            [json!({"metadata": 5}), json!({"metadata": {"user_id": 5}}), json!({"metadata": null})]
        {
            assert_eq!(client(Provider::Anthropic, &[], &odd), None);
        }
    }

    #[test]
    fn chat_clients_name_theirs_in_many_places() {
        let bodies = [json!({"metadata": {"session_id": "s1"}}), json!({"prompt_cache_key": "s1"})];
        for body in &bodies {
            assert_eq!(client(Provider::OpenAi, &[], body).as_deref(), Some("openai s1"), "{body}");
        }
        for name in OPENAI_SESSION {
            let found = client(Provider::OpenAi, &[(name, " s1 ")], &json!({}));
            assert_eq!(found.as_deref(), Some("openai s1"), "{name}");
        }
        let long = "x".repeat(MAX_CLIENT_KEY + 1);
        for odd in [
            json!({"prompt_cache_key": long}),
            json!({"prompt_cache_key": "a b"}),
            json!({"prompt_cache_key": 1}),
        ] {
            assert_eq!(client(Provider::OpenAi, &[], &odd), None, "{odd}");
        }
    }

    #[test]
    fn our_own_headers_have_to_hold() {
        let read = |name: &'static str, value: &str| {
            ClientIdentity::read(Provider::Anthropic, &headers(&[(name, value)]), None, None)
        };
        assert!(read("x-bethink-session", ID).unwrap().session.is_some());
        assert_eq!(read("x-bethink-project", "/a b").unwrap().project_dir.as_deref(), Some("/a b"));
        assert_eq!(read("x-bethink-inject", "full").unwrap().inject, Some(Inject::Full));
        assert!(read("anthropic-beta", "a, context-1m-2025-08-07").unwrap().long_context);
        assert!(!read("anthropic-beta", "a,b").unwrap().long_context);
        for (name, value) in [
            ("x-bethink-session", "last"),
            ("x-bethink-project", "work"),
            ("x-bethink-inject", "all"),
        ] {
            assert_eq!(read(name, value).unwrap_err().status, 400, "{name}");
        }
    }
}
