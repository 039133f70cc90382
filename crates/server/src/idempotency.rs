//! `Idempotency-Key`: a repeated request has no further effect, and gets the answer to the first one.

use std::sync::PoisonError;

use bethink_service::{ContinueOnDrop, ErrorKind, Receipt};
use http::header::{HeaderValue, RETRY_AFTER};
use http::{HeaderMap, request::Parts};

use crate::answer::{HttpAnswer, Reply};
use crate::app::{RunningKeys, ServerState};
use crate::problem::HttpFailure;

const HEADER: &str = "idempotency-key";

/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 255;

/// Returns the key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, HttpFailure> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bytes = value.as_bytes();
    if values.next().is_some() {
        return Err(HttpFailure::field("Idempotency-Key", "the header was sent more than once"));
    }
    if bytes.is_empty() || bytes.len() > MAX_KEY_BYTES {
        let detail = format!("a key must have 1 to {MAX_KEY_BYTES} characters");
        let failure = HttpFailure::field("Idempotency-Key", detail);
        let limit = bytes.len().clamp(1, MAX_KEY_BYTES);
        return Err(failure.bounded(limit as u64, bytes.len() as u64));
    }
    match value.to_str() {
        Ok(text) if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
            Ok(Some(text.to_owned()))
        }
        _ => Err(HttpFailure::field(
            "Idempotency-Key",
            "a key may only contain printable ASCII characters",
        )),
    }
}

/// Adds a hash of the request to the key, so that reuse for a different request is detected.
pub(crate) fn with_fingerprint(key: String, parts: &Parts, body: &[u8]) -> Receipt {
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let mut hasher = blake3::Hasher::new();
    hasher.update(parts.method.as_str().as_bytes()).update(b"\0");
    hasher.update(path.as_bytes()).update(b"\0").update(body);
    Receipt { key, fingerprint: hasher.finalize().to_hex().to_string() }
}

/// Runs `work` once per key. Only successful answers are stored: an error may be retried.
pub(crate) async fn once<F>(app: &ServerState, key: Option<Receipt>, work: F) -> Reply
where
    F: Future<Output = Reply> + Send + 'static,
{
    let Some(key) = key else { return to_the_end(app, work).await };
    let running = Running::start(&app.running_keys, &key.key)?;
    let daemon = app.daemon.clone();
    to_the_end(app, async move {
        let _running = running;
        if let Some(kept) = daemon.cx.kept_answer(&key).await? {
            return HttpAnswer::from_kept(&kept).ok_or_else(|| {
                HttpFailure::internal(
                    &"could not read the response stored for this Idempotency-Key",
                )
            });
        }
        let answer = work.await?;
        if let Err(error) = daemon.cx.keep_answer(key, answer.to_kept()).await {
            // The work is done and stored, but a repetition will not be recognized.
            tracing::warn!(%error, "could not store the response for this Idempotency-Key");
        }
        Ok(answer)
    })
    .await
}

/// Runs `work` to completion even if the client disconnects, which drops the handler. Otherwise, part of the work could
/// be stored without an answer for the client's next attempt.
pub(crate) async fn to_the_end<F>(app: &ServerState, work: F) -> Reply
where
    F: Future<Output = Reply> + Send + 'static,
{
    ContinueOnDrop::new(&app.tasks, work).await
}

/// Marks a key as in use until it is dropped.
#[derive(Debug)]
struct Running {
    keys: RunningKeys,
    key: String,
}

impl Running {
    fn start(keys: &RunningKeys, key: &str) -> Result<Self, HttpFailure> {
        let new = keys.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
        if new {
            return Ok(Self { keys: keys.clone(), key: key.to_owned() });
        }
        let detail = "the first request with this Idempotency-Key is still running";
        Err(HttpFailure::new(ErrorKind::Conflict, detail).header(RETRY_AFTER, HeaderValue::from(1)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn headers(values: &[&[u8]]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_key_is_printable_ascii_of_bounded_length() {
        assert_eq!(key(&headers(&[])).unwrap(), None);
        assert_eq!(key(&headers(&[b"a-1"])).unwrap().as_deref(), Some("a-1"));
        assert!(key(&headers(&[&[b'x'; 255]])).is_ok());
        let wrong: [&[&[u8]]; 5] = [&[b""], &[&[b'x'; 256]], &[b"a\tb"], &[b"\xe4"], &[b"a", b"a"]];
        for values in wrong {
            let problem = key(&headers(values)).unwrap_err().problem().clone();
            assert_eq!(problem.status, 422);
            assert_eq!(problem.field.as_deref(), Some("Idempotency-Key"));
        }
    }

    #[test]
    fn the_fingerprint_knows_method_path_and_body() {
        let print = |method: &str, path: &str, body: &str| {
            let (parts, ()) =
                Request::builder().method(method).uri(path).body(()).unwrap().into_parts();
            with_fingerprint("k".into(), &parts, body.as_bytes()).fingerprint
        };
        let first = print("POST", "/a", "{}");
        assert_eq!(first, print("POST", "/a", "{}"));
        for other in
            [print("PUT", "/a", "{}"), print("POST", "/a?b", "{}"), print("POST", "/a", "")]
        {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_key_runs_once_at_a_time() {
        let keys = RunningKeys::default();
        let running = Running::start(&keys, "k").unwrap();
        assert_eq!(Running::start(&keys, "k").unwrap_err().slug(), "conflict");
        assert!(Running::start(&keys, "other").is_ok());
        drop(running);
        assert!(Running::start(&keys, "k").is_ok());
    }
}
