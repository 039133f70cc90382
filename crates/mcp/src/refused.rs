//! Refusals of the daemon, in the protocol's two ways: a tool's own answer that a model can act on, and an error.

use bethink_daemon::{Kind, Refusal};
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::json;

/// Of the range that JSON-RPC leaves to servers: what was asked for is right, and can't be done now.
const REFUSED: ErrorCode = ErrorCode(-32_000);

/// The stable word for a kind, as in the HTTP surface's problems.
fn slug(kind: Kind) -> &'static str {
    match kind {
        Kind::Invalid => "invalid",
        Kind::NotFound => "not_found",
        Kind::Conflict => "conflict",
        Kind::Stale => "stale",
        Kind::KeyReused => "key_reused",
        Kind::TooLarge => "too_large",
        Kind::ContextOverflow => "context_overflow",
        Kind::NotCompactable => "not_compactable",
        Kind::StorageFull => "storage_full",
        Kind::ReadOnly => "read_only",
        Kind::ShuttingDown => "shutting_down",
        Kind::Unreachable => "unreachable",
        Kind::Internal => "internal",
    }
}

/// What, where, what is allowed, and what to do: one sentence for a model.
fn sentence(refusal: &Refusal) -> String {
    if refusal.kind == Kind::Internal {
        tracing::error!(cause = %refusal, "a call met a fault of the daemon");
        return "internal: the daemon met a fault of its own; its log has the cause".to_owned();
    }
    let mut out = format!("{}: ", slug(refusal.kind));
    if let Some(field) = &refusal.field {
        out.push_str(&format!("{field}: "));
    }
    out.push_str(&refusal.detail);
    if let (Some(limit), Some(actual)) = (refusal.limit, refusal.actual) {
        out.push_str(&format!(" (at most {limit}, got {actual})"));
    }
    if let Some(hint) = &refusal.hint {
        out.push_str(&format!("; {hint}"));
    }
    out
}

/// A tool that could not do what it was called for.
pub(crate) fn of_tool(refusal: &Refusal) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(sentence(refusal))])
}

/// A request that could not be answered.
pub(crate) fn of_request(refusal: &Refusal) -> ErrorData {
    let message = sentence(refusal);
    let data = Some(json!({ "type": slug(refusal.kind), "field": refusal.field }));
    match refusal.kind {
        Kind::Invalid | Kind::TooLarge => ErrorData::invalid_params(message, data),
        Kind::NotFound => ErrorData::resource_not_found(message, data),
        Kind::Internal => ErrorData::internal_error(message, data),
        _ => ErrorData::new(REFUSED, message, data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_where_and_what_to_do() {
        let refusal = Refusal::invalid("limit", "too many").bounded(5, 9).hint("ask for fewer");
        assert_eq!(
            sentence(&refusal),
            "invalid: limit: too many (at most 5, got 9); ask for fewer"
        );
        assert_eq!(of_request(&refusal).code, ErrorCode::INVALID_PARAMS);
        let fault = Refusal::new(Kind::Internal, "secret path");
        assert!(!sentence(&fault).contains("secret"));
        assert!(!of_request(&fault).message.contains("secret"));
    }
}
