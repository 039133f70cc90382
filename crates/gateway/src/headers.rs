//! Decides which headers are forwarded. All headers except those listed here are forwarded, so a provider can add headers
//! without a change to this code.

use http::HeaderMap;
use http::header::{CONNECTION, HeaderName};

/// Headers that apply only to one connection (RFC 9110, section 7.6.1), or are set anew for the next connection.
const HOP_BY_HOP: [&str; 11] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "host",
];

/// Request headers that are not sent to the provider. Answers are read while they are forwarded, so compression must not
/// be requested.
const DROPPED_REQUEST_HEADERS: [&str; 3] = ["cookie", "accept-encoding", "content-length"];

/// Prefix of the gateway's own headers.
const OURS: &str = "x-bethink-";

/// Response headers that are meant for the provider's own origin, such as cookies and access rules. They would be wrong for the
/// gateway's origin.
const DROPPED_RESPONSE_HEADERS: [&str; 5] = [
    "set-cookie",
    "alt-svc",
    "strict-transport-security",
    "clear-site-data",
    "service-worker-allowed",
];
const DROPPED_RESPONSE_PREFIX: &str = "access-control-";

/// Returns the request headers to send to the provider, without those in `credentials`.
pub(crate) fn up(headers: &HeaderMap, credentials: &[&str]) -> HeaderMap {
    without(headers, |name| {
        DROPPED_REQUEST_HEADERS.contains(&name)
            || name.starts_with(OURS)
            || credentials.contains(&name)
    })
}

/// Returns the response headers to send to the client. `Content-Length` stays, because the body is unchanged.
pub(crate) fn down(headers: &HeaderMap) -> HeaderMap {
    without(headers, |name| {
        DROPPED_RESPONSE_HEADERS.contains(&name) || name.starts_with(DROPPED_RESPONSE_PREFIX)
    })
}

fn without(headers: &HeaderMap, is_dropped: impl Fn(&str) -> bool) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut out = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let dropped = HOP_BY_HOP.contains(&name.as_str()) || is_dropped(name.as_str());
        if !dropped && !named.contains(name) {
            out.append(name, value.clone());
        }
    }
    out
}

/// Returns the additional hop-by-hop headers that are listed in `Connection`.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        headers.keys().map(HeaderName::as_str).collect()
    }

    #[test]
    fn what_belongs_to_the_two_ends_goes_up() {
        let all = headers(&[
            ("host", "127.0.0.1:1"),
            ("connection", "keep-alive, x-private"),
            ("keep-alive", "5"),
            ("x-private", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "5"),
            ("cookie", "a=b"),
            ("accept-encoding", "gzip"),
            ("authorization", "Bearer x"),
            ("x-bethink-session", "s"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
            ("x-stainless-lang", "python"),
            ("x-never-heard-of", "1"),
            ("content-type", "application/json"),
        ]);
        let up = up(&all, &["authorization"]);
        assert_eq!(
            names(&up),
            ["anthropic-beta", "x-stainless-lang", "x-never-heard-of", "content-type"]
        );
        assert_eq!(up.get_all("anthropic-beta").iter().count(), 2);
    }

    #[test]
    fn an_upstream_says_nothing_about_this_origin() {
        let all = headers(&[
            ("request-id", "req_1"),
            ("anthropic-ratelimit-tokens-remaining", "5"),
            ("retry-after", "3"),
            ("content-length", "10"),
            ("set-cookie", "a=b"),
            ("access-control-allow-origin", "*"),
            ("alt-svc", "h3"),
            ("connection", "close"),
        ]);
        let expect =
            ["request-id", "anthropic-ratelimit-tokens-remaining", "retry-after", "content-length"];
        assert_eq!(names(&down(&all)), expect);
    }
}
