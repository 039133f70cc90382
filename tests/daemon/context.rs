//! The next prompt is valid, fits the window, and keeps its bytes as long as nothing changes.

use bethink_harness::history::{self, Shape};
use bethink_harness::{Daemon, Request, Rng, prompt, say};
use serde_json::{Value, json};

fn context(daemon: &Daemon, session: &str) -> Value {
    daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).ok()
}

#[track_caller]
fn is_valid(answer: &Value, window: u64) {
    let faults = prompt::faults_of(answer);
    assert!(faults.is_empty(), "{faults:?}");
    let tokens = prompt::tokens(answer);
    assert!(tokens <= window, "{tokens} tokens in a window of {window}");
}

/// The messages without cache breakpoints, which move with the end of the prompt.
fn unmarked(messages: &Value) -> Vec<Value> {
    let mut messages = messages.as_array().unwrap().clone();
    for message in &mut messages {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages
}

#[test]
fn the_answer_is_the_body_of_the_next_call() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &say::work(1, 500));
    daemon.append(&session, &[say::user("next")]);
    let tools = r#"[ {"name":"Read", "input_schema":{"type" :"object"},"x":1.50} ]"#;
    let body = format!(
        r#"{{"tools":{tools},"system":[{{"part":"system","text":"second"}},{{"part":"introduction","text":"first"}}]}}"#
    );
    let path = format!("/v1/sessions/{session}/context");
    let request = Request::new("POST", &path).bytes("application/json", body.as_bytes());
    let answer = daemon.client().must(&request);
    assert!(
        answer.text().contains(r#"{"name":"Read", "input_schema":{"type" :"object"},"x":1.50"#),
        "tools keep their bytes: {}",
        answer.brief()
    );
    let answer = answer.ok();
    is_valid(&answer, 200_000);
    let system = answer["system"].to_string();
    let (first, second) = (system.find("first"), system.find("second"));
    assert!(first.is_some() && first < second, "parts in their order: {system}");
    let report = &answer["report"];
    assert_eq!(
        report["thresholds"],
        json!({"window": 200_000, "effective": 192_000,
        "warning": 159_000, "auto": 179_000, "blocking": 189_000}),
        "{report}"
    );
    assert_eq!(report["level"], "comfortable");
    assert_eq!(report["messages"].as_u64(), answer["messages"].as_array().map(|m| m.len() as u64));
    let parts = report["parts"].as_object().unwrap();
    let sum: u64 = parts.values().filter_map(Value::as_u64).sum();
    assert_eq!(report["tokens"].as_u64(), Some(sum), "parts add up: {report}");
}

#[test]
fn an_empty_session_has_no_prompt_and_says_so() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let problem =
        daemon.client().post(&format!("/v1/sessions/{session}/context"), &json!({})).problem();
    assert!(problem["detail"].as_str().unwrap().contains("message"), "{problem}");
    daemon.client().get(&format!("/v1/sessions/{session}/context/report")).ok();
    daemon.is_well();
}

#[test]
fn a_prompt_starts_with_the_prompt_before() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let mut before: Option<Vec<Value>> = None;
    for n in 0..20 {
        let work = say::work(n, 2000);
        for messages in [&work[..1], &work[1..3], &work[3..]] {
            daemon.append(&session, messages);
            if messages[0]["role"] != "user" && messages.len() == 1 {
                continue;
            }
            let answer = context(&daemon, &session);
            is_valid(&answer, 200_000);
            let now = unmarked(&answer["messages"]);
            if let Some(before) = before {
                assert_eq!(now[..before.len()], before[..]);
                assert_eq!(answer["report"]["first_changed"], Value::Null, "{}", answer["report"]);
            }
            before = Some(now);
        }
    }
}

#[test]
fn the_same_question_has_the_same_answer_also_after_a_kill() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(60_000);
    for n in 0..60 {
        daemon.append(&session, &say::work(n, 4000));
        context(&daemon, &session);
    }
    let before = context(&daemon, &session);
    assert_eq!(context(&daemon, &session)["messages"], before["messages"]);
    let report = daemon.client().get(&format!("/v1/sessions/{session}/context/report")).ok();
    assert_eq!(report["tokens"], before["report"]["tokens"]);
    assert_eq!(
        context(&daemon, &session)["messages"],
        before["messages"],
        "a report changes nothing"
    );
    daemon.kill9();
    daemon.start();
    assert_eq!(context(&daemon, &session)["messages"], before["messages"]);
}

#[test]
fn histories_of_every_kind_give_valid_prompts() {
    let daemon = Daemon::fresh();
    let mut rng = Rng::new(0x5e55_1035);
    let mut client = daemon.client();
    for tried in 0..80 {
        let mut shape = Shape::any(&mut rng);
        shape.longest = shape.longest.min(20_000);
        let messages = history::history(&mut rng, shape);
        let session = daemon.session(30_000);
        for part in messages.chunks(1 + rng.below(6)) {
            daemon.append(&session, part);
            let answer = client.post(&format!("/v1/sessions/{session}/context"), &json!({}));
            if answer.status == 200 {
                let answer = answer.json();
                is_valid(&answer, 30_000);
                let shown = answer["messages"].as_array().unwrap();
                assert!(prompt::thinking_kept(&messages, shown), "history {tried}");
            } else {
                // A prompt may only be missing if the history has no readable text.
                let any = prompt::readable(&json!({"messages": messages}));
                let problem = answer.problem();
                assert!(part.len() < 3 || any.trim().is_empty(), "history {tried}: {problem}");
            }
        }
    }
}

#[test]
fn a_long_session_stays_within_a_small_window() {
    let daemon = Daemon::fresh();
    let session = daemon.session(30_000);
    let mut compactions = 0;
    for n in 0..150 {
        let work = say::work(n, 3000);
        daemon.append(&session, &work[..3]);
        let answer = context(&daemon, &session);
        is_valid(&answer, 30_000);
        compactions += usize::from(answer["report"]["compacted"].is_string());
        assert!(
            prompt::readable(&answer).contains(&format!("mend case {n}")),
            "the wish of turn {n}"
        );
        daemon.append(&session, &work[3..]);
    }
    assert!(compactions >= 3, "{compactions}");
    let path = format!("/v1/sessions/{session}/compactions");
    let listed = daemon.client().get(&path).ok()["compactions"].as_array().unwrap().len();
    assert_eq!(listed, compactions);
}

#[test]
fn one_giant_user_message_still_fits() {
    let daemon = Daemon::fresh();
    let session = daemon.session(30_000);
    let line = "2026-01-23 14:00:00 ERROR worker_17 could not open /var/lib/garden/valve.db\n";
    let giant = format!("Why does it fail?\n{}Tell me.", line.repeat(2_000_000 / line.len()));
    daemon.append(&session, &[say::user(&giant)]);
    let answer = context(&daemon, &session);
    is_valid(&answer, 30_000);
    assert!(prompt::readable(&answer).contains("Why does it fail?"));
    daemon.append(&session, &[say::assistant("The valve is shut."), say::user("Open it.")]);
    let next = context(&daemon, &session);
    is_valid(&next, 30_000);
    assert!(prompt::readable(&next).contains("Open it."));
}

#[test]
fn one_giant_turn_still_fits() {
    let daemon = Daemon::fresh();
    let session = daemon.session(30_000);
    let calls: Vec<Value> = (0..20)
        .map(|n| {
            json!({"type": "tool_use", "id": format!("t{n}"), "name": "Read",
            "input": {"file_path": format!("/big/{n}.log")}})
        })
        .collect();
    let results: Vec<Value> = (0..20)
        .map(|n| {
            json!({"type": "tool_result", "tool_use_id": format!("t{n}"),
            "content": format!("line of file {n}\n").repeat(12_000)})
        })
        .collect();
    daemon.append(
        &session,
        &[
            say::user("Read all logs."),
            json!({"role": "assistant", "content": calls}),
            json!({"role": "user", "content": results}),
        ],
    );
    let answer = context(&daemon, &session);
    is_valid(&answer, 30_000);
    assert!(prompt::readable(&answer).contains("Read all logs."));
}

#[test]
fn a_turn_of_many_rounds_still_fits() {
    let daemon = Daemon::fresh();
    let session = daemon.session(30_000);
    daemon.append(&session, &[say::user("Go through the garden, bed by bed.")]);
    for n in 0..80 {
        daemon.append(&session, &say::work(n, 5000)[1..3]);
        is_valid(&context(&daemon, &session), 30_000);
    }
}

#[test]
fn a_window_too_small_to_work_in_is_refused_with_its_reason() {
    let daemon = Daemon::fresh();
    for window in [0, 1, 1000] {
        let body = json!({"project_dir": "/proj/a",
            "model": {"name": "m", "context_window": window, "max_output_tokens": 500}});
        let problem = daemon.client().post("/v1/sessions", &body).problem();
        assert_eq!(problem["field"], "model.context_window", "{problem}");
        assert!(problem["limit"].as_u64().is_some_and(|l| l > 1000), "{problem}");
        assert_eq!(problem["actual"], window, "{problem}");
    }
    daemon.is_well();
}

#[test]
fn never_means_a_typed_overflow_instead_of_a_compaction() {
    let daemon = Daemon::fresh();
    let session = daemon.session(30_000);
    for n in 0..40 {
        daemon.append(&session, &say::work(n, 6000));
    }
    daemon.append(&session, &[say::user("and now?")]);
    let path = format!("/v1/sessions/{session}/context");
    let problem = daemon.client().post(&path, &json!({"compact": "never"})).problem();
    assert_eq!(problem["type"], "context_overflow", "{problem}");
    assert!(problem["context"]["parts"]["tail"].as_u64().is_some_and(|t| t > 0), "{problem}");
    assert!(problem["hint"].is_string(), "{problem}");
    is_valid(&context(&daemon, &session), 30_000);
}

#[test]
fn a_large_result_is_shown_as_the_same_preview_for_ever() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    let big = "2026 INFO all is well in the garden\n".repeat(3000);
    let run = |id: &str, name: &str| {
        [
            say::call(id, name, &json!({"command": "cat log", "file_path": "/log"})),
            say::result(id, &big),
        ]
    };
    daemon.append(&session, &[say::user("look")]);
    daemon.append(&session, &run("shell", "Bash"));
    daemon.append(&session, &run("file", "Read"));
    let first = context(&daemon, &session);
    is_valid(&first, 200_000);
    let result = |answer: &Value, id: &str| -> String {
        let all = answer["messages"].as_array().unwrap().iter().flat_map(prompt::blocks);
        let found: Vec<Value> = all.filter(|b| b["tool_use_id"] == id).collect();
        found[0]["content"].to_string()
    };
    let preview = result(&first, "shell");
    assert!(preview.len() < 3500 && preview.contains("2026 INFO"), "{} bytes", preview.len());
    assert!(
        preview.contains(&big.len().to_string()),
        "tells the size: {}",
        &preview[preview.len() - 400..]
    );
    assert!(result(&first, "file").len() > 100_000, "a file that was read is exempt");
    daemon.append(&session, &say::work(1, 500));
    daemon.append(&session, &[say::user("go on")]);
    assert_eq!(result(&context(&daemon, &session), "shell"), preview);
    let told = daemon.client().get(&format!("/v1/sessions/{session}/decisions")).ok();
    let replaced: Vec<_> =
        told["decisions"].as_array().unwrap().iter().filter(|d| d["kind"] == "replaced").collect();
    assert_eq!((replaced.len(), &replaced[0]["seqs"]), (1, &json!([3])), "{told}");
}

#[test]
fn a_report_tells_the_parts_of_the_newest_prompt() {
    let daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &[say::user("look")]);
    let report = || daemon.client().get(&format!("/v1/sessions/{session}/context/report")).ok();
    assert_eq!(report()["parts"]["tools"], 0, "nothing is known before the first prompt");
    let body = json!({
        "system": [{"part": "introduction", "text": "You water plants. ".repeat(50)}],
        "tools": [{"name": "Water", "description": "x ".repeat(90), "input_schema": {"type": "object"}}]});
    let prompt =
        daemon.client().post(&format!("/v1/sessions/{session}/context"), &body).ok()["report"]
            .clone();
    assert!(prompt["parts"]["tools"].as_u64() > Some(20), "{prompt}");
    assert_eq!(report()["parts"], prompt["parts"]);
    assert_eq!(report()["tokens"], prompt["tokens"]);
}

/// Rounds whose provider counts `percent` of the estimate, plus 30,000 tokens of a system prompt that the daemon
/// does not get.
fn reported_rounds(percent: u64, rounds: u64) -> Vec<Value> {
    let mut messages = vec![say::user("Count.")];
    for round in 0..rounds {
        messages.push(json!({
            "role": "assistant", "assistant_message_id": format!("msg_{round}"),
            "content": [{"type": "text", "text": "Counted."}],
            "usage": {"input_tokens": 30_000 + round * 1_075 * percent / 100, "output_tokens": 1},
        }));
        messages.push(say::user(&"word ".repeat(1_000)));
    }
    messages
}

#[test]
fn reported_usage_is_believed_learnt_from_and_found_again_after_a_restart() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(200_000);
    daemon.append(&session, &reported_rounds(130, 40));
    let path = format!("/v1/sessions/{session}/context/report");
    let before = daemon.client().get(&path).ok();
    assert_eq!(before["tokens_from"], "reported+estimate", "{before}");
    let reported = 30_000 + 39 * 1_075 * 130 / 100;
    assert_eq!(before["estimate"]["reported"], reported, "{before}");
    assert_eq!(before["estimate"]["turns"], 39, "{before}");
    let (scale, error) = (&before["estimate"]["scale"], &before["estimate"]["error"]);
    assert!((1.2..1.31).contains(&scale.as_f64().unwrap()), "{scale}");
    assert!(error.as_f64().unwrap() < 0.12, "{error}");
    let rest = before["tokens"].as_u64().unwrap() - reported;
    assert!((1_280..1_420).contains(&rest), "{rest}");
    daemon.terminate();
    daemon.start();
    let after = daemon.client().get(&path).ok();
    assert_eq!((&after["estimate"], &after["tokens"]), (&before["estimate"], &before["tokens"]));
}

#[test]
fn a_system_prompt_that_is_never_seen_stays_counted_after_a_compaction() {
    let mut daemon = Daemon::fresh();
    let session = daemon.session(80_000);
    let rounds = reported_rounds(100, 30);
    daemon.append(&session, &rounds);
    let made = context(&daemon, &session);
    assert!(made["report"]["compacted"].is_string(), "{}", made["report"]);
    assert_eq!(made["report"]["tokens_from"], "estimate", "{}", made["report"]);
    let tokens = |key: &str| made["report"][key].as_u64().unwrap();
    let parts: u64 =
        made["report"]["parts"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    // It counts for at most a quarter of the effective window.
    assert!((17_900..=18_010).contains(&(tokens("tokens") - parts)), "{}", made["report"]);
    assert!(tokens("remaining") > 0, "{}", made["report"]);
    let stage = made["report"]["stages"].as_array().unwrap().last().unwrap();
    assert_eq!(stage["tokens_after"], tokens("tokens"), "{stage}");
    daemon.terminate();
    daemon.start();
    let path = format!("/v1/sessions/{session}/context/report");
    let after = daemon.client().get(&path).ok();
    // What was learned before the boundary is forgotten, which makes little difference.
    assert!(after["tokens"].as_u64().unwrap().abs_diff(tokens("tokens")) < 100, "{after}");
}
