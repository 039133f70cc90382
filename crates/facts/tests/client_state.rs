//! What a client keeps besides the conversation, read from histories of several agents.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use bethink_facts::{ClientState, Facts};
use bethink_transcript::message::MessageSource;
use bethink_transcript::{Message, MessageId, MessageMeta, Seq, UnixMicros};
use bytes::Bytes;
use serde_json::{Value, json};

fn read(values: &[Value]) -> Facts {
    let mut facts = Facts::default();
    for (i, value) in values.iter().enumerate() {
        let seq = Seq(i as u64 + 1);
        let id = MessageId::new(&format!("m{seq}")).unwrap();
        let meta = MessageMeta { seq, id, created_at: UnixMicros(0) };
        let raw = Bytes::from(value.to_string());
        facts.observe(&Message::parse(meta, raw, MessageSource::Client).unwrap());
    }
    facts
}

fn state(values: &[Value]) -> ClientState {
    read(values).client
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn calls(id: &str, name: &str, input: &Value) -> Value {
    json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": name, "input": input }] })
}

fn gives(id: &str, content: &Value, is_error: bool) -> Value {
    json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error }
    ] })
}

#[test]
fn skills_with_their_newest_text() {
    let body = |n: u32| {
        format!("Base directory for this skill: /home/u/.claude/skills/go-find\n\nFind {n}.")
    };
    let state = state(&[
        calls("a", "Skill", &json!({ "skill": "go:find", "args": "x" })),
        gives("a", &json!("Launching skill: go:find"), false),
        user(&body(1)),
        // The skill was typed as a command, so no call names it.
        user("Base directory for this skill: /home/u/.claude/skills/review/\n\nReview."),
        calls("b", "Skill", &json!({ "skill": "go:find" })),
        gives("b", &json!("Launching skill: go:find"), false),
        user(&body(2)),
        // OpenCode and Gemini CLI answer with the text.
        calls("c", "skill", &json!({ "name": "deploy" })),
        gives("c", &json!(format!("## Skill: deploy\n{}", "Ship it. ".repeat(40))), false),
        user("<skill>\n<name>lint</name>\n<path>/s/lint</path>\nLint.\n</skill>"),
        calls("d", "Skill", &json!({ "skill": "unseen" })),
        gives("d", &json!("Launching skill: unseen"), false),
        calls("e", "Skill", &json!({ "skill": "unknown" })),
        gives("e", &json!("Unknown skill"), true),
    ]);
    let seen: Vec<_> =
        state.skills.iter().map(|s| (s.name.as_str(), s.seq.0, s.text.len() > 10)).collect();
    assert_eq!(
        seen,
        [
            ("review", 4, true),
            ("go:find", 7, true),
            ("deploy", 9, true),
            ("lint", 10, true),
            ("unseen", 12, false)
        ]
    );
    assert!(state.skills[1].text.ends_with("Find 2."));
}

#[test]
fn background_agents_until_their_result_was_read() {
    let launched = |id: &str| {
        let text = format!(
            "Async agent launched successfully.\nagentId: {id} (internal ID)\noutput_file: /tmp/{id}.output"
        );
        json!([{ "type": "text", "text": text }])
    };
    let notice = |id: &str| {
        format!(
            "<task-notification>\n<task-id>{id}</task-id>\n<status>completed</status>\n<summary>Agent done</summary>\n<result>All {id} is well.</result>\n</task-notification>"
        )
    };
    let task =
        |what: &str| json!({ "description": what, "prompt": "p", "run_in_background": true });
    let mut history = vec![
        calls("a", "Task", &task("Review security")),
        gives("a", &launched("a77"), false),
        calls("b", "Agent", &task("Review tests")),
        gives("b", &launched("b88"), false),
        // Its result is the tool's result.
        calls("c", "Task", &json!({ "description": "Explore", "prompt": "p" })),
        gives("c", &json!("Found it in src/a.rs."), false),
        calls("d", "spawn_agent", &json!({ "message": "look for the puma" })),
        gives("d", &json!(r#"{"agent_id":"01a2","nickname":"Kuhn"}"#), false),
        user(&notice("a77")),
    ];
    let agents = |history: &[Value]| -> Vec<(String, String, bool)> {
        let state = state(history);
        let agent = |a: &bethink_facts::BackgroundAgent| {
            let read = a.ended.as_ref().is_some_and(|(at, _)| *at < state.answered);
            (
                a.name.clone(),
                a.ended.as_ref().map_or("running", |(_, s)| s.as_str()).to_owned(),
                read,
            )
        };
        state.agents.iter().map(agent).collect()
    };
    let is = |name: &str, status: &str, read| (name.to_owned(), status.to_owned(), read);
    assert_eq!(
        agents(&history),
        [
            is("Review security", "finished", false),
            is("Review tests", "running", false),
            is("look for the puma", "running", false)
        ]
    );
    assert_eq!(state(&history).agents[0].result, "All a77 is well.");
    history.push(json!({ "role": "assistant", "content": "Security is well." }));
    history.push(calls("e", "TaskOutput", &json!({ "task_id": "b88" })));
    let output = "<task_id>b88</task_id>\n<status>completed</status>\n<output>42 tests</output>";
    history.push(gives("e", &json!(output), false));
    let codex = r#"{"agent_path":"01a2","status":{"completed":"the puma sleeps"}}"#;
    history.push(user(&format!("<subagent_notification>\n{codex}\n</subagent_notification>")));
    assert_eq!(
        agents(&history),
        [
            is("Review security", "finished", true),
            is("Review tests", "finished", false),
            is("look for the puma", "finished", false)
        ]
    );
    assert_eq!(state(&history).agents[2].result, "the puma sleeps");
}

#[test]
fn the_plan_and_plan_mode() {
    let mut history = vec![
        calls("a", "EnterPlanMode", &json!({})),
        gives("a", &json!("Entered plan mode."), false),
        calls("b", "ExitPlanMode", &json!({ "plan": "1. dig" })),
        gives("b", &json!("The user doesn't want to proceed"), true),
    ];
    let found = state(&history);
    let plan = found.plan.unwrap();
    assert_eq!((found.plan_mode, plan.text.as_str(), plan.approved), (true, "1. dig", Some(false)));
    let approved = "User has approved your plan.\n\nYour plan has been saved to: /home/u/.claude/plans/calm.md\nYou \
        can refer back to it.\n\n## Approved Plan:\n1. dig\n2. sow";
    history.push(calls("c", "ExitPlanMode", &json!({ "plan": "1. dig\n2. reap" })));
    history.push(gives("c", &json!(approved), false));
    let found = state(&history);
    let plan = found.plan.unwrap();
    assert_eq!(
        (found.plan_mode, plan.text.as_str(), plan.approved),
        (false, "1. dig\n2. sow", Some(true))
    );
    assert_eq!(plan.path.as_deref(), Some("/home/u/.claude/plans/calm.md"));
    let on = "<system-reminder>\nPlan mode is active. You may only edit the plan file at /home/u/.claude/plans/new.md.\n</system-reminder>";
    history.push(user(on));
    let found = state(&history);
    let path = found.plan.unwrap().path;
    assert_eq!((found.plan_mode, path.as_deref()), (true, Some("/home/u/.claude/plans/new.md")));
    history.push(user(
        "<system-reminder>\n## Exited Plan Mode\n\nYou can now edit.\n</system-reminder>",
    ));
    assert!(!state(&history).plan_mode);
}

#[test]
fn tools_and_announcements() {
    let reference = json!([{ "type": "tool_reference", "tool_name": "mcp__linear__list_issues" }]);
    let found = state(&[
        user(
            "<system-reminder>\nThe following deferred tools are now available via ToolSearch:\nA\nB\n</system-reminder>\n\
            <system-reminder>\n# MCP Server Instructions\n\n## linear\nUse it.\n</system-reminder>\nGo on.",
        ),
        calls("a", "ToolSearch", &json!({ "query": "select:mcp__linear__list_issues" })),
        gives("a", &reference, false),
        calls("b", "ToolSearch", &json!({ "query": "web" })),
        gives(
            "b",
            &json!(
                "<functions>\n<function>{\"name\":\"WebFetch\",\"parameters\":{}}</function>\n</functions>"
            ),
            false,
        ),
        user("<system-reminder>SessionStart:startup hook success: branch main</system-reminder>"),
    ]);
    let tools: Vec<_> = found.tools.iter().map(|t| (t.name.as_str(), t.text.is_empty())).collect();
    assert_eq!(tools, [("mcp__linear__list_issues", true), ("WebFetch", false)]);
    let announced: Vec<_> = found.announced.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(announced, ["deferred tools", "MCP servers"]);
    assert_eq!(found.hooks[0].text, "SessionStart:startup hook success: branch main");
}

#[test]
fn a_patch_of_several_files_counts_for_each() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: src/b.rs\n+z\n*** End Patch";
    let facts = read(&[
        calls("a", "apply_patch", &json!({ "input": patch })),
        gives("a", &json!("Success"), false),
        calls("b", "read_file", &json!({ "file_path": "src/c.rs", "input": { "odd": true } })),
        gives("b", &json!("not found"), true),
    ]);
    let files = facts.client.used_files();
    let files: Vec<_> = files.iter().map(|f| (&*f.path, f.last.0, f.is_confirmed)).collect();
    assert_eq!(files, [("src/c.rs", 3, false), ("src/a.rs", 1, true), ("src/b.rs", 1, true)]);
}

#[test]
fn an_instruction_in_the_conversation_is_no_word_of_the_user() {
    let text = "# Environment\n - Primary working directory: /p\n\nThe following deferred tools are now available via ToolSearch:\nA\nB\n\n\
        Available agent types for the Agent tool:\n- Explore";
    let facts = read(&[json!({ "role": "user", "said_as": "system", "content": text })]);
    assert!(facts.user.is_empty(), "{:?}", facts.user);
    let found: Vec<_> =
        facts.client.announced.iter().map(|a| (a.name.as_str(), a.text.lines().count())).collect();
    assert_eq!(found, [("instructions", 2), ("deferred tools", 3), ("agent types", 2)]);
}
