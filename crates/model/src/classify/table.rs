//! The table of errors: what providers say, and what it means.
//!
//! Texts are in the plain form of [`super::plain`]: small letters, single spaces, no quotes. A hole takes a
//! number: `{input}` the prompt's tokens, `{output}` those that `max_tokens` asks for, `{limit}` the most
//! allowed, `{over}` how many are too many, `{n}` anything else.

use crate::error::Class::{self, *};

/// What an error is known by.
#[derive(Debug)]
pub(super) enum Sign {
    /// Words anywhere in the message.
    Text(&'static str),
    /// The whole `type` or `code`; one with `_`, or an exception's name, also as a word of the message.
    Code(&'static str),
    /// HTTP status, from and to.
    Status(u16, u16),
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) sign: Sign,
    pub(super) class: Class,
}

const fn text(text: &'static str, class: Class) -> Row {
    Row { sign: Sign::Text(text), class }
}

const fn code(code: &'static str, class: Class) -> Row {
    Row { sign: Sign::Code(code), class }
}

const fn status(from: u16, to: u16, class: Class) -> Row {
    Row { sign: Sign::Status(from, to), class }
}

/// Most specific first; the first that fits decides.
pub(super) static TABLE: &[Row] = &[
    // Thinking that belongs elsewhere: Anthropic, also through Bedrock and gateways; Gemini.
    text("invalid signature in thinking block", ThinkingBound),
    text("block is bound to a different conversation", ThinkingBound),
    text(
        "redacted_thinking blocks in the latest assistant message cannot be modified",
        ThinkingBound,
    ),
    text("thinking.signature: field required", ThinkingBound),
    text("each thinking block must contain thinking", ThinkingBound),
    text("corrupted thought signature", ThinkingBound),
    // Calls and results that do not belong together, and other rules of structure.
    text("tool_use ids were found without tool_result blocks", History),
    text("unexpected tool_use_id found in", History),
    text("tool_use ids must be unique", History),
    text("was found without a corresponding", History),
    text("without its server_tool_use", History),
    text("each tool_use must have a single result", History),
    text("expected thinking or redacted_thinking, but found", History),
    text("text content blocks must be non-empty", History),
    text("messages must have non-empty content", History),
    text("at least one message is required", History),
    text("final assistant content cannot end with trailing whitespace", History),
    text("first message must use the user role", History),
    text("roles must alternate", History),
    text("must be followed by tool messages responding to each tool_call_id", History),
    text("messages with role tool must be a response to a prece", History),
    text("not the same number of function calls and responses", History),
    text("number of function response parts", History),
    text("function call turn comes immediately after", History),
    text("expected toolresult blocks at", History),
    text("exceeds the number of tooluse blocks", History),
    text("system message must be at the beginning", History),
    // The answer asks for too much, alone or together with the prompt.
    text(
        "input length and max_tokens exceed context limit: {input} + {output} > {limit}",
        OutputOverflow,
    ),
    text("input length and max_tokens exceed context limit", OutputOverflow),
    text(
        "max_tokens: {output} > {limit}, which is the maximum allowed number of output tokens",
        OutputOverflow,
    ),
    text(
        "tokens is too large: {output}. this model supports at most {limit} completion tokens",
        OutputOverflow,
    ),
    text(
        "max_completion_tokens is too large: {output}. this models maximum context length is {limit} tokens and your request has {input} input tokens",
        OutputOverflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, you requested {n} tokens ({input} in the messages, {output} in the completion)",
        OutputOverflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, you requested {n} tokens ({input} in the messages, {n} in the functions, and {output} in the completion)",
        OutputOverflow,
    ),
    text(
        "maximum context length is {limit} tokens, however you requested {n} tokens ({input} in your prompt; {output} for the completion)",
        OutputOverflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, you requested about {n} tokens ({input} of text input, {output} in the output)",
        OutputOverflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, you requested {output} output tokens and your prompt contains at least {input} input tokens",
        OutputOverflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, you requested {output} output tokens and your prompt contains {input} input tokens",
        OutputOverflow,
    ),
    text(
        "inputs tokens + max_new_tokens must be <= {limit}. given: {input} inputs tokens and {output} max_new_tokens",
        OutputOverflow,
    ),
    text("maximum tokens you requested exceeds the model limit of {limit}", OutputOverflow),
    text("max_tokens must be less than or equal to {limit}", OutputOverflow),
    text("max_completion_tokens must be less than or equal to {limit}", OutputOverflow),
    text("valid range of max_tokens is [{n}, {limit}]", OutputOverflow),
    // One request alone over a rate: waiting does not make it smaller.
    text("(tpm): limit {limit}, requested {input}", Overflow),
    // The prompt is too long. Anthropic, Bedrock.
    text("prompt is too long: {input} tokens > {limit} maximum", Overflow),
    text("prompt is too long", Overflow),
    text("input is too long", Overflow),
    // OpenAI, vLLM and gateways in front of them.
    text("exceeds the context window", Overflow),
    text(
        "maximum context length is {limit} tokens. however, your messages resulted in {input} tokens",
        Overflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, your request has {input} input tokens",
        Overflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, you requested {input} tokens",
        Overflow,
    ),
    text(
        "maximum context length is {limit} tokens. however, you requested about {input} tokens",
        Overflow,
    ),
    text(
        "maximum context length is {limit} tokens, however you requested {input} tokens",
        Overflow,
    ),
    text("input length ({input}) exceeds models maximum context length ({limit})", Overflow),
    text("exceeds the models maximum context length of {limit} tokens", Overflow),
    text(
        "input length {input} exceeds the maximum allowed input length of {limit} tokens",
        Overflow,
    ),
    text(
        "the input ({input} tokens) is longer than the models context length ({limit} tokens)",
        Overflow,
    ),
    // Gemini, xAI, Groq, Cerebras, Cohere.
    text(
        "input token count ({input}) exceeds the maximum number of tokens allowed ({limit})",
        Overflow,
    ),
    text("exceeds the maximum number of tokens allowed", Overflow),
    text("maximum prompt length is {limit} but the request contains {input} tokens", Overflow),
    text("maximum prompt length is {limit}", Overflow),
    text("current length is {input} while limit is {limit}", Overflow),
    text("reduce the length of the messages or completion", Overflow),
    text("size limit exceeded by {over} tokens", Overflow),
    text("tokens in the prompt cannot exceed {limit} - received {input}", Overflow),
    // llama.cpp, LM Studio, Ollama.
    text("request ({input} tokens) exceeds the available context size ({limit} tokens)", Overflow),
    text("exceeds the available context size", Overflow),
    text("context size has been exceeded", Overflow),
    text(
        "trying to keep the first {input} tokens when context the overflows. however, the model is loaded with context length of only {limit} tokens",
        Overflow,
    ),
    text("greater than the context length (n_keep: {input}>= n_ctx: {limit})", Overflow),
    text("greater than the context length", Overflow),
    text("exceeded max context length by {over} tokens", Overflow),
    text("prompt too long; exceeded", Overflow),
    text("input length exceeds the context length", Overflow),
    // Mistral, GitHub Copilot, MiniMax, Kimi, Qwen, Z.ai.
    text(
        "prompt contains {input} tokens and {n} images too large for model with {limit} maximum context length",
        Overflow,
    ),
    text(
        "prompt contains {input} tokens, too large for model with {limit} maximum context length",
        Overflow,
    ),
    text("too large for model with {limit} maximum context length", Overflow),
    text("prompt token count of {input} exceeds the limit of {limit}", Overflow),
    text("context window exceeds limit", Overflow),
    text("exceeded model token limit: {limit} (requested: {input})", Overflow),
    text("exceeded model token limit", Overflow),
    text("range of input length should be [{n}, {limit}]", Overflow),
    text("prompt exceeds max length", Overflow),
    // Images and documents: too large, too many, unreadable, or not taken at all.
    text("image exceeds {n} mb maximum", MediaTooLarge),
    text("image dimensions exceed max allowed size", MediaTooLarge),
    text("too many images", MediaTooLarge),
    text("image(s) may be provided in one", MediaTooLarge),
    text("exceeds the maximum allowed total pixels", MediaTooLarge),
    text("maximum of {n} pdf pages", MediaTooLarge),
    text("pdf specified is password protected", MediaTooLarge),
    text("pdf specified was not valid", MediaTooLarge),
    text("could not process image", MediaTooLarge),
    text("could not process pdf", MediaTooLarge),
    text("image does not match the provided media type", MediaTooLarge),
    text("image input is not supported", MediaTooLarge),
    text("no endpoints found that support image input", MediaTooLarge),
    text("does not support image", MediaTooLarge),
    // Bytes.
    text("request exceeds the maximum size", RequestTooLarge),
    text("request entity too large", RequestTooLarge),
    text("payload too large", RequestTooLarge),
    text("request payload size exceeds the limit", RequestTooLarge),
    text("total message size {n} exceeds limit {n}", RequestTooLarge),
    // Keys, also where the status says no more than 400.
    text("invalid x-api-key", Auth),
    text("api key not valid", Auth),
    text("incorrect api key", Auth),
    text("invalid api key", Auth),
    text("didnt provide an api key", Auth),
    text("oauth token has expired", Auth),
    text("this organization has been disabled", Auth),
    // Money; a quota that says when it is free again is a rate.
    text("quota exceeded for metric", RateLimited),
    text("credit balance is too low", Quota),
    text("reached your specified api usage limits", Quota),
    text("exceeded your current quota", Quota),
    text("insufficient balance", Quota),
    text("insufficient credits", Quota),
    text("requires more credits", Quota),
    // A server that is not ready, and models that are not there.
    text("loading model", Overloaded),
    text("please wait before trying again", RateLimited),
    text("model identifier is invalid", NotFound),
    text("no models loaded", NotFound),
    text("not found, try pulling it first", NotFound),
    // Codes that mean one thing.
    code("context_length_exceeded", Overflow),
    code("exceed_context_size_error", Overflow),
    code("model_context_window_exceeded", Overflow),
    code("request_too_large", RequestTooLarge),
    code("string_above_max_length", RequestTooLarge),
    code("overloaded_error", Overloaded),
    code("rate_limit_error", RateLimited),
    code("rate_limit_exceeded", RateLimited),
    code("insufficient_quota", Quota),
    code("credit_balance_too_low", Quota),
    code("billing_error", Quota),
    code("billing_hard_limit_reached", Quota),
    code("authentication_error", Auth),
    code("permission_error", Auth),
    code("invalid_api_key", Auth),
    code("not_found_error", NotFound),
    code("model_not_found", NotFound),
    code("timeout_error", TimedOut),
    code("throttlingexception", RateLimited),
    code("servicequotaexceededexception", Quota),
    code("accessdeniedexception", Auth),
    code("unrecognizedclientexception", Auth),
    code("expiredtokenexception", Auth),
    code("resourcenotfoundexception", NotFound),
    code("modeltimeoutexception", TimedOut),
    code("modelnotreadyexception", Overloaded),
    code("serviceunavailableexception", Overloaded),
    code("modelstreamerrorexception", Broken),
    code("internalserverexception", Server),
    // Words that many texts share.
    text("maximum context length", Overflow),
    text("context length exceeded", Overflow),
    text("context window exceeded", Overflow),
    text("rate limit", RateLimited),
    text("too many requests", RateLimited),
    text("too many tokens", Overflow),
    text("token limit exceeded", Overflow),
    text("overloaded", Overloaded),
    text("at capacity", Overloaded),
    // Codes that mean little: Gemini's, and those of every other 400 and 500.
    code("resource_exhausted", RateLimited),
    code("unavailable_error", Overloaded),
    code("unavailable", Overloaded),
    code("deadline_exceeded", TimedOut),
    code("unauthenticated", Auth),
    code("permission_denied", Auth),
    code("not_found", NotFound),
    code("internal", Server),
    code("api_error", Server),
    code("server_error", Server),
    code("invalid_argument", Invalid),
    code("failed_precondition", Invalid),
    code("validationexception", Invalid),
    code("invalid_request_error", Invalid),
    // The status, where nothing else was said.
    status(400, 400, Invalid),
    status(401, 401, Auth),
    status(402, 402, Quota),
    status(403, 403, Auth),
    status(404, 405, NotFound),
    status(408, 408, TimedOut),
    status(409, 409, Server),
    status(410, 410, NotFound),
    status(413, 413, RequestTooLarge),
    status(422, 422, Invalid),
    status(425, 425, Overloaded),
    status(429, 429, RateLimited),
    status(503, 503, Overloaded),
    status(504, 504, TimedOut),
    status(529, 529, Overloaded),
    status(500, 599, Server),
];
