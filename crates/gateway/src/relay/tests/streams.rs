//! Makes valid and unusual streams from a seed, with the answer that they contain.

use bethink_harness::Rng;
use serde_json::{Value, json};

use bethink_model_http::WireFormat;

/// Texts with characters of every length, escapes, and text that looks like framing.
const TEXTS: [&str; 8] =
    ["hi", "é中😀", "a\"b\\c", "line\nline", "data: x\n\n", "\u{7f}\t", " ", "tail\r"];

pub(super) struct Stream {
    pub(super) wire: WireFormat,
    pub(super) bytes: Vec<u8>,
    /// The content in the format of the Messages API.
    pub(super) content: Value,
}

/// The format of events.
struct Framing {
    line: &'static str,
    space: &'static str,
    mark: bool,
    noise: bool,
}

pub(super) fn generate(seed: u64) -> Stream {
    let rng = &mut Rng::new(seed);
    let framing = Framing {
        line: ["\n", "\n", "\r\n", "\r"][rng.below(4)],
        space: [" ", " ", ""][rng.below(3)],
        mark: rng.one_in(4),
        noise: rng.one_in(2),
    };
    let (wire, events, content) = match rng.below(4) {
        0 => openai(rng),
        1 => responses(rng),
        _ => anthropic(rng),
    };
    Stream { wire, bytes: framing.write(&events, rng), content }
}

impl Framing {
    /// Writes events, each with a name, which may be empty, and data.
    fn write(&self, events: &[(String, String)], rng: &mut Rng) -> Vec<u8> {
        let (line, space) = (self.line, self.space);
        let mut out = if self.mark { "\u{feff}".to_owned() } else { String::new() };
        for (name, data) in events {
            if self.noise && rng.one_in(3) {
                out += *rng.pick(&[":", ": keep-alive", "retry: 5", "x: y"]);
                out += line;
                out += if rng.one_in(2) { line } else { "" };
            }
            if !name.is_empty() {
                out += &format!("event:{space}{name}{line}");
            }
            // White space outside of strings may change.
            let parts = if self.noise && rng.one_in(4) {
                data.replacen('{', "{\n", 1)
            } else {
                data.clone()
            };
            for part in parts.split('\n') {
                out += &format!("data:{space}{part}{line}");
            }
            out += line;
        }
        out.into_bytes()
    }
}

fn text(rng: &mut Rng) -> String {
    (0..1 + rng.below(2)).map(|_| *rng.pick(&TEXTS)).collect()
}

/// Splits text into deltas, some of which have escapes.
fn pieces(text: &str, rng: &mut Rng) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(3 + rng.below(14)).map(|piece| piece.iter().collect()).collect()
}

fn anthropic(rng: &mut Rng) -> (WireFormat, Vec<(String, String)>, Value) {
    let mut events = Vec::new();
    let mut push = |data: Value| {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        events.push((name, data.to_string()));
    };
    push(json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
        "role": "assistant", "model": "big", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 9, "output_tokens": 1}}}));
    let mut content = Vec::new();
    for index in 0..1 + rng.below(2) {
        let (start, deltas, block) = block(index, rng);
        push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            match rng.below(6) {
                0 => push(json!({"type": "ping"})),
                1 => push(json!({"type": "vendor_news", "mood": [null, {"a": 1}]})),
                _ => {}
            }
        }
        push(json!({"type": "content_block_stop", "index": index}));
        content.push(block);
    }
    push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "vendor": 1},
        "usage": {"output_tokens": 12}}));
    push(json!({"type": "message_stop"}));
    (WireFormat::Messages, events, json!(content))
}

/// Returns a random block: its start event, its deltas, and the complete block.
fn block(index: usize, rng: &mut Rng) -> (Value, Vec<Value>, Value) {
    let (said, signed) = (text(rng), format!("sig+/={}==", rng.draw()));
    let deltas = |kind: &str, member: &str, text: &str, rng: &mut Rng| -> Vec<Value> {
        pieces(text, rng).into_iter().map(|piece| json!({"type": kind, member: piece})).collect()
    };
    match rng.below(5) {
        0 => {
            let mut all = deltas("thinking_delta", "thinking", &said, rng);
            all.push(json!({"type": "signature_delta", "signature": signed}));
            let start = json!({"type": "thinking", "thinking": "", "signature": ""});
            (start, all, json!({"type": "thinking", "thinking": said, "signature": signed}))
        }
        1 => {
            let input = json!({"path": said, "n": [1, {"deep": null}]});
            let id = format!("toolu_{index}");
            let all = deltas("input_json_delta", "partial_json", &input.to_string(), rng);
            let start = json!({"type": "tool_use", "id": id, "name": "Read", "input": {}});
            (start, all, json!({"type": "tool_use", "id": id, "name": "Read", "input": input}))
        }
        2 => {
            let whole = json!({"type": "redacted_thinking", "data": signed});
            (whole.clone(), Vec::new(), whole)
        }
        3 => {
            let whole = json!({"type": "advisor", "mood": [said, 7]});
            (whole.clone(), Vec::new(), whole)
        }
        _ => {
            let mut all = deltas("text_delta", "text", &said, rng);
            let citation = json!({"type": "char_location", "cited_text": signed});
            all.push(json!({"type": "citations_delta", "citation": citation}));
            let start = json!({"type": "text", "text": "", "citations": []});
            (start, all, json!({"type": "text", "text": said, "citations": [citation]}))
        }
    }
}

fn openai(rng: &mut Rng) -> (WireFormat, Vec<(String, String)>, Value) {
    let mut events = Vec::new();
    let mut push = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let data = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "big",
            "choices": [choice], "x_unknown": {"a": []}});
        events.push((String::new(), data.to_string()));
    };
    push(json!({"role": "assistant", "content": ""}), Value::Null);
    let mut content = Vec::new();
    if !rng.one_in(3) {
        let said = text(rng);
        pieces(&said, rng)
            .into_iter()
            .for_each(|piece| push(json!({"content": piece}), Value::Null));
        content.push(json!({"type": "text", "text": said}));
    }
    let calls = rng.below(3);
    for index in 0..calls {
        let (id, input) = (format!("call_{index}"), json!({"path": text(rng)}));
        let function = json!({"name": "Read", "arguments": ""});
        let call = |piece: Value| json!({"tool_calls": [piece]});
        push(
            call(json!({"index": index, "id": id, "type": "function", "function": function})),
            Value::Null,
        );
        for piece in pieces(&input.to_string(), rng) {
            push(call(json!({"index": index, "function": {"arguments": piece}})), Value::Null);
        }
        content.push(json!({"type": "tool_use", "id": id, "name": "Read", "input": input}));
    }
    push(json!({}), json!(if calls > 0 { "tool_calls" } else { "stop" }));
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 3});
    events.push((
        String::new(),
        json!({"id": "chatcmpl-1", "choices": [], "usage": usage}).to_string(),
    ));
    events.push((String::new(), "[DONE]".to_owned()));
    (WireFormat::ChatCompletions, events, json!(content))
}

fn responses(rng: &mut Rng) -> (WireFormat, Vec<(String, String)>, Value) {
    let (mut events, mut content, mut output) = (Vec::new(), Vec::new(), Vec::new());
    let mut push = |data: Value| {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        events.push((name, data.to_string()));
    };
    let begun = json!({"id": "resp_1", "status": "in_progress", "model": "big", "output": []});
    push(json!({"type": "response.created", "response": begun}));
    for index in 0..1 + rng.below(3) {
        let said = text(rng);
        let (item, block) = match rng.below(3) {
            0 => {
                let item = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": said});
                (item.clone(), item)
            }
            1 => (
                json!({"type": "function_call", "id": "fc", "call_id": format!("c{index}"), "name": "Read",
                    "arguments": json!({"path": said}).to_string()}),
                json!({"type": "tool_use", "id": format!("c{index}"), "name": "Read", "input": {"path": said}}),
            ),
            _ => (
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}),
                json!({"type": "text", "text": said}),
            ),
        };
        for piece in pieces(&said, rng) {
            push(
                json!({"type": "response.vendor_news.delta", "output_index": index, "delta": piece}),
            );
        }
        push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
        content.push(block);
        output.push(item);
    }
    let output = if rng.one_in(2) { output } else { Vec::new() };
    push(
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "model": "big",
        "output": output, "usage": {"input_tokens": 5, "output_tokens": 3}}}),
    );
    (WireFormat::Responses, events, json!(content))
}
