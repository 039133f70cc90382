//! What each agent's records mean, in one short form.
#![allow(clippy::needless_pass_by_value, reason = "values of `json!` are made for one call")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::path::PathBuf;

use bethink_session_file::{LineKind, SessionFileFacts, lines};
use bethink_transcript::{Block, BlockKind, Role};
use serde_json::{Value, json};

use crate::reader::TranscriptReader;
use crate::{ParentTranscript, TranscriptAgent, TranscriptContext, TranscriptHeader};

struct ReadBack {
    /// One for each message: who said what.
    said: Vec<String>,
    facts: SessionFileFacts,
    header: TranscriptHeader,
    skipped: Vec<(u64, String)>,
}

fn shown(block: &Block) -> String {
    match &block.kind {
        BlockKind::ToolUse { id, name } => format!("[{id} {name} {}]", block.input()),
        BlockKind::ToolResult { tool_use_id, is_error } => {
            let failed = if *is_error { "!" } else { "" };
            format!("[{tool_use_id}{failed} {}]", block.text())
        }
        BlockKind::Text => block.text().into_owned(),
        other => format!("{other:?}"),
    }
}

fn read_at(agent: TranscriptAgent, context: TranscriptContext, text: &[u8]) -> ReadBack {
    let whole = converted(agent, context.clone(), text, text.len().max(1));
    for size in [1, 7, 100] {
        assert_eq!(converted(agent, context.clone(), text, size).0, whole.0, "in pieces of {size}");
    }
    let (out, reader) = whole;
    let (read, facts) = lines(out.into());
    let mut said = Vec::new();
    for line in read {
        match line.kind {
            LineKind::Message(line) => {
                let message = &line.message;
                let who = match message.role {
                    Role::User if message.is_instruction => "program",
                    Role::User => "user",
                    Role::Assistant => "agent",
                };
                assert_eq!(line.is_meta || line.is_summary, who == "program");
                let blocks: Vec<String> = message.blocks.iter().map(shown).collect();
                said.push(format!("{who}: {}", blocks.join(" ")));
            }
            LineKind::Damaged(damage) => said.push(format!("damaged: {damage}")),
            _ => {}
        }
    }
    let skipped = reader.skipped().iter().map(|one| (one.line, one.reason.clone())).collect();
    ReadBack { said, facts, header: reader.header().clone(), skipped }
}

fn converted(
    agent: TranscriptAgent,
    context: TranscriptContext,
    text: &[u8],
    size: usize,
) -> (Vec<u8>, TranscriptReader) {
    let mut reader = TranscriptReader::new(agent, context).unwrap();
    let mut out = Vec::new();
    for chunk in text.chunks(size) {
        reader.feed(chunk, |lines, _| out.extend(lines));
    }
    out.extend(reader.finish());
    (out, reader)
}

fn jsonl(records: &[Value]) -> Vec<u8> {
    records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect()
}

fn read(agent: TranscriptAgent, records: &[Value]) -> ReadBack {
    read_at(agent, TranscriptContext::default(), &jsonl(records))
}

/// Returns the compactions: summary, first kept message, and messages before it.
fn compactions(read: &ReadBack) -> Vec<(String, Option<String>, u64)> {
    let all = read.facts.compactions.iter();
    all.map(|one| {
        let kept = one.kept.as_ref().map(|(head, _)| head.clone());
        (one.summary.clone(), kept, one.messages)
    })
    .collect()
}

fn codex(ordinal: u64, kind: &str, payload: Value) -> Value {
    json!({ "timestamp": "2026-03-01T10:00:00.000Z", "ordinal": ordinal, "type": kind, "payload": payload })
}

fn codex_said(ordinal: u64, role: &str, text: &str) -> Value {
    let part = json!({ "type": if role == "assistant" { "output_text" } else { "input_text" }, "text": text });
    codex(ordinal, "response_item", json!({ "type": "message", "role": role, "content": [part] }))
}

#[test]
fn codex_keeps_calls_of_one_answer_together_and_programs_apart() {
    let read = read(
        TranscriptAgent::Codex,
        &[
            codex(0, "session_meta", json!({ "id": "thread", "cwd": "/home/user/project" })),
            codex_said(1, "developer", "be brief"),
            codex_said(2, "user", "<environment_context>\nshell\n</environment_context>"),
            codex(3, "turn_context", json!({ "model": "gpt-x", "cwd": "/home/user/project/sub" })),
            codex_said(4, "user", "mend the gate"),
            codex(5, "response_item", json!({ "type": "reasoning", "summary": [] })),
            codex(
                6,
                "response_item",
                json!({
                    "type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}",
                }),
            ),
            codex(
                7,
                "response_item",
                json!({
                    "type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin Patch",
                }),
            ),
            codex(
                8,
                "response_item",
                json!({
                    "type": "function_call_output", "call_id": "c1",
                    "output": "Wall time: 1\nProcess exited with code 2\nOutput:\nProcess exited with code 0",
                }),
            ),
            codex(
                9,
                "response_item",
                json!({
                    "type": "custom_tool_call_output", "call_id": "c2", "output": "{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}",
                }),
            ),
            codex_said(10, "assistant", "mended"),
            codex(11, "event_msg", json!({ "type": "agent_message", "message": "mended" })),
        ],
    );
    assert_eq!(
        read.said,
        [
            "program: be brief",
            "program: <environment_context>\nshell\n</environment_context>",
            "user: mend the gate",
            "agent: [c1 exec_command {\"cmd\":\"ls\"}]",
            "agent: [c2 apply_patch {\"input\":\"*** Begin Patch\"}]",
            "user: [c1! Wall time: 1\nProcess exited with code 2\nOutput:\nProcess exited with code 0]",
            "user: [c2 ok]",
            "agent: mended",
        ]
    );
    assert_eq!(read.facts.title.as_deref(), Some("mend the gate"));
    assert_eq!(
        (read.facts.cwd.as_deref(), read.facts.model.as_deref()),
        (Some("/home/user/project"), Some("gpt-x"))
    );
    assert_eq!((read.header.id.as_deref(), read.header.messages), (Some("thread"), 8));
}

#[test]
fn codex_tells_forks_and_sub_agents_and_what_it_compacted() {
    let parent = |meta: Value, path: &str| {
        let context = TranscriptContext { path: path.into(), ..TranscriptContext::default() };
        let header =
            read_at(TranscriptAgent::Codex, context, &jsonl(&[codex(0, "session_meta", meta)]));
        (header.header.id.unwrap(), header.header.parent)
    };
    let of = |id: &str, fork_before| Some(ParentTranscript { id: id.to_owned(), fork_before });
    let base = json!({ "thread_id": "a", "end_ordinal_exclusive": 9 });
    let fork = json!({ "id": "b", "forked_from_id": "a", "history_base": base });
    assert_eq!(parent(fork, "rollout-b.jsonl"), ("b".to_owned(), of("a", Some(9))));
    let rewound = json!({ "id": "a", "history_base": base });
    assert_eq!(parent(rewound, "rollout-a_c.jsonl"), ("c".to_owned(), of("a", Some(9))));
    let agent = json!({ "id": "d", "parent_thread_id": "a" });
    assert_eq!(parent(agent, "rollout-d.jsonl"), ("d".to_owned(), of("a", None)));
    let own = json!({ "id": "a", "parent_thread_id": "a" });
    assert_eq!(parent(own, "rollout-a.jsonl"), ("a".to_owned(), None));

    let mut summary = codex_said(3, "assistant", "what happened");
    summary["metadata"] = json!({ "compaction_output": true });
    let read = read(
        TranscriptAgent::Codex,
        &[
            codex_said(1, "user", "begin"),
            codex_said(2, "assistant", "begun"),
            summary,
            codex(4, "compacted", json!({ "message": "what happened", "replacement_history": [] })),
            codex_said(5, "user", "go on"),
        ],
    );
    assert_eq!(read.said, ["user: begin", "agent: begun", "program: what happened", "user: go on"]);
    assert_eq!(compactions(&read), [("what happened".to_owned(), None, 3)]);
}

#[test]
fn codex_records_without_an_envelope_are_read() {
    let read = read(
        TranscriptAgent::Codex,
        &[
            json!({ "id": "old", "timestamp": "2025-06-01T10:00:00Z", "instructions": null }),
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hello" }] }),
            json!({ "record_type": "state" }),
        ],
    );
    assert_eq!(read.said, ["user: hello"]);
    assert_eq!(read.header.id.as_deref(), Some("old"));
}

fn gemini(id: &str, kind: &str, content: Value) -> Value {
    json!({ "id": id, "timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "content": content })
}

#[test]
fn gemini_messages_that_are_written_again_are_not_doubled() {
    let head =
        json!({ "sessionId": "g", "projectHash": "h", "startTime": "2026-03-01T10:00:00.000Z" });
    let asked = gemini("1", "user", json!([{ "text": "mend the gate" }]));
    let context =
        gemini("0", "user", json!([{ "text": "<session_context>\nhere\n</session_context>" }]));
    let mut answer = gemini("2", "gemini", json!("I look."));
    let before = answer.clone();
    let response = json!([{ "functionResponse": { "id": "c1", "name": "shell", "response": { "output": "Output: x\nExit Code: 1" } } }]);
    answer["toolCalls"] = json!([{ "id": "c1", "name": "run_shell_command", "args": { "command": "ls" }, "result": response }]);
    let resumed = json!({ "$set": { "messages": [context, asked, gemini("2", "gemini", json!([{ "text": "I look." }]))] } });
    let read = read(
        TranscriptAgent::Gemini,
        &[
            head.clone(),
            json!({ "$set": { "messages": [context] } }),
            asked.clone(),
            before,
            answer,
            gemini("3", "user", response.clone()),
            gemini("4", "info", json!("a hint")),
            head,
            json!({ "$set": { "messages": [context] } }),
            resumed,
            gemini("5", "user", json!([{ "text": "go on" }])),
        ],
    );
    assert_eq!(
        read.said,
        [
            "program: <session_context>\nhere\n</session_context>",
            "user: mend the gate",
            "agent: I look.",
            "agent: [c1 run_shell_command {\"command\":\"ls\"}]",
            "user: [c1! Output: x\nExit Code: 1]",
            "user: go on",
        ]
    );
    assert_eq!(read.facts.title.as_deref(), Some("mend the gate"));
}

#[test]
fn gemini_compactions_keep_the_messages_that_follow_the_summary() {
    let read = read(
        TranscriptAgent::Gemini,
        &[
            gemini("1", "user", json!([{ "text": "begin" }])),
            gemini("2", "gemini", json!("begun")),
            gemini("3", "user", json!([{ "text": "and then" }])),
            json!({ "$set": { "messages": [
                gemini("a", "user", json!([{ "text": "a summary" }])),
                gemini("b", "gemini", json!([{ "text": "Got it. Thanks for the additional context!" }])),
                gemini("c", "user", json!([{ "text": "and then" }])),
            ] } }),
            gemini("4", "gemini", json!("done")),
        ],
    );
    assert_eq!(read.said, ["user: begin", "agent: begun", "user: and then", "agent: done"]);
    assert_eq!(compactions(&read), [("a summary".to_owned(), Some("3".to_owned()), 3)]);
}

#[test]
fn gemini_sub_agents_belong_to_the_session_of_their_directory() {
    let at = |path: &str| {
        let context = TranscriptContext {
            path: path.into(),
            cwd: Some("/home/user/project".to_owned()),
            ..TranscriptContext::default()
        };
        let text = jsonl(&[json!({ "sessionId": "g", "kind": "any" })]);
        read_at(TranscriptAgent::Gemini, context, &text).header
    };
    let parent = at("/tmp/p/chats/main/sub.jsonl").parent.unwrap();
    assert_eq!((&*parent.id, parent.fork_before), ("main", None));
    let main = at("/tmp/p/chats/session-1.jsonl");
    assert_eq!((main.parent, main.cwd.as_deref()), (None, Some("/home/user/project")));
}

fn qwen(uuid: &str, kind: &str, parts: Value) -> Value {
    json!({
        "uuid": uuid, "sessionId": "q", "timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "cwd": "/home/user/project",
        "message": { "role": "user", "parts": parts },
    })
}

#[test]
fn what_hooks_added_to_a_prompt_of_qwen_was_not_said() {
    let context =
        "<qwen:user-prompt-submit-context>\nNever paint\n</qwen:user-prompt-submit-context>";
    let parts = json!([{ "text": "may I paint?" }, { "text": context }]);
    let read = read(TranscriptAgent::Qwen, &[qwen("1", "user", parts)]);
    assert_eq!(read.said, ["user: may I paint?"]);
}

#[test]
fn qwen_records_are_read_with_their_compaction() {
    let mut notice = qwen("5", "user", json!([{ "text": "a task ended" }]));
    notice["provenance"] = json!("system");
    let read = read(
        TranscriptAgent::Qwen,
        &[
            qwen("1", "user", json!([{ "text": "mend the gate" }])),
            qwen(
                "2",
                "assistant",
                json!([
                    { "text": "hm", "thought": true }, { "text": "I look." },
                    { "functionCall": { "id": "c1", "name": "todo_write", "args": { "todos": [] } } },
                ]),
            ),
            qwen(
                "3",
                "tool_result",
                json!([{ "functionResponse": { "id": "c1", "response": { "error": "no" } } }]),
            ),
            json!({ "uuid": "4", "type": "system", "subtype": "ui_telemetry" }),
            notice,
            json!({ "uuid": "6", "type": "system", "subtype": "chat_compression", "systemPayload": {
                "info": { "originalTokenCount": 70 },
                "compressedHistory": [{ "role": "user", "parts": [{ "text": "a summary" }] }],
            } }),
        ],
    );
    assert_eq!(
        read.said,
        [
            "user: mend the gate",
            "agent: I look. [c1 todo_write {\"todos\":[]}]",
            "user: [c1! no]",
            "program: a task ended",
            "program: a summary",
        ]
    );
    assert_eq!(compactions(&read), [("a summary".to_owned(), None, 5)]);
    let mut sub = qwen("1", "user", json!([{ "text": "look" }]));
    sub["isSidechain"] = json!(true);
    sub["agentId"] = json!("helper");
    let header = self::read(TranscriptAgent::Qwen, &[sub]).header;
    assert_eq!((header.id.as_deref(), header.parent.unwrap().id), (Some("helper"), "q".to_owned()));
}

#[test]
fn pi_entries_are_read_with_kept_messages_and_signed_thinking() {
    let entry = |id: &str, message: Value| json!({ "type": "message", "id": id, "timestamp": "2026-03-01T10:00:00.000Z", "message": message });
    let read = read(
        TranscriptAgent::Pi,
        &[
            json!({ "type": "session", "version": 3, "id": "pi-1", "cwd": "/home/user/project", "timestamp": "2026-03-01T10:00:00.000Z" }),
            entry("1", json!({ "role": "user", "content": "mend the gate" })),
            entry(
                "2",
                json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm" },
                { "type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln" },
                { "type": "toolCall", "id": "c1", "name": "bash", "arguments": { "command": "ls" } },
            ] }),
            ),
            entry(
                "3",
                json!({ "role": "toolResult", "toolCallId": "c1", "isError": true, "content": [{ "type": "text", "text": "no" }] }),
            ),
            json!({ "type": "compaction", "id": "4", "summary": "a summary", "firstKeptEntryId": "2", "tokensBefore": 9 }),
            json!({ "type": "session_info", "id": "5", "name": "The gate" }),
        ],
    );
    assert_eq!(
        read.said,
        ["user: mend the gate", "agent: Thinking [c1 bash {\"command\":\"ls\"}]", "user: [c1! no]",]
    );
    assert_eq!(compactions(&read), [("a summary".to_owned(), Some("2".to_owned()), 3)]);
    assert_eq!(read.facts.title.as_deref(), Some("The gate"));
}

fn opencode(id: &str, data: Value, parts: Value) -> Value {
    json!({ "message": { "id": id, "time_created": 1_700_000_000_000_u64, "data": data, "parts": parts } })
}

#[test]
fn opencode_messages_are_read_when_they_are_complete() {
    let session = json!({ "session": {
        "id": "ses", "parent_id": "up", "directory": "/home/user/project", "title": "New session - 2026", "time_created": 1_700_000_000_000_u64,
    } });
    let done = json!({ "role": "assistant", "time": { "completed": 1 }, "modelID": "m", "tokens": { "input": 70 } });
    let call = json!({ "type": "tool", "callID": "c1", "tool": "bash", "state": {
        "status": "completed", "input": { "command": "ls" }, "output": "x", "metadata": { "exit": 2 },
    } });
    let records = [
        session,
        opencode(
            "1",
            json!({ "role": "user" }),
            json!([{ "type": "text", "text": "mend the gate" }]),
        ),
        opencode(
            "2",
            done.clone(),
            json!([{ "type": "step-start" }, { "type": "text", "text": "I look." }, call]),
        ),
        opencode(
            "3",
            json!({ "role": "user" }),
            json!([{ "type": "compaction", "auto": true, "tail_start_id": "2" }]),
        ),
        opencode(
            "4",
            json!({ "role": "assistant", "summary": true, "time": { "completed": 1 } }),
            json!([{ "type": "text", "text": "a summary" }]),
        ),
        opencode(
            "5",
            json!({ "role": "user" }),
            json!([{ "type": "text", "text": "go on", "synthetic": true }]),
        ),
        opencode(
            "6",
            json!({ "role": "assistant" }),
            json!([{ "type": "text", "text": "half an ans" }]),
        ),
    ];
    let read = self::read(TranscriptAgent::Opencode, &records);
    let expect = [
        "user: mend the gate",
        "agent: I look. [c1 bash {\"command\":\"ls\"}]",
        "user: [c1! x]",
        "program: go on",
    ];
    assert_eq!(read.said, expect);
    assert_eq!(compactions(&read), [("a summary".to_owned(), Some("2".to_owned()), 3)]);
    assert_eq!(read.facts.compactions[0].pre_tokens, 70);
    assert_eq!(read.facts.title.as_deref(), Some("mend the gate"));
    assert_eq!(read.header.parent.unwrap().id, "up");
    // An answer that was interrupted is read once another message follows.
    let mut later = records.to_vec();
    later.push(opencode(
        "7",
        json!({ "role": "user" }),
        json!([{ "type": "text", "text": "hm?" }]),
    ));
    let read = self::read(TranscriptAgent::Opencode, &later);
    assert_eq!(read.said[4..], ["agent: half an ans", "user: hm?"]);
}

#[test]
fn cline_documents_are_read_with_what_lies_beside_them() {
    let message = |id: &str, role: &str, content: Value| json!({ "id": id, "role": role, "content": content, "ts": 1_700_000_000_000_u64 });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let document = json!({ "version": 1, "sessionId": "cl", "messages": [
        message("1", "user", json!([text("<user_input mode=\"act\">mend the gate</user_input>"), text("<environment_details>\nx")])),
        message("2", "assistant", json!([{ "type": "thinking", "thinking": "hm" }, { "type": "tool_use", "id": "c1", "name": "run_commands", "input": {} }])),
        message("3", "user", json!([{ "type": "tool_result", "tool_use_id": "c1", "content": [
            { "query": "ls", "result": "x", "success": true }, { "query": "no", "result": "y", "success": false },
        ] }])),
        message("4", "assistant", json!([text("done")])),
    ] });
    let context = TranscriptContext {
        path: PathBuf::from("/c/cl/cl.messages.json"),
        facts: json!({ "workspace_root": "/home/user/project" }),
        compaction: json!({ "source_message_count": 3, "messages": [
            { "id": "1", "content": [text("<SYSTEM_NOTICE>\na summary")], "metadata": { "kind": "compaction" } },
            { "id": "2", "metadata": { "compaction": "preserved" } },
        ] }),
        ..TranscriptContext::default()
    };
    let read = read_at(TranscriptAgent::Cline, context, document.to_string().as_bytes());
    assert_eq!(
        read.said,
        [
            "user: mend the gate",
            "program: <environment_details>\nx",
            "agent: [c1 run_commands {}]",
            "user: [c1! ls\nx\nno\ny]",
            "agent: done",
        ]
    );
    let summary = "<SYSTEM_NOTICE>\na summary".to_owned();
    assert_eq!(compactions(&read), [(summary, Some("2".to_owned()), 4)]);
    assert_eq!(read.facts.cwd.as_deref(), Some("/home/user/project"));
}

#[test]
fn continue_messages_are_known_by_their_content() {
    let item = |role: &str, text: &str| json!({ "message": { "role": role, "content": text } });
    let mut called = item("assistant", "I look.");
    called["message"]["toolCalls"] = json!([{ "id": "c1", "function": { "name": "Bash", "arguments": "{\"command\":\"ls\"}" } }]);
    called["toolCallStates"] =
        json!([{ "toolCallId": "c1", "status": "errored", "output": [{ "content": "no" }] }]);
    let mut summary = item("assistant", "short");
    summary["conversationSummary"] = json!("a summary");
    let document = |history: &[Value]| {
        json!({ "sessionId": "co", "title": "Untitled Session", "workspaceDirectory": "file:///home/user/project", "history": history })
            .to_string()
    };
    let all = [item("user", "go"), called, item("assistant", "yes"), item("user", "go")];
    let context = || TranscriptContext {
        facts: json!({ "dateCreated": "1700000000000" }),
        ..TranscriptContext::default()
    };
    let read = read_at(TranscriptAgent::Continue, context(), document(&all).as_bytes());
    let expect = [
        "user: go",
        "agent: I look. [c1 Bash {\"command\":\"ls\"}]",
        "user: [c1! no]",
        "agent: yes",
        "user: go",
    ];
    assert_eq!(read.said, expect);
    assert_eq!(read.facts.cwd.as_deref(), Some("/home/user/project"));
    // A compaction removes the earlier messages, and the later ones are still the same.
    let left = [summary, all[2].clone(), all[0].clone()];
    let ids = |text: &str| {
        let (out, _) = converted(TranscriptAgent::Continue, context(), text.as_bytes(), 64);
        let records = String::from_utf8(out).unwrap();
        let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.map(|record| record["uuid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (before, after) = (ids(&document(&all)), ids(&document(&left)));
    assert_eq!(after[1..], [before[3].clone(), before[0].clone()]);
}

#[test]
fn what_cannot_be_read_is_skipped_and_told() {
    let head = codex(0, "session_meta", json!({ "id": "t" })).to_string();
    let said = codex_said(1, "user", "hello").to_string();
    let mut text = format!("\u{FEFF}{head}\n[1]\n\nno json\n").into_bytes();
    text.extend(b"{\"a\":\"\xff\"}\n");
    text.extend(format!("{}1{}\n", "[".repeat(200), "]".repeat(200)).bytes());
    text.extend(format!("{said}\n{{\"half\":").bytes());
    let read = read_at(TranscriptAgent::Codex, TranscriptContext::default(), &text);
    assert_eq!(read.said, ["user: hello"]);
    let lines: Vec<u64> = read.skipped.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 4, 5, 6]);
    assert!(read.skipped[2].1.contains("invalid UTF-8 at byte 6"), "{:?}", read.skipped);
    for agent in
        TranscriptAgent::ALL.into_iter().filter(|agent| *agent != TranscriptAgent::ClaudeCode)
    {
        for text in
            ["", "\n", "{}", "{}\n", "null\n", "{\"type\":7,\"message\":[],\"history\":{}}\n"]
        {
            let read = read_at(agent, TranscriptContext::default(), text.as_bytes());
            assert_eq!(read.said, [""; 0], "{agent} {text}");
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_skipped_without_keeping_it() {
    let mut reader =
        TranscriptReader::new(TranscriptAgent::Codex, TranscriptContext::default()).unwrap();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..65 {
        reader.feed(&chunk, |_, _| {});
    }
    let mut out = Vec::new();
    reader.feed(format!("\n{}\n", codex_said(1, "user", "hello")).as_bytes(), |lines, _| {
        out.extend(lines);
    });
    assert!(String::from_utf8(out).unwrap().contains("hello"));
    assert_eq!(
        reader.skipped()[0].reason,
        "the record is 68157441 bytes long; the maximum is 67108864"
    );
}

#[test]
fn files_are_recognized_by_their_first_record() {
    let check = |first: Value, path: &str, expect: Option<TranscriptAgent>| {
        assert_eq!(TranscriptAgent::of(path.as_ref(), &first), expect, "{first}");
    };
    check(codex(0, "session_meta", json!({})), "a.jsonl", Some(TranscriptAgent::Codex));
    check(
        json!({ "sessionId": "g", "projectHash": "h" }),
        "a.jsonl",
        Some(TranscriptAgent::Gemini),
    );
    check(
        json!({ "type": "session", "id": "p", "cwd": "/" }),
        "a.jsonl",
        Some(TranscriptAgent::Pi),
    );
    check(qwen("1", "user", json!([])), "a.jsonl", Some(TranscriptAgent::Qwen));
    check(json!({ "sessionId": "c", "history": [] }), "a.json", Some(TranscriptAgent::Continue));
    check(json!({ "messages": [] }), "1.messages.json", Some(TranscriptAgent::Cline));
    check(json!({ "messages": [] }), "1.json", None);
    let claude = json!({ "type": "user", "uuid": "u", "sessionId": "s", "message": { "role": "user", "content": "x" } });
    check(claude, "a.jsonl", None);
}
