use bethink_model::Stop;
use serde_json::{Value, json};

use super::*;

fn blocks(item: &Value) -> Vec<Value> {
    let raw = item.to_string();
    let read = ResponseItem::read(&raw).unwrap_or_else(|| panic!("unreadable: {raw}"));
    let blocks = read.blocks().unwrap_or_else(|| panic!("no blocks: {raw}"));
    blocks.iter().map(|block| serde_json::from_str(block).unwrap()).collect()
}

fn written(role: &str, blocks: &[Value]) -> Vec<Value> {
    let blocks: Vec<String> = blocks.iter().map(ToString::to_string).collect();
    let items = items_of_blocks(role, blocks.iter().map(String::as_str)).unwrap();
    items.iter().map(|item| serde_json::from_str(item).unwrap()).collect()
}

#[test]
fn every_item_has_a_speaker() {
    for (item, expect) in [
        (json!({"role": "developer", "content": "x"}), ItemSpeaker::Instructions),
        (json!({"role": "user", "content": "x"}), ItemSpeaker::User),
        (json!({"type": "message", "role": "assistant", "content": []}), ItemSpeaker::Assistant),
        (json!({"type": "reasoning", "summary": []}), ItemSpeaker::Assistant),
        (json!({"type": "function_call", "call_id": "c"}), ItemSpeaker::Assistant),
        (json!({"type": "function_call_output", "call_id": "c"}), ItemSpeaker::ToolResult),
        (json!({"type": "future_call_output", "call_id": "c"}), ItemSpeaker::ToolResult),
        (
            json!({"type": "tool_search_output", "call_id": "c", "execution": "server"}),
            ItemSpeaker::Assistant,
        ),
        (
            json!({"type": "mcp_approval_response", "approval_request_id": "r"}),
            ItemSpeaker::ToolResult,
        ),
        (json!({"type": "program_output"}), ItemSpeaker::Assistant),
        (json!({"type": "compaction", "encrypted_content": "x"}), ItemSpeaker::Assistant),
        (json!({"type": "additional_tools", "tools": []}), ItemSpeaker::Setting),
        (json!({"type": "never_heard_of"}), ItemSpeaker::Assistant),
    ] {
        assert_eq!(ResponseItem::read(&item.to_string()).unwrap().speaker(), expect, "{item}");
    }
    for odd in [json!(7), json!("x"), json!({}), json!({"role": "robot", "content": "x"})] {
        assert!(ResponseItem::read(&odd.to_string()).is_none(), "{odd}");
    }
}

/// The blocks of an item, and the item that is written from them.
#[test]
fn items_become_blocks_and_items_again() {
    let user = |content: Value| json!({"type": "message", "role": "user", "content": content});
    for (role, item, block, again) in [
        (
            "user",
            user(
                json!([{"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"ttl": "1h"}}]),
            ),
            json!({"type": "text", "text": "hi", "cache_control": {"ttl": "1h"}}),
            None,
        ),
        (
            "user",
            user(json!([{"type": "input_image", "image_url": "data:image/png;base64,AA"}])),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}),
            None,
        ),
        (
            "user",
            user(json!([{"type": "input_file", "file_id": "f"}])),
            json!({"type": "input_file", "file_id": "f"}),
            None,
        ),
        (
            "assistant",
            json!({"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "c", "name": "R", "arguments": "{\"a\": 1}", "namespace": "n"}),
            json!({"type": "tool_use", "id": "c", "name": "R", "input": {"a": 1}, "item": {"namespace": "n"}}),
            Some(
                json!({"type": "function_call", "call_id": "c", "name": "R", "arguments": "{\"a\":1}", "namespace": "n"}),
            ),
        ),
        (
            "assistant",
            json!({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"}),
            json!({"type": "tool_use", "id": "c", "name": "apply_patch", "input": {"input": "*** Begin"}, "item": {"type": "custom_tool_call"}}),
            None,
        ),
        (
            "assistant",
            json!({"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}),
            json!({"type": "tool_use", "id": "c", "name": "local_shell", "input": {"type": "exec", "command": ["ls"]},
                "item": {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"]}}}),
            None,
        ),
        (
            "user",
            json!({"type": "custom_tool_call_output", "call_id": "c", "output": "done"}),
            json!({"type": "tool_result", "tool_use_id": "c", "content": "done", "item": {"type": "custom_tool_call_output"}}),
            None,
        ),
        (
            "user",
            json!({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}]}),
            json!({"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "x"}]}),
            None,
        ),
        (
            "user",
            json!({"type": "shell_call_output", "call_id": "c", "max_output_length": 5, "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}),
            json!({"type": "tool_result", "tool_use_id": "c",
                "content": "[{\"outcome\":{\"exit_code\":0,\"type\":\"exit\"},\"stderr\":\"\",\"stdout\":\"a\"}]",
                "item": {"type": "shell_call_output", "call_id": "c", "max_output_length": 5, "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}}),
            None,
        ),
        (
            "user",
            json!({"type": "mcp_approval_response", "approval_request_id": "r", "approve": true}),
            json!({"type": "tool_result", "tool_use_id": "r", "content": "", "item": {"type": "mcp_approval_response", "approval_request_id": "r", "approve": true}}),
            None,
        ),
        (
            "assistant",
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}),
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}),
            Some(json!({"type": "reasoning", "summary": [], "encrypted_content": "e"})),
        ),
        (
            "assistant",
            json!({"type": "never_heard_of", "x": [1]}),
            json!({"type": "never_heard_of", "x": [1]}),
            None,
        ),
    ] {
        let found = blocks(&item);
        assert_eq!(found, [block], "{item}");
        assert_eq!(written(role, &found), [again.unwrap_or(item)]);
    }
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": null});
    assert_eq!(written("assistant", &[bare]), Vec::<Value>::new());
}

#[test]
fn a_shorter_output_keeps_the_rest_of_its_item() {
    let block = json!({"type": "tool_result", "tool_use_id": "c", "content": "short"}).to_string();
    let shorter = |item: &Value| with_output(&item.to_string(), &block);
    let item = json!({"type": "function_call_output", "id": "x", "call_id": "c", "output": "long", "status": "completed"});
    let found: Value = serde_json::from_str(&shorter(&item).unwrap()).unwrap();
    assert_eq!(
        found,
        json!({"type": "function_call_output", "id": "x", "call_id": "c", "output": "short", "status": "completed"})
    );
    let renamed =
        json!({"type": "function_call_output", "call_id": "used twice", "output": "long"});
    let found: Value = serde_json::from_str(&shorter(&renamed).unwrap()).unwrap();
    assert_eq!((&found["call_id"], &found["output"]), (&json!("c"), &json!("short")));
    let shell = json!({"type": "shell_call_output", "call_id": "c", "output": [
        {"stdout": "long", "stderr": "long", "outcome": {"type": "exit", "exit_code": 1}}]});
    let found: Value = serde_json::from_str(&shorter(&shell).unwrap()).unwrap();
    assert_eq!(
        found["output"],
        json!([{"stdout": "short", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}])
    );
    let screen = json!({"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}});
    assert_eq!(shorter(&screen), None);
    let marked = json!({"type": "tool_result", "tool_use_id": "c", "content": "short", "cache_control": {"ttl": "1h"}});
    let found = with_output(&item.to_string(), &marked.to_string()).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(
        found["output"],
        json!([{"type": "input_text", "text": "short", "prompt_cache_breakpoint": {"ttl": "1h"}}])
    );
}

fn event(data: &Value) -> SseEvent {
    let kind = data["type"].as_str().unwrap_or_default().to_owned();
    SseEvent { kind, data: data.to_string(), ..SseEvent::default() }
}

fn streamed(events: &[Value]) -> Result<Reply, ProviderTrouble> {
    let mut gathered = GatheredResponse::default();
    for data in events {
        gathered.take(&event(data))?;
    }
    Stream::end(gathered)
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn completed(output: &Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "model": "m", "status": "completed",
        "output": output, "error": null, "incomplete_details": null,
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 105}}})
}

#[test]
fn a_stream_and_a_whole_answer_say_the_same() {
    let call = json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "R", "arguments": "{}"});
    let reasoning =
        json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "abc"});
    let output = json!([reasoning, message("hi"), call]);
    let done = |item: &Value| json!({"type": "response.output_item.done", "item": item});
    let begun = json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress"}});
    let news = json!({"type": "response.never_heard_of", "x": 1});
    let mut events = vec![begun.clone(), news];
    events.extend(output.as_array().unwrap().iter().map(done));
    // Some servers repeat the items at the end, and others do not.
    for end in [completed(&output), completed(&json!([]))] {
        let reply = streamed(&[events.clone(), vec![end]].concat()).unwrap();
        assert_eq!((reply.id.as_str(), reply.model.as_str()), ("resp_1", "m"));
        assert_eq!((reply.stop, reply.usage_doubtful), (Stop::ToolUse, false));
        assert_eq!((reply.usage.input_tokens, reply.usage.cache_read_input_tokens), (40, 60));
        let found: Vec<Value> = reply
            .content
            .iter()
            .map(|block| serde_json::from_str(block.as_str()).unwrap())
            .collect();
        assert_eq!(found[0], reasoning);
        assert_eq!(found[1]["text"], "hi");
        assert_eq!(found[2]["id"], "c");
    }
    let whole = completed(&output)["response"].to_string();
    assert_eq!(ResponsesFormat.read_whole(&whole).unwrap().content.len(), 3);
    let only_end = streamed(&[completed(&json!([message("hi")]))]).unwrap();
    assert_eq!((only_end.stop, only_end.content.len()), (Stop::EndTurn, 1));
    assert!(streamed(&[events[0].clone(), done(&message("hi"))]).is_err(), "it was cut off");
}

#[test]
fn answers_end_in_many_ways() {
    let ended = |status: &str, reason: Value| {
        streamed(&[
            json!({"type": format!("response.{status}"), "response": {"id": "r", "status": status,
            "output": [message("hi")], "incomplete_details": reason}}),
        ])
    };
    let cut = ended("incomplete", json!({"reason": "max_output_tokens"})).unwrap();
    assert_eq!(cut.stop, Stop::MaxTokens);
    assert_eq!(
        ended("incomplete", json!({"reason": "content_filter"})).unwrap().stop,
        Stop::Refusal
    );
    assert!(ended("incomplete", Value::Null).is_ok());
    for failure in [
        json!({"type": "error", "code": "context_length_exceeded", "message": "too long", "param": "input"}),
        json!({"type": "error", "error": {"code": "context_length_exceeded", "message": "too long"}}),
        json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "context_length_exceeded", "message": "too long"}}}),
    ] {
        let Err(ProviderTrouble::Refused(refusal)) = streamed(std::slice::from_ref(&failure))
        else {
            panic!("not refused: {failure}")
        };
        assert_eq!(refusal.code.as_deref(), Some("context_length_exceeded"));
        assert_eq!(refusal.message, "too long");
    }
    let waiting = json!({"id": "r", "status": "queued", "output": []}).to_string();
    assert!(ResponsesFormat.read_whole(&waiting).is_err(), "it goes on in the background");
}
