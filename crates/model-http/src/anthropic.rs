//! Anthropic's Messages API.

mod parameters;
mod stream;

use bethink_model::{ModelRequest, Reply, Stop};
use bethink_transcript::json::{decode_string, encode_string};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer;
use crate::dialect::{AnswerFormat, Dialect, ReplyMeta, WireRequest, read_answer};
use crate::trouble::ProviderTrouble;
use bethink_sse::SseEvent;
use stream::Events;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AnthropicDialect;

impl Dialect for AnthropicDialect {
    /// The newest version of the API. Newer features are requested with beta headers.
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];
    const SENDS_THINKING: bool = true;

    fn call(&self, request: &ModelRequest, streamed: bool) -> Result<WireRequest, ProviderTrouble> {
        let body = body(request, Some(request.max_tokens), streamed);
        let betas = request.form.betas.clone();
        Ok(WireRequest { route: "messages", body, streamed, betas })
    }

    fn count(&self, request: &ModelRequest) -> Option<WireRequest> {
        let body = body(request, None, false);
        let betas = request.form.betas.clone();
        Some(WireRequest { route: "messages/count_tokens", body, streamed: false, betas })
    }
}

impl AnswerFormat for AnthropicDialect {
    type Stream = Events;

    fn read_whole(&self, json: &str) -> Result<Reply, ProviderTrouble> {
        let whole: WholeMessage = read_answer(json, "the answer")?;
        let mut meta = ReplyMeta::default();
        whole.fill(&mut meta);
        let content =
            whole.content.ok_or_else(|| ProviderTrouble::broken("the answer has no content"))?;
        Ok(meta.reply(answer::blocks(content.get())?, stop(whole.stop_reason.as_deref())?))
    }

    fn is_last(&self, event: &SseEvent) -> bool {
        event.kind == "message_stop"
    }
}

/// A whole message, or the message in a `message_start` event.
#[derive(Deserialize)]
struct WholeMessage {
    id: Option<Box<RawValue>>,
    model: Option<Box<RawValue>>,
    content: Option<Box<RawValue>>,
    stop_reason: Option<Box<RawValue>>,
    usage: Option<Box<RawValue>>,
}

impl WholeMessage {
    fn fill(&self, meta: &mut ReplyMeta) {
        meta.id = text(self.id.as_deref());
        meta.model = text(self.model.as_deref());
        meta.tally.take_anthropic(self.usage.as_deref());
    }
}

/// Assembles the body from existing bytes, so that equal requests have equal bodies, and a longer prompt begins with
/// the bytes of a shorter prompt.
fn body(request: &ModelRequest, max_tokens: Option<u64>, streamed: bool) -> Vec<u8> {
    let messages = request.messages_json();
    let room = request.system.len() + request.tools.len() + messages.len() + 200;
    let mut body = Vec::with_capacity(room + request.model.len());
    body.extend_from_slice(b"{\"model\":");
    body.extend_from_slice(encode_string(&request.model).as_bytes());
    if let Some(max_tokens) = max_tokens {
        body.extend_from_slice(format!(",\"max_tokens\":{max_tokens}").as_bytes());
    }
    for (name, value) in [("system", &request.system), ("tools", &request.tools)] {
        if !is_empty_array(value) {
            body.extend_from_slice(format!(",\"{name}\":").as_bytes());
            body.extend_from_slice(value);
        }
    }
    parameters::write(&request.form.parameters, max_tokens, &mut body);
    body.extend_from_slice(b",\"messages\":");
    body.extend_from_slice(&messages);
    body.extend_from_slice(if streamed { b",\"stream\":true}" } else { b"}" });
    body
}

fn is_empty_array(json: &[u8]) -> bool {
    json.iter().filter(|b| !b.is_ascii_whitespace()).take(3).eq(b"[]")
        || json.iter().all(u8::is_ascii_whitespace)
}

fn text(raw: Option<&RawValue>) -> String {
    let raw = raw.map(RawValue::get).filter(|raw| raw.starts_with('"'));
    raw.map_or_else(String::new, |raw| decode_string(raw).into_owned())
}

/// Reads the stop reason. An answer without a stop reason may have been cut off, so it is rejected.
fn stop(raw: Option<&RawValue>) -> Result<Stop, ProviderTrouble> {
    match text(raw).as_str() {
        "" => Err(ProviderTrouble::broken("the answer has no stop_reason")),
        name => Ok(Stop::parse(name)),
    }
}

#[cfg(test)]
mod tests;
