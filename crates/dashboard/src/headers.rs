//! Headers of every file: what the page may do, and how long a browser may keep it.

use std::fmt;

use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// Texts of strangers are shown by this page. Whatever they may be, nothing but our own script runs, nothing is
/// asked of any other origin, no text becomes markup (the policy on trusted types), nobody frames the page.
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
    // Kept, and asked for each time: after an update the next reload is the new page.
    (CACHE_CONTROL, "private, no-cache"),
];

pub(crate) fn dressed(mut answer: Response, media_type: &'static str, etag: ETag) -> Response {
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.extend(HeaderValue::from_str(&etag.to_string()).map(|value| (ETAG, value)));
    answer
}

/// The hash of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ETag(blake3::Hash);

impl ETag {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// Whether a browser that sends these tags has the file.
    pub(crate) fn is_among(self, tags: &HeaderValue) -> bool {
        let own = self.to_string();
        let tags = tags.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.into_iter().any(|tag| tag == "*" || tag.trim_start_matches("W/") == own)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Half of it tells files of one build apart.
        write!(f, "\"{}\"", &self.0.to_hex()[..32])
    }
}
