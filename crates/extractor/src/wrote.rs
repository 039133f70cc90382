//! Detects whether the agent itself wrote memory in a turn. Such a turn needs no extraction.
//!
//! Only the arguments of its calls are examined, because a client's tools are only known while it is connected.

use std::collections::HashSet;

use bethink_transcript::{BlockKind, Message, ToolUseId};
use serde_json::{Map, Value};

/// Names of path arguments in clients' tools.
pub(crate) const PATH: &[&str] =
    &["file_path", "path", "filePath", "filename", "target_file", "absolute_path"];
/// Names of arguments with the text to write.
const TEXT: &str = "content contents file_text text new_string new_str newString replace new_text newText edits insert_text";
pub(crate) const COMMAND: &[&str] = &["command", "cmd"];
/// Parts of commands that write to files.
const WRITES: [&str; 7] = [">", "tee ", "sed -i", "mv ", "cp ", "rm ", "touch "];

/// Whether a tool call in these messages wrote into `dir`, according to its result.
pub fn wrote_memory<'a>(messages: impl IntoIterator<Item = &'a Message>, dir: &str) -> bool {
    let mut calls: HashSet<ToolUseId> = HashSet::new();
    let mut failed: HashSet<ToolUseId> = HashSet::new();
    for block in messages.into_iter().flat_map(|message| &message.blocks) {
        match &block.kind {
            BlockKind::ToolUse { id, name }
                if may_write(block.input(), dir) || is_memory_tool(name, block.input()) =>
            {
                calls.insert(id.clone());
            }
            BlockKind::ToolResult { tool_use_id, is_error: true } => {
                failed.insert(tool_use_id.clone());
            }
            _ => {}
        }
    }
    calls.difference(&failed).next().is_some()
}

/// Commands of Anthropic's memory tool that change a file.
const MEMORY_COMMANDS: [&str; 5] = ["create", "str_replace", "insert", "delete", "rename"];

/// Whether a call writes a memory with bethink's `remember`, or with a tool called `memory`. Clients may put the name
/// of the server before that of the tool.
fn is_memory_tool(name: &str, input: &str) -> bool {
    let own = name.rsplit("__").next().unwrap_or(name);
    let own = own.strip_prefix("bethink_").unwrap_or(own);
    match own {
        "remember" => true,
        "memory" => serde_json::from_str::<Map<String, Value>>(input).is_ok_and(|arguments| {
            let command = arguments.get("command").and_then(Value::as_str);
            command.is_some_and(|command| MEMORY_COMMANDS.contains(&command))
        }),
        _ => false,
    }
}

/// Whether a path is in the directory in which Claude Code keeps its own memory of a project.
fn is_auto_memory(path: &str) -> bool {
    let inner = path.split_once("/.claude/projects/").map(|(_, inner)| inner);
    inner.and_then(|inner| inner.split('/').nth(1)) == Some("memory")
}

/// Whether a call's arguments contain a file in `dir`, or in Claude Code's own memory, and text to write to it.
pub fn may_write(input: &str, dir: &str) -> bool {
    if !input.contains(dir) && !input.contains("/.claude/projects/") {
        return false;
    }
    let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(input) else { return false };
    let text = |name: &&str| arguments.get(*name).and_then(Value::as_str);
    let is_inside = |path: &str| {
        path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/')) || is_auto_memory(path)
    };
    let names_file = PATH.iter().filter_map(text).any(is_inside);
    let has_text = TEXT.split(' ').any(|name| arguments.contains_key(name));
    let command = COMMAND
        .iter()
        .filter_map(text)
        .any(|command| command.contains(dir) && WRITES.iter().any(|sign| command.contains(sign)));
    (names_file && has_text) || command
}

#[cfg(test)]
mod tests {
    use bethink_transcript::message::MessageSource;
    use bethink_transcript::{MessageId, MessageMeta, Seq, UnixMicros};
    use serde_json::json;

    use super::*;

    fn check(input: &Value, expect: bool) {
        assert_eq!(may_write(&input.to_string(), "/m"), expect, "{input}");
    }

    #[test]
    fn a_writing_call_is_recognized_by_its_arguments() {
        check(&json!({ "file_path": "/m/a.md", "content": "" }), true);
        check(
            &json!({ "path": "/m/a.md", "command": "str_replace", "old_str": "", "new_str": "" }),
            true,
        );
        check(&json!({ "file_path": "/mx/a.md", "content": "/m/a.md" }), false);
        check(&json!({ "file_path": "/m/a.md" }), false);
        check(&json!({ "command": "echo x >> /m/a.md" }), true);
        check(&json!({ "command": "cat /m/a.md" }), false);
        check(&json!({ "command": "echo x > /tmp/y" }), false);
        assert!(!may_write("/m", "/m"));
    }

    #[test]
    fn a_tool_for_memory_writes_memory() {
        let check = |name: &str, input: &Value, expect: bool| {
            assert_eq!(is_memory_tool(name, &input.to_string()), expect, "{name} {input}");
        };
        check("mcp__bethink__remember", &json!({ "text": "x" }), true);
        check("remember", &json!({ "text": "x" }), true);
        check("memory", &json!({ "command": "create", "path": "/memories/a.md" }), true);
        check("mcp__bethink__memory", &json!({ "command": "insert" }), true);
        check("memory", &json!({ "command": "view", "path": "/memories" }), false);
        check("mcp__bethink__recall", &json!({ "query": "x" }), false);
        check("Write", &json!({ "file_path": "/x" }), false);
    }

    #[test]
    fn claude_codes_own_memory_counts() {
        let path = "/home/a/.claude/projects/-home-a-repo/memory/topic.md";
        check(&json!({ "file_path": path, "content": "x" }), true);
        check(&json!({ "file_path": path }), false);
        let log = "/home/a/.claude/projects/-home-a-repo/session.jsonl";
        check(&json!({ "file_path": log, "content": "x" }), false);
    }

    #[test]
    fn a_call_that_failed_wrote_nothing() {
        let message = |role: &str, block: Value| {
            let raw = json!({ "role": role, "content": [block] }).to_string();
            let id = MessageId::new("m").unwrap();
            let meta = MessageMeta { seq: Seq(1), id, created_at: UnixMicros(0) };
            Message::parse(meta, raw.into_bytes().into(), MessageSource::Client).unwrap()
        };
        let input = json!({ "file_path": "/m/a.md", "content": "x" });
        let call = message(
            "assistant",
            json!({ "type": "tool_use", "id": "t1", "name": "Write", "input": input }),
        );
        let answer = |is_error: bool| {
            let block = json!({ "type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": is_error });
            message("user", block)
        };
        assert!(wrote_memory([&call, &answer(false)], "/m"));
        assert!(!wrote_memory([&call, &answer(true)], "/m"));
        assert!(!wrote_memory([&call, &answer(false)], "/other"));
    }
}
