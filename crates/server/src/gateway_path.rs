//! The gateway's addresses: `/anthropic/…`, `/openai/…` and `/gemini/…`, which may begin with a capability and a project.

use axum::extract::Request;
use bethink_api::percent_decode;
use bethink_service::ErrorKind;
use http::Uri;
use http::header::{HeaderName, HeaderValue};

use crate::problem::HttpFailure;

/// The provider whose format a client of the gateway speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GatewayClient {
    Anthropic,
    OpenAi,
    Gemini,
}

/// Paths below which the next segment is a capability.
const CAPABILITY_BELOW: [&str; 3] = ["/anthropic/k/", "/openai/k/", "/gemini/k/"];
/// The segment that may follow a capability. The segment after it is the project, percent-encoded.
const PROJECT: &str = "/p/";
/// The header that passes the project in an address on to the gateway.
const DEFAULT_PROJECT: HeaderName = HeaderName::from_static("x-bethink-default-project");
/// The header in which Gemini clients send their API key.
pub(crate) const GEMINI_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
/// Maximum length of a project's path, in bytes: `PATH_MAX` on Linux.
const MAX_PROJECT: usize = 4_096;

impl GatewayClient {
    /// Returns the provider of a path; `None` for every path that is not the gateway's.
    pub(crate) fn of(path: &str) -> Option<Self> {
        match path {
            _ if path.starts_with("/anthropic/") => Some(Self::Anthropic),
            _ if path.starts_with("/openai/") => Some(Self::OpenAi),
            _ if path.starts_with("/gemini/") => Some(Self::Gemini),
            _ => None,
        }
    }
}

/// Splits a path into the part before its capability, the capability, and the rest.
fn split(path: &str) -> Option<(&str, &str, &str)> {
    let below = CAPABILITY_BELOW.iter().find(|below| path.starts_with(**below))?;
    let (before, rest) = path.split_at(below.len());
    let (given, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Some((before, given, rest))
}

/// Returns the capability in a path.
pub(crate) fn capability(path: &str) -> Option<&str> {
    split(path).map(|(_, given, _)| given)
}

/// Returns a path without its capability, for answers and the log.
pub(crate) fn printable(path: &str) -> String {
    match split(path) {
        Some((before, _, rest)) => format!("{before}…{rest}"),
        None => path.to_owned(),
    }
}

/// Moves the API key of a Gemini client from the query into its header, so that no later step can log or repeat it.
pub(crate) fn take_key(request: &mut Request) {
    let uri = request.uri();
    let is_gemini = GatewayClient::of(uri.path()) == Some(GatewayClient::Gemini);
    let Some(query) = uri.query().filter(|_| is_gemini) else { return };
    let is_key = |pair: &&str| pair.split_once('=').is_some_and(|(name, _)| name == "key");
    let (keys, others): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_key);
    if keys.is_empty() {
        return;
    }
    let path = uri.path();
    let rewritten = match others.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", others.join("&")),
    };
    let values = keys.iter().filter_map(|pair| {
        let key = percent_decode(pair.split_once('=')?.1)?;
        let mut value = HeaderValue::from_bytes(key.as_bytes()).ok()?;
        value.set_sensitive(true);
        Some(value)
    });
    let values: Vec<HeaderValue> = values.collect();
    // A part of a valid path and query is one, too.
    if let Ok(rewritten) = rewritten.parse::<Uri>() {
        *request.uri_mut() = rewritten;
    }
    for value in values {
        request.headers_mut().append(GEMINI_KEY, value);
    }
}

/// Moves the project in an address from the path into a header, so that the gateway needs no separate routes for it.
pub(crate) fn take_project(request: &mut Request) -> Result<(), HttpFailure> {
    let uri = request.uri();
    let Some((before, given, rest)) = split(uri.path()) else { return Ok(()) };
    let Some(rest) = rest.strip_prefix(PROJECT) else { return Ok(()) };
    let (project, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_dir = |dir: &String| dir.starts_with('/') && dir.len() <= MAX_PROJECT;
    let dir = percent_decode(project).filter(is_dir);
    let header = dir.and_then(|dir| HeaderValue::from_bytes(dir.as_bytes()).ok());
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let rewritten = format!("{before}{given}{rest}{query}").parse::<Uri>().ok();
    let Some((header, rewritten)) = header.zip(rewritten) else {
        let detail = "the project in the gateway's address is not a percent-encoded absolute path";
        return Err(HttpFailure::new(ErrorKind::Invalid, detail)
            .hint("run `bethink gateway` in the project to print the gateway's address"));
    };
    request.headers_mut().insert(DEFAULT_PROJECT, header);
    *request.uri_mut() = rewritten;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn taken(uri: &str) -> Option<(String, Option<String>)> {
        let mut request = Request::builder().uri(uri).body(Body::empty()).unwrap();
        take_project(&mut request).ok()?;
        let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
        Some((request.uri().to_string(), request.headers().get(DEFAULT_PROJECT).map(text)))
    }

    #[test]
    fn a_project_moves_from_the_address_into_a_header() {
        let check = |uri: &str, expect: &str, project: Option<&str>| {
            let expect = Some((expect.to_owned(), project.map(str::to_owned)));
            assert_eq!(taken(uri), expect, "{uri}");
        };
        check(
            "/openai/k/secret/p/%2Fhome%2F%C3%BC%20x/v1/chat/completions?a=1",
            "/openai/k/secret/v1/chat/completions?a=1",
            Some("/home/ü x"),
        );
        check(
            "/anthropic/k/secret/p/%2Fa/v1/messages",
            "/anthropic/k/secret/v1/messages",
            Some("/a"),
        );
        for uri in ["/openai/k/secret/v1/models", "/openai/v1/p/x", "/v1/p/%2Fa/x"] {
            check(uri, uri, None);
        }
        for project in ["", "relative", "%2", "%2Fa%0Ab", "%ff", &"%2Fa".repeat(5_000)] {
            assert_eq!(
                taken(&format!("/openai/k/secret/p/{project}/v1/models")),
                None,
                "{project}"
            );
        }
    }

    #[test]
    fn a_key_moves_from_the_query_into_a_header() {
        let check = |uri: &str, expect: &str, keys: &[&str]| {
            let mut request = Request::builder().uri(uri).body(Body::empty()).unwrap();
            take_key(&mut request);
            let found = request.headers().get_all(GEMINI_KEY).iter();
            let found: Vec<&str> = found.map(|key| key.to_str().unwrap()).collect();
            assert_eq!((request.uri().to_string().as_str(), found.as_slice()), (expect, keys));
        };
        let path = "/gemini/k/secret/v1beta/models/m:streamGenerateContent";
        check(&format!("{path}?key=a%2Bb&alt=sse"), &format!("{path}?alt=sse"), &["a+b"]);
        check(&format!("{path}?key=a"), path, &["a"]);
        check(&format!("{path}?key=a&key=b"), path, &["a", "b"]);
        check(&format!("{path}?alt=sse"), &format!("{path}?alt=sse"), &[]);
        check("/openai/v1/models?key=a", "/openai/v1/models?key=a", &[]);
    }

    #[test]
    fn a_capability_is_not_printed() {
        let check = |path: &str, expect: &str| assert_eq!(printable(path), expect, "{path}");
        check("/openai/k/secret/v1/responses", "/openai/k/…/v1/responses");
        check("/anthropic/k/secret", "/anthropic/k/…");
        check("/v1/k/x", "/v1/k/x");
    }
}
