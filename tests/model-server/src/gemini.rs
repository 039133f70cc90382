//! Gemini's `generateContent`: its contents, a JSON answer, and its chunks.

use serde_json::{Value, json};

use crate::answer::{Answer, Content, Stop, Usage};
use crate::ask::Ask;
use crate::http::Incoming;
use crate::payload::{Events, Payload, cut};

/// Versions with which a path may begin.
const VERSIONS: [&str; 3] = ["/v1beta", "/v1alpha", "/v1"];

/// A call of a model's method.
pub(crate) struct ModelCall<'a> {
    model: &'a str,
    pub(crate) method: &'a str,
    query: &'a str,
}

impl<'a> ModelCall<'a> {
    /// Reads `/VERSION/models/MODEL:METHOD`.
    pub(crate) fn of(incoming: &'a Incoming) -> Option<Self> {
        let (version, rest) = incoming.path.split_once("/models/")?;
        let (model, method) = rest.split_once(':').filter(|_| VERSIONS.contains(&version))?;
        Some(Self { model, method, query: &incoming.query })
    }

    pub(crate) fn generates(&self) -> bool {
        matches!(self.method, "generateContent" | "streamGenerateContent")
    }

    /// Adds what the path says: the model, and how the answer is sent.
    pub(crate) fn describe(&self, body: &mut Value) {
        let has_events = self.query.split('&').any(|pair| pair == "alt=sse");
        body["model"] = json!(self.model);
        body["stream"] = match (self.method, has_events) {
            ("streamGenerateContent", true) => json!(true),
            ("streamGenerateContent", false) => json!("list"),
            _ => json!(false),
        };
    }
}

/// Answers a request that does not ask a model for content.
pub(crate) fn other(incoming: &Incoming, tokens: u64) -> Option<Payload> {
    let vector = json!({"values": [0.5, -0.5]});
    let model = |name: &str| json!({"name": format!("models/{name}"), "inputTokenLimit": 1000});
    let body = match ModelCall::of(incoming).map(|call| call.method) {
        Some("countTokens") => json!({"totalTokens": tokens}),
        Some("embedContent") => json!({"embedding": vector}),
        Some("batchEmbedContents") => json!({"embeddings": [vector]}),
        Some(_) => return None,
        None => match incoming.path.strip_prefix("/v1beta/models")? {
            "" => json!({"models": [model("scripted-1")]}),
            path => model(path.strip_prefix('/')?),
        },
    };
    Some(Payload::json(200, &body))
}

/// Returns the tools: each element may declare several functions.
pub(crate) fn tools(tools: &Value) -> Vec<Value> {
    let declared = tools.as_array().into_iter().flatten();
    let declared = declared.filter_map(|tool| tool["functionDeclarations"].as_array());
    declared.flatten().cloned().collect()
}

/// Converts contents to the format of the Messages API. Calls are joined to responses by their order.
pub(crate) fn messages(contents: &Value) -> Vec<Value> {
    let (mut out, mut open) = (Vec::new(), Vec::new());
    for (i, content) in contents.as_array().into_iter().flatten().enumerate() {
        let is_answer = content["role"] == "model";
        let mut blocks = Vec::new();
        for (j, part) in parts(content).iter().enumerate() {
            blocks.push(if part["functionCall"].is_object() {
                let (id, call) = (format!("{i}_{j}"), &part["functionCall"]);
                open.push(id.clone());
                json!({"type": "tool_use", "id": id, "name": call["name"], "input": call["args"]})
            } else if part["functionResponse"].is_object() {
                let id = if open.is_empty() { String::new() } else { open.remove(0) };
                let output = part["functionResponse"]["response"].to_string();
                json!({"type": "tool_result", "tool_use_id": id, "content": output})
            } else if part["text"].is_string() {
                json!({"type": "text", "text": part["text"]})
            } else {
                part.clone()
            });
        }
        let role = if is_answer { "assistant" } else { "user" };
        out.push(json!({"role": role, "content": blocks}));
    }
    out
}

fn parts(content: &Value) -> Vec<Value> {
    content["parts"].as_array().cloned().unwrap_or_default()
}

/// Checks the rules of the documentation: calls follow a user's turn or responses, responses follow their calls and are
/// as many, and in the current turn the first call of each step has its signature if any call has one.
pub(crate) fn faults(contents: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let none = Vec::new();
    let contents = contents.as_array().unwrap_or(&none);
    let count = |content: &Value, kind: &str| {
        parts(content).iter().filter(|part| part[kind].is_object()).count()
    };
    let is_model = |content: &Value| content["role"] == "model";
    for (i, content) in contents.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|before| contents.get(before));
        if !matches!(content["role"].as_str(), None | Some("user" | "model" | "function")) {
            out.push(format!("Please use a valid role: user, model. ({i})"));
        }
        if parts(content).is_empty() {
            out.push(format!("contents[{i}].parts must not be empty."));
        }
        if count(content, "functionCall") > 0 && before.is_none_or(is_model) {
            out.push(format!("Please ensure that function call turn comes immediately after a user turn or after a function response turn. ({i})"));
        }
        let called = before.map_or(0, |before| count(before, "functionCall"));
        let answered = count(content, "functionResponse");
        if answered > 0 && called == 0 {
            out.push(format!("Please ensure that function response turn comes immediately after a function call turn. ({i})"));
        }
        if called != answered && called + answered > 0 && called > 0 {
            out.push(format!("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn. ({i})"));
        }
    }
    if contents.first().is_some_and(is_model) {
        out.push("the first content is not the user's".to_owned());
    }
    if contents.last().is_none_or(is_model) {
        out.push("the last content is not the user's".to_owned());
    }
    let starts = |content: &Value| {
        !is_model(content) && parts(content).iter().any(|part| part["text"].is_string())
    };
    let current = contents.iter().rposition(starts).unwrap_or(0);
    let steps = contents.iter().skip(current).filter(|content| count(content, "functionCall") > 0);
    let signed = |content: &Value| {
        let first = parts(content).into_iter().find(|part| part["functionCall"].is_object());
        first.is_some_and(|part| part["thoughtSignature"].is_string())
    };
    let steps: Vec<bool> = steps.map(signed).collect();
    if steps.contains(&true) && steps.contains(&false) {
        out.push("Function call is missing a thought_signature in functionCall parts.".to_owned());
    }
    out
}

/// Returns the parts of an answer. A signature is sent with the first call, or in an empty text after a text.
fn answer_parts(answer: &Answer) -> Vec<Value> {
    let (mut parts, mut signature) = (Vec::new(), None);
    for content in &answer.content {
        match content {
            Content::Thinking { text, signature: signed } => {
                parts.push(json!({"text": text, "thought": true}));
                signature = Some(signed.clone());
            }
            Content::Text(text) => parts.push(json!({"text": text})),
            Content::Call { name, arguments, .. } => {
                let args: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                let mut part = json!({"functionCall": {"name": name, "args": args}});
                if let Some(signature) = signature.take() {
                    part["thoughtSignature"] = json!(signature);
                }
                parts.push(part);
            }
        }
    }
    parts.extend(signature.map(|signed| json!({"text": "", "thoughtSignature": signed})));
    parts
}

fn chunk(asked: &Ask, request: &str, parts: &[Value]) -> Value {
    let content = json!({"parts": parts, "role": "model"});
    json!({"candidates": [{"content": content, "index": 0}], "modelVersion": asked.model, "responseId": request})
}

fn finished(mut chunk: Value, answer: &Answer) -> Value {
    chunk["candidates"][0]["finishReason"] = json!(match answer.stop {
        Stop::EndTurn | Stop::ToolUse => "STOP",
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    });
    if let Some(figures) = &answer.usage {
        chunk["usageMetadata"] = usage(figures);
    }
    chunk
}

/// Returns the whole answer: one response, or the list of its chunks.
pub(crate) fn whole(asked: &Ask, answer: &Answer, request: &str) -> Value {
    match asked.as_list {
        true => json!(chunks(asked, answer, request)),
        false => finished(chunk(asked, request, &answer_parts(answer)), answer),
    }
}

/// Returns the chunks of an answer. Texts come in pieces, calls whole.
fn chunks(asked: &Ask, answer: &Answer, request: &str) -> Vec<Value> {
    let mut out = Vec::new();
    for part in answer_parts(answer) {
        match part["text"].as_str().filter(|text| !text.is_empty()) {
            Some(text) => {
                for piece in cut(text) {
                    let mut piece = json!({"text": piece});
                    if part["thought"] == true {
                        piece["thought"] = json!(true);
                    }
                    out.push(chunk(asked, request, &[piece]));
                }
            }
            None => out.push(chunk(asked, request, &[part])),
        }
    }
    out.push(finished(chunk(asked, request, &[json!({"text": ""})]), answer));
    out
}

pub(crate) fn events(asked: &Ask, answer: &Answer, request: &str) -> Events {
    let mut chunks = chunks(asked, answer, request);
    let last = chunks.pop();
    let body = chunks.iter().map(event).collect();
    Events { body, end: last.iter().map(event).collect(), ..Events::default() }
}

pub(crate) fn more(text: &str) -> String {
    event(&json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}]}))
}

/// Google's servers end each event with two line ends of this kind.
pub(crate) fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

/// The prompt's tokens include cached ones. Figures of 0 are left out.
fn usage(figures: &Usage) -> Value {
    let prompt = figures.input.saturating_add(figures.read).saturating_add(figures.written);
    let mut usage = json!({"promptTokenCount": prompt, "candidatesTokenCount": figures.output,
        "totalTokenCount": prompt.saturating_add(figures.output)});
    if figures.read != 0 {
        usage["cachedContentTokenCount"] = json!(figures.read);
    }
    usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_contents_are_checked() {
        let content = |role: &str, part: Value| json!({"role": role, "parts": [part]});
        let user = content("user", json!({"text": "hi"}));
        let call = content("model", json!({"functionCall": {"name": "R", "args": {}}}));
        let response = content("user", json!({"functionResponse": {"name": "R", "response": {}}}));
        let mut signed = call.clone();
        signed["parts"][0]["thoughtSignature"] = json!("c2ln");
        for (contents, expect) in [
            (vec![&user], ""),
            (vec![&user, &call, &response], ""),
            (vec![&user, &signed, &response, &signed, &response], ""),
            (vec![&user, &call, &response, &user, &signed, &response], ""),
            (vec![&user, &signed, &response, &call, &response], "missing a thought_signature"),
            (vec![&user, &call], "last content"),
            (vec![&user, &call, &user], "the number of function response parts"),
            (vec![&user, &response], "after a function call turn"),
            (vec![&call, &response], "after a user turn"),
            (vec![], "last content"),
        ] {
            let found = faults(&json!(contents));
            let fits = match expect {
                "" => found.is_empty(),
                _ => found.iter().any(|fault| fault.contains(expect)),
            };
            assert!(fits, "{expect:?}: {found:?}");
        }
    }
}
