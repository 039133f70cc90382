//! Real error texts of providers, with the expected classes and figures.

use super::check;
use crate::error::ErrorClass;

const INVALID: &str = "invalid_request_error";

#[test]
fn anthropic() {
    use ErrorClass::*;
    let check = |status, kind, message, class, figures| {
        check(status, kind, "", message, class, figures);
    };
    check(
        400,
        INVALID,
        "prompt is too long: 211539 tokens > 200000 maximum",
        Overflow,
        "211539/-/200000",
    );
    check(
        400,
        INVALID,
        "prompt is too long: 1,002,003 tokens > 1,000,000 maximum",
        Overflow,
        "1002003/-/1000000",
    );
    check(400, INVALID, "prompt is too long", Overflow, "");
    check(
        400,
        INVALID,
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
        OutputOverflow,
        "178959/64000/200000",
    );
    check(
        400,
        INVALID,
        "input length and `max_tokens` exceed context limit: 200001 + 64000 > 200000, decrease input length or `max_tokens` and try again",
        Overflow,
        "200001/64000/200000",
    );
    check(
        400,
        INVALID,
        "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for a-model",
        OutputOverflow,
        "-/128000/64000",
    );
    check(
        400,
        INVALID,
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".",
        ThinkingBound,
        "",
    );
    check(
        400,
        INVALID,
        "messages.3.content.1: Invalid `signature` in `thinking` block",
        ThinkingBound,
        "",
    );
    check(
        400,
        INVALID,
        "messages.5.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
        ThinkingBound,
        "",
    );
    check(
        400,
        INVALID,
        "messages.1.content.0.thinking.signature: Field required",
        ThinkingBound,
        "",
    );
    check(
        400,
        INVALID,
        "messages.7: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        History,
        "",
    );
    check(
        400,
        INVALID,
        "messages.8.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        History,
        "",
    );
    check(
        400,
        INVALID,
        "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
        History,
        "",
    );
    check(400, INVALID, "messages: `tool_use` ids must be unique", History, "");
    check(400, INVALID, "messages: text content blocks must be non-empty", History, "");
    check(
        400,
        INVALID,
        "messages.0: all messages must have non-empty content except for the optional final assistant message",
        History,
        "",
    );
    check(
        400,
        INVALID,
        "messages: final assistant content cannot end with trailing whitespace",
        History,
        "",
    );
    check(
        400,
        INVALID,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
        History,
        "",
    );
    check(
        400,
        INVALID,
        "messages.58.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes",
        MediaTooLarge,
        "",
    );
    check(
        400,
        INVALID,
        "messages.88.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
        MediaTooLarge,
        "",
    );
    check(
        400,
        INVALID,
        "messages.38.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.",
        MediaTooLarge,
        "",
    );
    check(400, INVALID, "too many images and documents: 27 + 0 > 20", MediaTooLarge, "");
    check(400, INVALID, "Could not process image", MediaTooLarge, "");
    check(413, "request_too_large", "Request exceeds the maximum size", RequestTooLarge, "");
    check(413, "", "", RequestTooLarge, "");
    check(
        429,
        "rate_limit_error",
        "This request would exceed your account's rate limit. Please try again later.",
        RateLimited,
        "",
    );
    check(529, "overloaded_error", "Overloaded", Overloaded, "");
    check(0, "overloaded_error", "Overloaded", Overloaded, "");
    check(500, "api_error", "Internal server error", Server, "");
    check(504, "timeout_error", "The request timed out", TimedOut, "");
    check(401, "authentication_error", "invalid x-api-key", Auth, "");
    check(
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource",
        Auth,
        "",
    );
    check(404, "not_found_error", "model: some-model", NotFound, "");
    check(
        400,
        INVALID,
        "Your credit balance is too low to access the API. Please go to Plans & Billing to upgrade or purchase credits.",
        Quota,
        "",
    );
    check(402, "billing_error", "", Quota, "");
    check(400, INVALID, "temperature: range: 0..1", Invalid, "");
}

#[test]
fn bedrock() {
    use ErrorClass::*;
    let check = |status, kind, message, class, figures| {
        check(status, kind, "", message, class, figures);
    };
    check(400, "ValidationException", "Input is too long for requested model.", Overflow, "");
    check(
        400,
        "ValidationException",
        "The model returned the following errors: input length and `max_tokens` exceed context limit: 190000 + 20000 > 204698, decrease input length or `max_tokens` and try again",
        OutputOverflow,
        "190000/20000/204698",
    );
    check(
        400,
        "ValidationException",
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
        OutputOverflow,
        "-/-/4096",
    );
    check(
        400,
        "ValidationException",
        "Expected toolResult blocks at messages.2.content for the following Ids: t1",
        History,
        "",
    );
    check(400, "ValidationException", "Malformed input request", Invalid, "");
    check(
        429,
        "",
        "ThrottlingException: Too many tokens, please wait before trying again.",
        RateLimited,
        "",
    );
    check(429, "ThrottlingException", "Your request rate is too high.", RateLimited, "");
    check(503, "ServiceUnavailableException", "", Overloaded, "");
    check(0, "", "InternalServerException: something", Server, "");
    check(400, "", "The provided model identifier is invalid.", NotFound, "");
}

#[test]
fn openai() {
    use ErrorClass::*;
    check(
        400,
        INVALID,
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        Overflow,
        "",
    );
    check(0, "", "context_length_exceeded", "something new", Overflow, "");
    check(
        400,
        INVALID,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. Please reduce the length of the messages.",
        Overflow,
        "130012/-/128000",
    );
    check(
        400,
        INVALID,
        "context_length_exceeded",
        "This model\u{2019}s maximum context length is 16384 tokens. However, you requested 20096 tokens (10096 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
        OutputOverflow,
        "10096/10000/16384",
    );
    check(
        400,
        INVALID,
        "context_length_exceeded",
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
        Overflow,
        "112946/10000/16384",
    );
    check(
        400,
        INVALID,
        "context_length_exceeded",
        "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10341 in your prompt; 5 for the completion). Please reduce your prompt; or completion length.",
        Overflow,
        "10341/5/8191",
    );
    check(
        400,
        INVALID,
        "invalid_value",
        "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.",
        OutputOverflow,
        "-/32000/16384",
    );
    check(
        429,
        "tokens",
        "rate_limit_exceeded",
        "Request too large for some-model in organization org_x on tokens per min (TPM): Limit 30000, Requested 45,123. The input or output tokens must be reduced in order to run successfully.",
        Overflow,
        "45123/-/30000",
    );
    check(
        429,
        "requests",
        "rate_limit_exceeded",
        "Rate limit reached for some-model on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.",
        RateLimited,
        "",
    );
    check(
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        Quota,
        "",
    );
    check(401, INVALID, "invalid_api_key", "Incorrect API key provided: sk-***.", Auth, "");
    check(401, INVALID, "", "You didn't provide an API key.", Auth, "");
    check(
        404,
        INVALID,
        "model_not_found",
        "The model `x` does not exist or you do not have access to it.",
        NotFound,
        "",
    );
    check(
        400,
        INVALID,
        "",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
        History,
        "",
    );
    check(
        400,
        INVALID,
        "",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        History,
        "",
    );
    check(
        400,
        INVALID,
        "string_above_max_length",
        "Invalid 'messages[1].content': string too long.",
        RequestTooLarge,
        "",
    );
    check(
        500,
        "server_error",
        "",
        "The server had an error while processing your request",
        Server,
        "",
    );
    check(
        503,
        "",
        "",
        "The engine is currently overloaded, please try again later",
        Overloaded,
        "",
    );
}

#[test]
fn other_providers() {
    use ErrorClass::*;
    let check = |status, kind, message, class, figures| {
        check(status, kind, "", message, class, figures);
    };
    check(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        Overflow,
        "1196265/-/1048575",
    );
    check(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", Auth, "");
    check(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota. * Quota exceeded for metric: requests, limit: 2 Please retry in 11s.",
        RateLimited,
        "",
    );
    check(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted", RateLimited, "");
    check(503, "UNAVAILABLE", "Try again later.", Overloaded, "");
    check(
        400,
        "",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        Overflow,
        "537812/-/131072",
    );
    check(400, INVALID, "Please reduce the length of the messages or completion.", Overflow, "");
    check(
        400,
        INVALID,
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        Overflow,
        "9000/-/8192",
    );
    check(
        413,
        "tokens",
        "Request too large for model `m` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Requested 8391, please reduce your message size",
        Overflow,
        "8391/-/8000",
    );
    check(
        400,
        "",
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, 10000 in the output). Please reduce the length of either one.",
        OutputOverflow,
        "130000/10000/131072",
    );
    check(
        400,
        "",
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (1 of text input, 2 of tool input, 3 in the output).",
        Overflow,
        "140000/-/131072",
    );
    check(402, "", "This request requires more credits, or fewer max_tokens.", Quota, "");
    check(
        400,
        INVALID,
        "the request exceeds the available context size, try increasing it",
        Overflow,
        "",
    );
    check(
        400,
        "exceed_context_size_error",
        "request (40069 tokens) exceeds the available context size (22016 tokens), try increasing it",
        Overflow,
        "40069/-/22016",
    );
    check(503, "unavailable_error", "Loading model", Overloaded, "");
    check(
        500,
        "server_error",
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        MediaTooLarge,
        "",
    );
    check(
        400,
        "",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5012>= n_ctx: 4096). Try to load the model with a larger context length",
        Overflow,
        "5012/-/4096",
    );
    check(
        400,
        "",
        "tokens to keep from the initial prompt is greater than the context length",
        Overflow,
        "",
    );
    check(
        400,
        "",
        "prompt too long; exceeded max context length by 4021 tokens",
        Overflow,
        "+4021",
    );
    check(404, "", "model \"m\" not found, try pulling it first", NotFound, "");
    check(
        400,
        "BadRequestError",
        "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 65536 tokens and your request has 52189 input tokens (16384 > 65536 - 52189). (parameter=max_tokens, value=16384)",
        OutputOverflow,
        "52189/16384/65536",
    );
    check(
        400,
        "BadRequestError",
        "This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains at least 3097 input tokens, for a total of at least 4097 tokens.",
        OutputOverflow,
        "3097/1000/4096",
    );
    check(
        400,
        "BadRequestError",
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
        Overflow,
        "5000/-/4096",
    );
    check(400, "", "At most 0 image(s) may be provided in one prompt.", MediaTooLarge, "");
    check(
        400,
        "",
        "Prompt contains 300000 tokens and 0 images too large for model with 262144 maximum context length",
        Overflow,
        "300000/-/262144",
    );
    check(
        400,
        "",
        "prompt token count of 130000 exceeds the limit of 128000",
        Overflow,
        "130000/-/128000",
    );
    check(400, "", "invalid params, context window exceeds limit (2013)", Overflow, "");
    check(
        400,
        "",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
        Overflow,
        "291351/-/262144",
    );
    check(400, "", "total message size 2306631 exceeds limit 2097152", RequestTooLarge, "");
    check(400, "", "Range of input length should be [1, 129024]", Overflow, "-/-/129024");
    check(
        400,
        "",
        "Input length (265330) exceeds model's maximum context length (262144).",
        Overflow,
        "265330/-/262144",
    );
    check(
        400,
        "",
        "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
        Overflow,
        "516368/-/262144",
    );
    check(
        400,
        "",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        OutputOverflow,
        "-/-/8192",
    );
    check(402, "unknown_error", "Insufficient Balance", Quota, "");
}
