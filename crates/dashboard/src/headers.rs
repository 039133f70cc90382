//! The headers of every file: what the page may do, and how long a browser may cache it.

use std::fmt;

use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// The page shows untrusted texts. Only the page's own script may run, no other origin may be contacted, no text may become
/// markup (trusted types), and no other page may frame this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 8] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    // Cached, but checked at each load, so that the first load after an update gets the new page.
    (CACHE_CONTROL, "private, no-cache"),
];

pub(crate) fn dressed(mut answer: Response, media_type: &'static str, etag: ETag) -> Response {
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.extend(HeaderValue::from_str(&etag.to_string()).map(|value| (ETAG, value)));
    answer
}

/// The ETag of a file: its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ETag(blake3::Hash);

impl ETag {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// Whether a browser that sends these tags already has the file.
    pub(crate) fn is_among(self, tags: &HeaderValue) -> bool {
        let own = self.to_string();
        let tags = tags.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.into_iter().any(|tag| tag == "*" || tag.trim_start_matches("W/") == own)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Half of the hash is enough to distinguish the files of different builds.
        write!(f, "\"{}\"", &self.0.to_hex()[..32])
    }
}
