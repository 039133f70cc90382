//! Parses a request of any wire format.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{gemini, responses};

/// Number of bytes that this server counts as one token.
const BYTES_PER_TOKEN: f64 = 3.6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// `/v1/messages`.
    Anthropic,
    /// `/v1/chat/completions`.
    OpenAi,
    /// `/v1/responses`.
    Responses,
    /// `/v1beta/models/MODEL:generateContent`, and other versions.
    Gemini,
}

/// The purpose of a request, recognized by its last instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Summary,
    Notes,
    /// Choosing memories that help with the user's message.
    Recall,
    Other,
}

#[derive(Clone, Debug)]
pub struct Ask {
    pub wire: Wire,
    pub model: String,
    pub stream: bool,
    /// A stream of Gemini is sent as one list instead of as events.
    pub as_list: bool,
    /// The stream ends with usage figures, which is optional in chat completions.
    pub usage_wanted: bool,
    /// The server keeps the answer, and later requests may name it.
    pub is_stored: bool,
    pub max_tokens: u64,
    /// In the format of the Messages API.
    pub messages: Vec<Value>,
    pub tools: Vec<Tool>,
    pub purpose: Purpose,
    /// The whole prompt in the order of a provider's cache: tools, system, messages.
    pub pieces: Pieces,
    /// The instruction that the purpose was recognized by.
    pub instruction: String,
}

#[derive(Clone, Debug)]
pub struct Tool {
    pub name: String,
    pub properties: Vec<String>,
}

/// The prompt as one text, with the position of the last cache breakpoint.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    pub text: String,
    pub marked: usize,
    /// End of the tools and the system prompt.
    pub head: usize,
    /// End of each message in `text`.
    pub ends: Vec<usize>,
}

impl Ask {
    pub fn read(wire: Wire, body: &Value) -> Ask {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let messages = match wire {
            Wire::Anthropic => list(&body["messages"]),
            Wire::OpenAi => from_chat(&list(&body["messages"])),
            Wire::Responses => responses::messages(&responses::items(&body["input"])),
            Wire::Gemini => gemini::messages(&body["contents"]),
        };
        let forbidden = matches!(&body["tool_choice"], Value::String(s) if s == "none")
            || body["tool_choice"]["type"] == "none";
        let tools = match wire {
            Wire::Gemini => gemini::tools(&body["tools"]),
            _ => list(&body["tools"]),
        };
        let offered = if forbidden { Vec::new() } else { tools.iter().flat_map(offered).collect() };
        let instruction = instruction(&messages);
        let limit = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        let limit = limit.map(|key| body[key].as_u64());
        let limit = limit.into_iter().chain([body["generationConfig"]["maxOutputTokens"].as_u64()]);
        let system = match wire {
            Wire::Responses => &body["instructions"],
            Wire::Gemini => &body["systemInstruction"]["parts"],
            Wire::Anthropic | Wire::OpenAi => &body["system"],
        };
        Ask {
            wire,
            model: body["model"].as_str().unwrap_or("").to_owned(),
            stream: body["stream"] == true,
            as_list: body["stream"] == "list",
            is_stored: wire == Wire::Responses && body["store"] != false,
            usage_wanted: wire != Wire::OpenAi || body["stream_options"]["include_usage"] == true,
            max_tokens: limit.flatten().next().unwrap_or(4096),
            purpose: purpose(&instruction),
            pieces: pieces(&tools, system, &messages),
            messages,
            tools: offered,
            instruction,
        }
    }

    /// Tokens of the prompt, as counted by this server.
    pub fn tokens(&self) -> u64 {
        tokens(self.pieces.text.len())
    }

    /// Returns the text before the instruction. The instruction may be in the same message.
    pub fn session(&self) -> Vec<Value> {
        let spoken = |m: &Value| m["role"] == "user" && !texts(m).is_empty();
        let Some(last) = self.messages.iter().rposition(spoken) else { return Vec::new() };
        let own =
            |block: &Value| block["text"].as_str().is_none_or(|text| text != self.instruction);
        let rest: Vec<Value> = blocks(&self.messages[last]).into_iter().filter(own).collect();
        let mut session = self.messages[..last].to_vec();
        if self.purpose != Purpose::Other && !rest.is_empty() {
            session.push(json!({"role": "user", "content": rest}));
        }
        session
    }
}

/// Converts a number of bytes to tokens.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as f64 / BYTES_PER_TOKEN).ceil() as u64
}

/// Returns the blocks of a message. A plain string is one text block.
pub fn blocks(message: &Value) -> Vec<Value> {
    bethink_harness::prompt::blocks(message)
}

/// Returns the texts of a message, without tool results.
pub fn texts(message: &Value) -> Vec<String> {
    let texts = blocks(message).into_iter().filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
}

/// Returns the user's last instruction: the last text block with a known purpose, or else the whole message.
fn instruction(messages: &[Value]) -> String {
    let spoken = messages.iter().rev().filter(|m| m["role"] == "user").map(texts);
    let Some(texts) = spoken.into_iter().find(|texts| !texts.is_empty()) else {
        return String::new();
    };
    let last = texts.last().cloned().unwrap_or_default();
    if purpose(&last) == Purpose::Other { texts.join("\n") } else { last }
}

fn purpose(text: &str) -> Purpose {
    if text.contains("<summary>") && text.contains("Primary Request and Intent") {
        return Purpose::Summary;
    }
    if text.contains("<user_said>") && text.contains("<notes>") {
        return Purpose::Recall;
    }
    let notes = text.contains("<notes>") || text.to_lowercase().contains("notes of this session");
    if notes && text.contains("Current State") { Purpose::Notes } else { Purpose::Other }
}

/// Returns the tools of a definition. A namespace of the Responses API has several, and comes before their names.
fn offered(definition: &Value) -> Vec<Tool> {
    if definition["type"] != "namespace" {
        return vec![tool(definition)];
    }
    let namespace = definition["name"].as_str().unwrap_or("");
    let inner = definition["tools"].as_array().into_iter().flatten().map(tool);
    inner.map(|tool| Tool { name: format!("{namespace}/{}", tool.name), ..tool }).collect()
}

fn tool(definition: &Value) -> Tool {
    let function = match &definition["function"] {
        Value::Null => definition,
        function => function,
    };
    let schema = match &function["input_schema"] {
        Value::Null if function["parametersJsonSchema"].is_object() => {
            &function["parametersJsonSchema"]
        }
        Value::Null => &function["parameters"],
        schema => schema,
    };
    let properties = schema["properties"].as_object();
    Tool {
        name: function["name"].as_str().unwrap_or("").to_owned(),
        properties: properties.map(|p| p.keys().cloned().collect()).unwrap_or_default(),
    }
}

fn pieces(tools: &[Value], system: &Value, messages: &[Value]) -> Pieces {
    let mut pieces = Pieces::default();
    let system = match system {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        other => other.as_array().cloned().unwrap_or_default(),
    };
    tools.iter().chain(&system).for_each(|block| pieces.push(block));
    pieces.head = pieces.text.len();
    for message in messages {
        pieces.text.push_str(message["role"].as_str().unwrap_or(""));
        blocks(message).iter().for_each(|block| pieces.push(block));
        pieces.ends.push(pieces.text.len());
    }
    pieces
}

impl Pieces {
    /// Removes cache breakpoints, which are not compared.
    fn push(&mut self, block: &Value) {
        let mut block = block.clone();
        let mark = block.as_object_mut().and_then(|fields| fields.remove("cache_control"));
        self.text.push_str(&block.to_string());
        if mark.is_some() {
            self.marked = self.text.len();
        }
    }
}

/// Converts messages of chat completions to the format of the Messages API. System messages stay in place.
fn from_chat(messages: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for message in messages {
        let (role, blocks) = match message["role"].as_str() {
            Some("tool") => ("user", vec![result(message)]),
            Some("assistant") => ("assistant", spoken(message)),
            Some("user") => ("user", said(&message["content"])),
            _ => ("system", said(&message["content"])),
        };
        match out.last_mut() {
            Some(last) if last["role"] == role => {
                if let Some(content) = last["content"].as_array_mut() {
                    content.extend(blocks);
                }
            }
            _ => out.push(json!({"role": role, "content": blocks})),
        }
    }
    out
}

fn result(message: &Value) -> Value {
    json!({"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]})
}

fn spoken(message: &Value) -> Vec<Value> {
    let mut blocks = said(&message["content"]);
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or("{}");
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        let name = &call["function"]["name"];
        blocks.push(json!({"type": "tool_use", "id": call["id"], "name": name, "input": input}));
    }
    blocks
}

fn said(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) if !text.is_empty() => vec![json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "Answer in <summary>:\n1. Primary Request and Intent";
    const NOTES: &str = "Bring the notes up to date.\n<notes>\n# Current State\n</notes>";

    fn check(messages: &Value, expect: Purpose) {
        let ask = Ask::read(Wire::Anthropic, &json!({"messages": messages}));
        assert_eq!(ask.purpose, expect, "{messages}");
    }

    #[test]
    fn the_purpose_is_that_of_the_last_instruction() {
        check(&json!([{"role": "user", "content": "hello"}]), Purpose::Other);
        check(&json!([{"role": "user", "content": SUMMARY}]), Purpose::Summary);
        check(&json!([{"role": "user", "content": NOTES}]), Purpose::Notes);
        let recall = "<notes>\nfog (project, today): Current State\n</notes>\n<user_said>\nfog?\n</user_said>";
        check(&json!([{"role": "user", "content": recall}]), Purpose::Recall);
        let both = json!([{"role": "user", "content": [
            {"type": "text", "text": SUMMARY}, {"type": "text", "text": NOTES}]}]);
        check(&both, Purpose::Notes);
        let after_calls = json!([{"role": "user", "content": NOTES},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "edit", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}]);
        check(&after_calls, Purpose::Notes);
    }

    #[test]
    fn chat_messages_take_the_other_shape() {
        let body = json!({"messages": [
            {"role": "system", "content": "be brief"}, {"role": "user", "content": "look"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "Read", "arguments": "{\"path\":\"a\"}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "text"},
            {"role": "user", "content": "and now"}]});
        let ask = Ask::read(Wire::OpenAi, &body);
        let roles: Vec<_> = ask.messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"]);
        assert_eq!(ask.messages[2]["content"][0]["input"]["path"], "a");
        assert_eq!(ask.messages[3]["content"][0]["tool_use_id"], "c");
        assert_eq!(ask.session().len(), 3);
    }

    #[test]
    fn tools_in_a_namespace_are_offered_with_its_name() {
        let inner = json!({"type": "function", "name": "recall", "parameters": {"properties": {"query": {}}}});
        let tools = json!([{"type": "namespace", "name": "mcp__bethink", "tools": [inner]}]);
        let ask = Ask::read(Wire::Responses, &json!({"input": "hi", "tools": tools}));
        assert_eq!(ask.tools[0].name, "mcp__bethink/recall");
        assert_eq!(ask.tools[0].properties, ["query"]);
    }

    #[test]
    fn a_breakpoint_changes_no_byte_of_what_is_compared() {
        let message = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
        let bare = Ask::read(Wire::Anthropic, &message(json!({"type": "text", "text": "a"})));
        let marked = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
        let marked = Ask::read(Wire::Anthropic, &message(marked));
        assert_eq!(bare.pieces.text, marked.pieces.text);
        assert_eq!((bare.pieces.marked, marked.pieces.marked), (0, bare.pieces.text.len()));
    }
}
