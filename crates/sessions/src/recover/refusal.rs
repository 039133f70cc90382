//! Reads a client's report of a refused prompt, and computes a shorter answer from its figures.

use std::time::Duration;

use bethink_api as api;
use bethink_model::{Figures, ModelError};
use bethink_service::{Result, ServiceError};
use serde_json::Value;

/// Minimum size of an answer that is worth requesting instead of compacting, in tokens.
const MIN_OUTPUT: u64 = 1_024;
/// Maximum wait in seconds: no quota period is longer.
const MAX_SECONDS: f64 = 31.0 * 24.0 * 3_600.0;

/// Reads the provider's error in a request; fails if one of the fields is invalid.
pub(super) fn read(request: &api::RecoverRequest) -> Result<ModelError> {
    let body = match &request.error {
        Value::String(text) => text.clone(),
        // Some providers wrap the object in an array.
        Value::Object(_) | Value::Array(_) => request.error.to_string(),
        _ => {
            let detail = "must be the provider's error as JSON, or the error's text as a string";
            return Err(ServiceError::invalid("error", detail));
        }
    };
    if request.status.is_some_and(|status| !(100..1_000).contains(&status)) {
        let detail = "must be an HTTP status from 100 to 999, or absent";
        return Err(ServiceError::invalid("status", detail));
    }
    for (field, value) in
        [("attempt", request.attempt.map(u64::from)), ("max_tokens", request.max_tokens)]
    {
        if value == Some(0) {
            return Err(ServiceError::invalid(field, "must be 1 or more"));
        }
    }
    let retry_after = request.retry_after.map(wait).transpose()?;
    let error = bethink_model_http::read_error(request.status, &body);
    let retry_after = retry_after.or(error.retry_after);
    Ok(ModelError { retry_after, ..error })
}

fn wait(seconds: f64) -> Result<Duration> {
    if (0.0..=MAX_SECONDS).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(ServiceError::invalid("retry_after", format!("must be from 0 to {MAX_SECONDS} seconds")))
}

/// Returns a lower output limit that solves the problem, if there is one. If the error does not report the prompt's
/// size, the limit in it applies to the answer only, however small that limit is.
pub(super) fn shorter_answer(error: &ModelError, asked: Option<u64>) -> Option<u64> {
    let Figures { input, output, limit, .. } = error.figures;
    let asked = output.or(asked).unwrap_or(u64::MAX);
    let min = if input.is_some() { MIN_OUTPUT.min(asked) } else { 1 };
    let free = limit?.checked_sub(input.unwrap_or(0))?;
    (min..asked).contains(&free).then_some(free)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(text: &str) -> ModelError {
        bethink_model_http::read_error(Some(400), text)
    }

    #[test]
    fn an_answer_is_shortened_by_what_the_error_names() {
        for (text, asked, expect) in [
            (
                "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
                None,
                Some(21_041),
            ),
            // There is less room than an answer needs, so the prompt must be shorter.
            (
                "input length and `max_tokens` exceed context limit: 199500 + 64000 > 200000",
                None,
                None,
            ),
            // The limit applies to the answer only.
            (
                "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x",
                None,
                Some(64_000),
            ),
            ("max_tokens must be less than or equal to 512", Some(900), Some(512)),
            // The request already asked for less.
            ("max_tokens must be less than or equal to 512", Some(512), None),
            ("input length and `max_tokens` exceed context limit", Some(8_000), None),
        ] {
            assert_eq!(shorter_answer(&error(text), asked), expect, "{text}");
        }
    }

    #[test]
    fn invalid_fields_are_refused() {
        let good = api::RecoverRequest { error: json!(""), ..Default::default() };
        let field = |request: api::RecoverRequest| read(&request).err().and_then(|e| e.field);
        assert_eq!(field(good.clone()), None);
        let of = |change: fn(&mut api::RecoverRequest)| {
            let mut request = good.clone();
            change(&mut request);
            field(request)
        };
        for bad in [json!(null), json!(5), json!(true)] {
            let request = api::RecoverRequest { error: bad, ..good.clone() };
            assert_eq!(field(request).as_deref(), Some("error"));
        }
        assert_eq!(of(|r| r.status = Some(99)).as_deref(), Some("status"));
        assert_eq!(of(|r| r.attempt = Some(0)).as_deref(), Some("attempt"));
        assert_eq!(of(|r| r.max_tokens = Some(0)).as_deref(), Some("max_tokens"));
        for seconds in [-1.0, 1e300, f64::NAN, f64::INFINITY] {
            let request = api::RecoverRequest { retry_after: Some(seconds), ..good.clone() };
            assert_eq!(field(request).as_deref(), Some("retry_after"), "{seconds}");
        }
        assert_eq!(of(|r| r.retry_after = Some(172_800.0)), None, "a quota of two days");
    }
}
