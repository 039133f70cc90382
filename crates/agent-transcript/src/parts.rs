//! Messages in the shape of Gemini's API: `parts` with texts, calls and responses.

use serde_json::Value;

use crate::blocks::{self, filled, list, plain, string};
use crate::harness::is_from_program;
use crate::lines::{Compacted, Said, SessionLines, Speaker};

/// The answer that the agents' programs write in the model's name after a summary.
const ACKNOWLEDGED: &str = "Got it. Thanks for the additional context!";

/// Beginning of the line with the exit code in a shell call's output.
const EXIT: &str = "Exit Code:";

/// Converts parts to blocks. A string becomes one text block. Thoughts are left out.
pub(crate) fn blocks_of(content: &Value) -> Vec<Value> {
    if let Value::String(text) = content {
        return blocks::text(text).into_iter().collect();
    }
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(block).collect()
}

fn block(part: &Value) -> Option<Value> {
    if part.get("thought").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    if let Some(call) = part.get("functionCall") {
        let id = filled(call, "/id").or(filled(call, "/name"))?;
        let input = call.get("args").unwrap_or(&Value::Null);
        return Some(blocks::call(id, string(call, "/name"), input));
    }
    if let Some(response) = part.get("functionResponse") {
        return Some(response_block(response, false));
    }
    if let Some(data) = filled(part, "/inlineData/data") {
        return Some(blocks::inline_image(string(part, "/inlineData/mimeType"), data));
    }
    blocks::text(string(part, "/text"))
}

fn response_block(response: &Value, is_error: bool) -> Value {
    let id = filled(response, "/id").unwrap_or(string(response, "/name"));
    let answer = response.get("response").unwrap_or(&Value::Null);
    let error = answer.get("error").filter(|error| !error.is_null());
    let said = plain(answer.get("output").or(error).unwrap_or(answer));
    let code = said.lines().find_map(|line| line.strip_prefix(EXIT));
    let failed = error.is_some() || code.is_some_and(|code| code.trim() != "0");
    blocks::result(id, &said, is_error || failed)
}

/// Returns the results in a list of parts.
pub(crate) fn results_of(parts: &[Value], is_error: bool) -> Vec<Value> {
    let responses = parts.iter().filter_map(|part| part.get("functionResponse"));
    responses.map(|response| response_block(response, is_error)).collect()
}

/// Returns whether a program wrote these blocks in the user's name.
pub(crate) fn is_program(blocks: &[Value]) -> bool {
    blocks.first().is_some_and(|first| is_from_program(string(first, "/text")))
}

/// Writes a compaction. The history that replaces the earlier one consists of a summary, its acknowledgement, and the
/// messages that were kept.
pub(crate) fn compaction(
    id: &str,
    tokens_before: u64,
    history: &[Value],
    parts: &str,
    lines: &mut SessionLines,
) {
    let blocks = |message: &Value| blocks_of(message.get(parts).unwrap_or(&Value::Null));
    let mut said = history.iter().map(|message| (message, blocks(message)));
    let Some((_, summary)) = said.find(|(_, blocks)| !is_program(blocks)) else { return };
    let summary = plain(&Value::Array(summary));
    let kept =
        said.find(|(_, blocks)| blocks.iter().all(|one| string(one, "/text") != ACKNOWLEDGED));
    let kept_from = kept.and_then(|(message, blocks)| {
        let is_user = ["/type", "/role"].iter().any(|name| string(message, name) == "user");
        let speaker = if is_user { Speaker::User } else { Speaker::Assistant };
        lines.id_of_content(speaker, &blocks)
    });
    let (summary, kept_from) = (&*summary, kept_from.as_deref());
    lines.compaction(&Compacted { id, tokens_before, summary, kept_from, is_manual: false });
}

/// Returns usage in the shape of the Messages API.
pub(crate) fn usage(prompt: u64, cached: u64, output: u64) -> Value {
    serde_json::json!({
        "input_tokens": prompt.saturating_sub(cached), "cache_read_input_tokens": cached, "output_tokens": output,
    })
}

/// Writes a message from the user, or from a program in the user's name.
pub(crate) fn user(id: &str, blocks: Vec<Value>, is_program: bool, lines: &mut SessionLines) {
    let speaker = if is_program { Speaker::Program } else { Speaker::User };
    lines.message(speaker, Said { id, blocks, ..Said::default() });
}

/// Returns the parts of a message whose shape is `{"parts": […]}`.
pub(crate) fn parts_of(message: &Value) -> &[Value] {
    list(message, "/parts")
}
