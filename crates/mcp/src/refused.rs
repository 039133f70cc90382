//! Converts the daemon's errors to tool results that a model can act on, and to protocol errors.

use bethink_service::{ErrorKind, ServiceError};
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::json;

/// Error code in the range that JSON-RPC reserves for servers: the request is valid, but failed.
const REFUSED: ErrorCode = ErrorCode(-32_000);

/// Formats an error as a sentence for a model: what failed and on what, what is allowed, and what to do.
fn sentence(refusal: &ServiceError) -> String {
    if refusal.kind == ErrorKind::Internal {
        tracing::error!(cause = %refusal, "could not answer an MCP request");
        return "internal: internal error in the daemon; see its log for the cause".to_owned();
    }
    let mut out = format!("{}: ", refusal.kind);
    if let Some(field) = &refusal.field {
        out.push_str(&format!("{field}: "));
    }
    out.push_str(&refusal.detail);
    if let (Some(limit), Some(actual)) = (refusal.limit, refusal.actual) {
        let bound = if actual < limit { "at least" } else { "at most" };
        out.push_str(&format!(" ({bound} {limit}, got {actual})"));
    }
    if let Some(hint) = &refusal.hint {
        out.push_str(&format!("; {hint}"));
    }
    out
}

/// Returns the error of a search. Its field is the argument of the tool instead of the parameter of the route.
pub(crate) fn of_query(mut error: ServiceError) -> ServiceError {
    if error.field.as_deref() == Some("q") {
        error.field = Some("query".to_owned());
    }
    error
}

/// Returns the answer of a tool that failed.
pub(crate) fn of_tool(refusal: &ServiceError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(sentence(refusal))])
}

/// Returns the protocol error for a request that failed.
pub(crate) fn of_request(refusal: &ServiceError) -> ErrorData {
    let message = sentence(refusal);
    let data = Some(json!({ "type": refusal.kind, "field": refusal.field }));
    match refusal.kind {
        ErrorKind::Invalid | ErrorKind::TooLarge => ErrorData::invalid_params(message, data),
        ErrorKind::NotFound => ErrorData::resource_not_found(message, data),
        ErrorKind::Internal => ErrorData::internal_error(message, data),
        _ => ErrorData::new(REFUSED, message, data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_where_and_what_to_do() {
        let refusal =
            ServiceError::invalid("limit", "too many").bounded(5, 9).hint("ask for fewer");
        assert_eq!(
            sentence(&refusal),
            "invalid: limit: too many (at most 5, got 9); ask for fewer"
        );
        assert_eq!(of_request(&refusal).code, ErrorCode::INVALID_PARAMS);
        let fault = ServiceError::new(ErrorKind::Internal, "secret path");
        assert!(!sentence(&fault).contains("secret"));
        assert!(!of_request(&fault).message.contains("secret"));
    }
}
