//! Makes errors with the providers' own texts and the figures of the request.

use serde_json::{Value, json};

use crate::ask::{Ask, Wire};
use crate::fault::Fault;

/// An error of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    /// Seconds.
    pub retry_after: Option<u64>,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Error { kind: &'static str, code: Option<&'static str>, message: String },
    Plain(String),
    Html,
}

/// The web page of a proxy.
pub(crate) const PAGE: &str =
    "<!DOCTYPE html><html><head><title>Bad gateway</title></head><body><h1>502</h1></body></html>";

/// Returns the error for a fault; `None` for other faults. `key` is the key that the client sent.
pub(crate) fn refusal(
    fault: Fault,
    asked: &Ask,
    window: Option<u64>,
    key: &str,
) -> Option<Refusal> {
    let input = asked.tokens();
    // If no window is set, the request counts as a fifth too long.
    let limit = window.unwrap_or(input * 4 / 5);
    let chat = asked.wire != Wire::Anthropic;
    let invalid = |message: String| error(400, "invalid_request_error", message);
    Some(match fault {
        Fault::RateLimited | Fault::RateLimitedBare | Fault::RateLimitedLong => rate(fault, chat),
        Fault::Overloaded => wait(overloaded(chat), 1),
        Fault::OverloadedBare | Fault::ErrorAfterOk | Fault::ErrorMidStream => overloaded(chat),
        Fault::ServerError if chat => {
            let text = "The server had an error while processing your request. Sorry about that!";
            error(500, "server_error", text)
        }
        Fault::ServerError => error(500, "api_error", "Internal server error"),
        Fault::BadGateway => Refusal { status: 502, retry_after: None, body: Body::Html },
        Fault::Unavailable => {
            Refusal { status: 503, retry_after: None, body: Body::Plain("no healthy upstream".into()) }
        }
        Fault::WrongKey if chat => {
            let text = "Incorrect API key provided. You can find your API key in your account.";
            code(invalid(text.to_owned()), 401, "invalid_api_key")
        }
        Fault::WrongKey => error(401, "authentication_error", "invalid x-api-key"),
        Fault::EchoedKey => {
            let text = format!("Incorrect API key provided: {key}. It is not known here.");
            code(error(401, "authentication_error", text), 401, "invalid_api_key")
        }
        Fault::NotPermitted => {
            let text = "Your API key does not have permission to use the specified resource.";
            error(403, "permission_error", text)
        }
        Fault::NoModel if chat => {
            let text =
                format!("The model `{}` does not exist or you do not have access to it.", asked.model);
            code(invalid(text), 404, "model_not_found")
        }
        Fault::NoModel => error(404, "not_found_error", format!("model: {}", asked.model)),
        Fault::Quota if chat => {
            let text = "You exceeded your current quota, please check your plan and billing details.";
            code(error(429, "insufficient_quota", text), 429, "insufficient_quota")
        }
        Fault::Quota => invalid(
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to \
             upgrade or purchase credits."
                .to_owned(),
        ),
        Fault::Invalid => invalid("temperature: range: 0..1".to_owned()),
        Fault::Overflow | Fault::OverflowAfterOk if asked.wire == Wire::Gemini => {
            return refusal(Fault::OverflowGemini, asked, window, key);
        }
        Fault::Overflow | Fault::OverflowAfterOk if asked.wire == Wire::Responses => {
            too_long_input()
        }
        Fault::Overflow | Fault::OverflowAfterOk if chat => too_long_chat(input, limit),
        Fault::Overflow | Fault::OverflowAfterOk => {
            invalid(format!("prompt is too long: {input} tokens > {limit} maximum"))
        }
        Fault::OutputOverflow => output_overflow(asked, window),
        Fault::OverflowBedrock => {
            error(400, "ValidationException", "Input is too long for requested model.")
        }
        Fault::OverflowGemini => error(
            400,
            "INVALID_ARGUMENT",
            format!(
                "The input token count ({input}) exceeds the maximum number of tokens allowed ({limit})."
            ),
        ),
        Fault::OverflowOpenAi => too_long_chat(input, limit),
        Fault::OverflowResponses => code(
            invalid(
                "Your input exceeds the context window of this model. Please adjust your input and try \
                 again."
                    .to_owned(),
            ),
            400,
            "context_length_exceeded",
        ),
        Fault::OverflowLlamaCpp => error(
            400,
            "exceed_context_size_error",
            format!(
                "request ({input} tokens) exceeds the available context size ({limit} tokens), try \
                 increasing it"
            ),
        ),
        Fault::RequestTooLarge => {
            error(413, "request_too_large", "Request exceeds the maximum size")
        }
        Fault::MediaTooLarge => invalid(
            "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > \
             5242880 bytes"
                .to_owned(),
        ),
        Fault::ThinkingBound => bound("messages.1.content.0"),
        Fault::ThinkingModified => invalid(
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant \
             message cannot be modified. These blocks must remain as they were in the original response."
                .to_owned(),
        ),
        Fault::CallWithoutResult => invalid(
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: \
             toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next \
             message."
                .to_owned(),
        ),
        Fault::ResultWithoutCall => invalid(
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each \
             `tool_result` block must have a corresponding `tool_use` block in the previous message."
                .to_owned(),
        ),
        Fault::UnknownError => error(418, "teapot_error", "the moon is in the wrong house"),
        _ => return None,
    })
}

/// Returns the error for a request that exceeds the window.
pub(crate) fn over_window(asked: &Ask, window: u64) -> Option<Refusal> {
    if asked.tokens() > window {
        return refusal(Fault::Overflow, asked, Some(window), "");
    }
    // Gemini's limits of input and output are separate.
    let is_over = asked.wire != Wire::Gemini && asked.tokens() + asked.max_tokens > window;
    is_over.then(|| output_overflow(asked, Some(window)))
}

pub(crate) fn bound(place: &str) -> Refusal {
    let message = format!(
        "{place}: Invalid `signature` in `thinking` block. The block is bound to a different \
         conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \
         \"drop_block\"."
    );
    error(400, "invalid_request_error", message)
}

/// Returns the error for a prompt that violates the rules.
pub(crate) fn broken(faults: &[String]) -> Refusal {
    error(400, "invalid_request_error", format!("messages: {}", faults.join("; ")))
}

fn output_overflow(asked: &Ask, window: Option<u64>) -> Refusal {
    let (input, output) = (asked.tokens(), asked.max_tokens);
    let limit = window.unwrap_or(input + output / 2);
    match asked.wire {
        Wire::Anthropic => error(
            400,
            "invalid_request_error",
            format!(
                "input length and `max_tokens` exceed context limit: {input} + {output} > {limit}, \
                 decrease input length or `max_tokens` and try again"
            ),
        ),
        Wire::OpenAi | Wire::Responses | Wire::Gemini => {
            let sum = input + output;
            let text = format!(
                "This model's maximum context length is {limit} tokens. However, you requested {sum} \
                 tokens ({input} in the messages, {output} in the completion). Please reduce the length \
                 of the messages or completion."
            );
            code(error(400, "invalid_request_error", text), 400, "context_length_exceeded")
        }
    }
}

/// The Responses API names no figures.
fn too_long_input() -> Refusal {
    let text = "Your input exceeds the context window of this model. Please adjust your input and try again.";
    code(error(400, "invalid_request_error", text), 400, "context_length_exceeded")
}

/// The request continues an answer that is not kept.
pub(crate) fn unknown_response(id: &str) -> Refusal {
    let text = format!("Previous response with id '{id}' not found.");
    code(error(400, "invalid_request_error", text), 400, "previous_response_not_found")
}

fn too_long_chat(input: u64, limit: u64) -> Refusal {
    let text = format!(
        "This model's maximum context length is {limit} tokens. However, your messages resulted in \
         {input} tokens. Please reduce the length of the messages."
    );
    code(error(400, "invalid_request_error", text), 400, "context_length_exceeded")
}

fn rate(fault: Fault, chat: bool) -> Refusal {
    let refusal = if chat {
        let text = "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1.";
        code(error(429, "requests", text), 429, "rate_limit_exceeded")
    } else {
        error(429, "rate_limit_error", "This request would exceed your organization's rate limit.")
    };
    match fault {
        Fault::RateLimited => wait(refusal, 1),
        Fault::RateLimitedLong => wait(refusal, 3600),
        _ => refusal,
    }
}

fn overloaded(chat: bool) -> Refusal {
    if chat {
        let text = "The engine is currently overloaded, please try again later";
        return error(503, "server_error", text);
    }
    error(529, "overloaded_error", "Overloaded")
}

fn error(status: u16, kind: &'static str, message: impl Into<String>) -> Refusal {
    let body = Body::Error { kind, code: None, message: message.into() };
    Refusal { status, retry_after: None, body }
}

fn code(mut refusal: Refusal, to: u16, named: &'static str) -> Refusal {
    refusal.status = to;
    if let Body::Error { code, .. } = &mut refusal.body {
        *code = Some(named);
    }
    refusal
}

fn wait(refusal: Refusal, seconds: u64) -> Refusal {
    Refusal { retry_after: Some(seconds), ..refusal }
}

/// Wraps an error in the format of a provider.
pub(crate) fn envelope(wire: Wire, refusal: &Refusal, request: &str) -> Value {
    let Body::Error { kind, code, message } = &refusal.body else { return Value::Null };
    match wire {
        Wire::Anthropic => {
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": request})
        }
        Wire::OpenAi | Wire::Responses => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
        Wire::Gemini => {
            let status = match refusal.status {
                401 => "UNAUTHENTICATED",
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                503 => "UNAVAILABLE",
                500.. => "INTERNAL",
                _ => "INVALID_ARGUMENT",
            };
            json!({"error": {"code": refusal.status, "message": message, "status": status}})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Kind;

    fn asked(wire: Wire) -> Ask {
        let text = "word ".repeat(1000);
        let body = json!({"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": text}]});
        Ask::read(wire, &body)
    }

    fn text(fault: Fault, wire: Wire, window: Option<u64>) -> String {
        let refusal = refusal(fault, &asked(wire), window, "sk-secret").unwrap();
        envelope(wire, &refusal, "req_1")["error"]["message"].as_str().unwrap_or("").to_owned()
    }

    #[test]
    fn every_refusal_has_words_on_both_wires() {
        for fault in Fault::ALL.iter().filter(|fault| fault.kind() == Kind::Refusal) {
            for wire in [Wire::Anthropic, Wire::OpenAi] {
                let refusal = refusal(*fault, &asked(wire), None, "k");
                assert!(refusal.is_some_and(|r| r.status >= 400), "{fault:?}");
            }
        }
    }

    #[test]
    fn figures_are_those_of_the_request() {
        let n = asked(Wire::Anthropic).tokens();
        let check =
            |fault, wire, window, expect: &str| assert_eq!(text(fault, wire, window), expect);
        let short = format!("prompt is too long: {n} tokens > 900 maximum");
        check(Fault::Overflow, Wire::Anthropic, Some(900), &short);
        let both = format!(
            "input length and `max_tokens` exceed context limit: {n} + 500 > 1500, decrease input length \
             or `max_tokens` and try again"
        );
        check(Fault::OutputOverflow, Wire::Anthropic, Some(1500), &both);
        let chat = text(Fault::Overflow, Wire::OpenAi, Some(900));
        assert!(chat.starts_with("This model's maximum context length is 900 tokens."), "{chat}");
        assert!(chat.contains(&format!("resulted in {n} tokens")), "{chat}");
        assert!(text(Fault::EchoedKey, Wire::OpenAi, None).contains("sk-secret"));
    }

    #[test]
    fn a_window_refuses_what_is_longer() {
        let asked = asked(Wire::Anthropic);
        let n = asked.tokens();
        assert!(over_window(&asked, n + 500).is_none());
        let said = |window| format!("{:?}", over_window(&asked, window));
        assert!(said(n + 499).contains("exceed context limit"));
        assert!(said(n - 1).contains("prompt is too long"));
    }
}
