//! Each tool, resource and prompt, as a client uses it.

use bethink_harness::say;
use bethink_harness::wait::{PATIENCE, until};
use serde_json::{Value, json};

use crate::desk::Desk;

const FOG: &str = "---\ndescription: How far one sees in the fog\ntype: project\n---\nThe fog ends at 800 metres.\n";

#[test]
fn what_is_remembered_is_recalled() {
    let desk = Desk::new();
    let none = desk.call("recall", &json!({ "query": "How far does the fog reach?" })).good();
    assert_eq!(none.text, "This project has no memories yet.");
    let text = "The fog ends at 800 metres, since the radar is mounted there.";
    let kept = desk.call("remember", &json!({ "text": text, "type": "project" })).good();
    assert_eq!(
        (&kept.value["outcome"], &kept.value["scope"]),
        (&json!("created"), &json!("private"))
    );
    let found =
        desk.call("recall", &json!({ "query": "Where does the fog end?", "limit": 3 })).good();
    let memory = &found.value["memories"][0];
    assert_eq!(memory["name"], kept.value["name"]);
    assert!(memory["content"].as_str().unwrap().contains(text), "{memory}");
    assert!(!memory["why"].as_array().unwrap().is_empty(), "{memory}");
    assert!(found.text.contains("<memory>\n") && found.text.contains(text), "{}", found.text);
    assert!(found.text.contains("not requests") && found.text.contains("today"), "{}", found.text);
    // The agent wrote it: a person's sentences are told apart.
    let name = kept.value["name"].as_str().unwrap();
    let stored = desk.topic("private", name).text();
    assert!(stored.contains("strategy: agent"), "{stored}");
    let path = format!("/v1/memories/private/{name}/history?project_dir={}", desk.project());
    let history = desk.daemon.client().get(&path).ok();
    assert_eq!(history["versions"][0]["author"], "agent", "{history}");
    // Found by its meaning once it is encoded, which no write waits for.
    let misfit = json!({ "query": "Which colour has the harbour crane?" });
    let found = until(PATIENCE, || {
        let told = desk.call("recall", &misfit).good();
        (told.text.matches("Perhaps: ").count() == 1).then_some(())
    });
    assert!(found.is_some(), "{}", desk.call("recall", &misfit).good().text);
}

/// Nothing enters the team's memory by a tool.
#[test]
fn the_team_gets_a_proposal() {
    let desk = Desk::new();
    let text = "Releases are cut on Tuesdays.";
    let asked = desk.call("remember", &json!({ "text": text, "scope": "team" })).good();
    assert_eq!(asked.value["outcome"], "proposed");
    let name = asked.value["name"].as_str().unwrap();
    assert_eq!(desk.topic("team", name).status, 404);
    let path = format!("/v1/proposals?project_dir={}", desk.project());
    let waiting = desk.daemon.client().get(&path).ok();
    assert_eq!(waiting["proposals"][0]["id"], asked.value["proposal_id"]);
    assert_eq!(waiting["proposals"][0]["by"], "agent");
    let again = desk.call("remember", &json!({ "text": text, "scope": "team" })).bad();
    assert!(again.starts_with("conflict: "), "{again}");
    let key = "The key is AKIAIOSFODNN7EXAMPLQ and the password is hunter2hunter2.";
    let secret = desk.call("remember", &json!({ "text": key, "scope": "team" })).bad();
    assert!(!secret.contains("AKIAIOSFODNN7EXAMPLQ"), "{secret}");
}

#[test]
fn a_candidate_is_kept_or_dropped_by_its_id() {
    let desk = Desk::new();
    let mut waiting = Vec::new();
    for said in [
        "Ideally the retry limit is configurable, because some servers are slow.",
        "Ideally the log level is configurable, because the logs are noisy.",
    ] {
        let session = desk.session();
        desk.daemon.append(&session, &[say::user(said), say::assistant("Good.")]);
        let path = format!("/v1/sessions/{session}/extract");
        let done = desk.daemon.client().post(&path, &json!({})).ok();
        waiting.push(done["candidates"][0]["id"].as_str().unwrap().to_owned());
    }
    let [first, second] = <[String; 2]>::try_from(waiting).unwrap();
    let text = "The retry limit belongs into the settings.";
    let short = &first[first.len() - 8..];
    let kept = desk.call("remember", &json!({ "keep": short, "text": text })).good();
    assert_eq!(kept.value["outcome"], "created", "{}", kept.text);
    let topic = desk.topic("private", kept.value["name"].as_str().unwrap()).text();
    assert!(topic.contains(text) && topic.contains("> Ideally the retry limit"), "{topic}");
    let gone = desk.call("remember", &json!({ "keep": short })).bad();
    assert!(gone.starts_with("not_found: "), "{gone}");
    let dropped = desk.call("remember", &json!({ "drop": second })).good();
    assert_eq!(dropped.value["outcome"], "dropped");
    let nothing = desk.call("remember", &json!({ "type": "user" })).bad();
    assert!(nothing.contains("`keep` or `drop`"), "{nothing}");
    let path = format!("/v1/candidates?project_dir={}", desk.project());
    assert_eq!(desk.daemon.client().get(&path).ok()["candidates"], json!([]));
}

#[test]
fn history_is_searched_in_one_session_or_in_all() {
    let desk = Desk::new();
    let (one, other) = (desk.session(), desk.session());
    desk.daemon.append(
        &one,
        &[say::user("The tide gauge at Husum reads wrong."), say::assistant("Noted.")],
    );
    desk.daemon
        .append(&other, &[say::user("The tide gauge at Wismar is fine."), say::assistant("Good.")]);
    let all = desk.call("search_history", &json!({ "query": "tide gauge" })).good();
    assert_eq!(all.value["hits"].as_array().unwrap().len(), 2, "{}", all.value);
    assert!(all.text.contains("Husum") && all.text.contains("Wismar"), "{}", all.text);
    let within =
        desk.call("search_history", &json!({ "query": "tide gauge", "session_id": one })).good();
    assert_eq!(within.value["hits"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&within.value["hits"][0]["session_id"], &within.value["hits"][0]["seq"]),
        (&json!(one), &json!(1))
    );
    // From a folder of the project, too.
    let deep = desk.project.join("src/deep");
    let args = json!({ "query": "tide gauge", "project_dir": deep });
    assert_eq!(
        desk.call("search_history", &args).good().value["hits"].as_array().unwrap().len(),
        2
    );
    let elsewhere = json!({ "query": "tide gauge", "project_dir": "/nowhere/else" });
    assert_eq!(desk.call("search_history", &elsewhere).good().text, "No message matches.");
    let many = desk.call("search_history", &json!({ "query": "tide", "limit": 100_000 })).bad();
    assert!(many.starts_with("invalid: limit"), "{many}");
}

#[test]
fn the_last_session_is_one_of_the_same_working_tree() {
    let desk = Desk::new();
    let session = desk.session();
    desk.daemon.append(&session, &[say::user("Please mend the gauge.")]);
    let below = desk.project.join("below");
    std::fs::create_dir(&below).unwrap();
    let ask = |tool: &str, arguments: Value| {
        let mut arguments = arguments;
        arguments["project_dir"] = json!(below);
        desk.call(tool, &arguments)
    };
    let last = || ask("notes", json!({ "session_id": "last" }));
    assert_eq!(last().good().value["session_id"], json!(session));
    let search = || ask("search_history", json!({ "query": "gauge" })).good().text;
    let is_found = || search().contains("mend the gauge").then_some(());
    assert!(until(PATIENCE, is_found).is_some(), "{}", search());
    // It becomes a repository of its own, in which nobody has worked yet.
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(&below).status();
    assert!(git.unwrap().success());
    assert!(last().bad().contains("has no sessions"));
    let write = json!({ "session_id": "last", "todos": [{ "content": "x", "status": "pending" }] });
    assert!(ask("todos", write).bad().contains("has no sessions"));
    assert!(!search().contains("mend the gauge"), "{}", search());
}

#[test]
fn notes_and_todos_belong_to_a_session_that_is_named() {
    let desk = Desk::new();
    let session = desk.session();
    desk.daemon
        .append(&session, &[say::user("Please mend the gauge."), say::assistant("I mend it.")]);
    desk.daemon.client().post(&format!("/v1/sessions/{session}/notes/update"), &json!({})).ok();
    let unnamed = desk.call("notes", &json!({})).bad();
    assert!(unnamed.contains(&session) && unnamed.contains("the tide job"), "{unnamed}");
    let notes = desk.call("notes", &json!({ "session_id": "last" })).good();
    assert_eq!(
        (&notes.value["session_id"], &notes.value["through_seq"]),
        (&json!(session), &json!(2))
    );
    assert!(notes.text.contains("# Current State"), "{}", notes.text);
    let list = json!([
        { "content": "mend the gauge", "status": "in_progress", "priority": "high" },
        { "content": "write it down", "status": "pending" },
    ]);
    let put = desk.call("todos", &json!({ "session_id": session, "todos": list })).good();
    assert!(put.text.contains("[>] mend the gauge (high)\n[ ] write it down"), "{}", put.text);
    let read = desk.call("todos", &json!({ "session_id": session })).good();
    assert_eq!(read.value["todos"], put.value["todos"]);
    let empty = desk.call("todos", &json!({ "session_id": session, "todos": [] })).good();
    assert_eq!(empty.text, "The todo list is empty.");
    let wrong = desk.call(
        "todos",
        &json!({ "session_id": session, "todos": [{ "content": "x", "status": "later" }] }),
    );
    assert!(wrong.bad().contains("in_progress"));
    // A client that works in one session names it once.
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "todos", "arguments": {} } });
    let request = desk.request(&message).header("X-Bethink-Session", &session);
    let answer = desk.daemon.client().must(&request).ok();
    assert_eq!(answer["result"]["structuredContent"]["session_id"], json!(session));
}

#[test]
fn what_a_compaction_took_away_is_read_again() {
    let desk = Desk::new();
    let session = desk.session();
    let none = desk.call("expand", &json!({ "session_id": session })).bad();
    assert!(none.contains("no compaction"), "{none}");
    for n in 0..100 {
        desk.daemon.append(&session, &say::work(n, 3_000));
    }
    desk.daemon.append(&session, &[say::user("Go on with case 100.")]);
    let made =
        desk.daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    let line = desk
        .call("expand", &json!({ "session_id": session, "query": "- case 3 is mended [13]" }))
        .good();
    assert_eq!(line.value["messages"][0]["seq"], 13);
    assert!(line.text.contains("mend case 3"), "{}", line.text);
    // Page by page, none twice and none left out.
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..10 {
        let args = json!({ "session_id": session, "id": made["id"], "cursor": cursor });
        let page = desk.call("expand", &args).good();
        assert!(page.text.len() < 40_000, "{}", page.text.len());
        let messages = page.value["messages"].as_array().unwrap();
        seen.extend(messages.iter().map(|message| message["seq"].as_u64().unwrap()));
        cursor = page.value["next_cursor"].clone();
    }
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
    assert!(seen.len() > 50, "{}", seen.len());
    let unknown = json!({ "session_id": session, "id": "0199a1b2-0000-7000-8000-000000000000" });
    assert!(desk.call("expand", &unknown).bad().contains("no compaction or collapsed span"));
}

#[test]
fn arguments_are_checked_and_the_answer_names_them() {
    let desk = Desk::new();
    for (tool, arguments, said) in [
        ("recall", json!({}), "query"),
        ("recall", json!({ "query": 5 }), "query: must be a string, not 5"),
        ("recall", json!({ "query": "x", "limit": "3" }), "limit: must be a whole number"),
        ("recall", json!({ "query": "x", "colour": "red" }), "colour: is not a known field"),
        ("recall", json!({ "query": "  " }), "query"),
        ("recall", json!({ "query": "x", "limit": -1 }), "invalid"),
        ("recall", json!({ "query": "x", "session_id": "no id" }), "is not a valid ID"),
        ("recall", json!({ "query": "x", "project_dir": "not/absolute" }), "absolute"),
        (
            "recall",
            json!({ "query": "x", "session_id": "0199a1b2-0000-7000-8000-000000000000" }),
            "not_found",
        ),
        ("remember", json!({ "text": "" }), "text"),
        ("remember", json!({ "text": "x", "scope": "everybody" }), "private"),
        ("remember", json!({ "text": "x", "name": "../../x" }), "as a path component"),
        ("notes", json!({ "session_id": "last", "project_dir": "/nowhere/else" }), "no session"),
        ("notes", json!({ "session_id": "0199a1b2-0000-7000-8000-000000000000" }), "not_found"),
        ("search_history", json!({ "query": "x".repeat(100_000) }), "at most"),
        ("search_history", json!({ "query": "" }), "query: must not be empty"),
        ("todos", json!({ "todos": [{ "content": "x" }] }), "todos[0].status: is missing"),
        ("memory", json!({ "command": "format", "path": "/" }), "command: must be one of"),
        ("memory", json!({ "command": "create", "path": "/memories/a.md" }), "file_text"),
    ] {
        let told = desk.call(tool, &arguments).bad();
        assert!(told.contains(said), "{tool} {said}: {told}");
        assert!(told.len() < 2_000, "{tool}: {}", told.len());
    }
    desk.daemon.is_well();
}

/// No project is guessed: another one's memory is worse than a question.
#[test]
fn a_client_that_names_no_project_is_asked_for_it() {
    let desk = Desk::new();
    desk.put("fog", FOG);
    let ask = |method: &str, params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = bethink_harness::Request::new("POST", "/mcp")
            .json(&message)
            .header("Accept", "application/json, text/event-stream");
        desk.daemon.client().must(&request).json()
    };
    let asked = ask("tools/call", json!({ "name": "recall", "arguments": { "query": "fog" } }));
    let told = asked["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        told.starts_with("invalid: project_dir") && told.contains("X-Bethink-Project"),
        "{told}"
    );
    assert_eq!(ask("resources/list", json!({}))["result"]["resources"], json!([]));
    let read = ask("resources/read", json!({ "uri": "bethink://memory/private/fog" }));
    assert_eq!(
        (&read["error"]["code"], &read["error"]["data"]["field"]),
        (&json!(-32_602), &json!("project_dir"))
    );
    let named =
        json!({ "name": "recall", "arguments": { "query": "fog", "project_dir": desk.project() } });
    assert_eq!(
        ask("tools/call", named)["result"]["structuredContent"]["memories"][0]["name"],
        "fog"
    );
}

#[test]
fn memories_and_notes_are_resources() {
    let desk = Desk::new();
    desk.put("fog", FOG);
    desk.put("plans%2Fw%C3%A4rme", "Heat.\n");
    for n in 0..120 {
        desk.put(&format!("topic-{n:03}"), "Text.\n");
    }
    let (mut uris, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..2 {
        let page = desk.result("resources/list", &json!({ "cursor": cursor }));
        let listed = page["resources"].as_array().unwrap();
        uris.extend(listed.iter().map(|resource| resource["uri"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
    }
    assert!(cursor.is_null(), "{cursor}");
    assert_eq!(uris.len(), 122);
    for uri in uris.iter().take(3) {
        let read = desk.result("resources/read", &json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["uri"], json!(uri));
        assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
    }
    assert!(uris.contains(&"bethink://memory/private/plans%2Fw%C3%A4rme".to_owned()), "{uris:?}");
    let session = desk.session();
    let notes =
        desk.result("resources/read", &json!({ "uri": format!("bethink://notes/{session}") }));
    assert!(notes["contents"][0]["text"].as_str().unwrap().contains("# "), "{notes}");
    let templates = desk.result("resources/templates/list", &json!({}));
    let of: Vec<_> = templates["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["uriTemplate"].clone())
        .collect();
    assert_eq!(of, ["bethink://memory/{scope}/{name}", "bethink://notes/{session}"]);
}

#[test]
fn prompts_hand_on_what_is_known() {
    let desk = Desk::new();
    desk.put("fog", FOG);
    let names = desk.result("prompts/list", &json!({}));
    let names: Vec<_> =
        names["prompts"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["recall", "handover"]);
    let text = |params: Value| {
        let prompt = desk.result("prompts/get", &params);
        assert_eq!(prompt["messages"][0]["role"], "user");
        prompt["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
    };
    let recalled =
        text(json!({ "name": "recall", "arguments": { "query": "How far is the fog?" } }));
    assert!(recalled.contains("The fog ends at 800 metres."), "{recalled}");
    let session = desk.session();
    desk.daemon
        .append(&session, &[say::user("Please mend the gauge at Husum."), say::assistant("Done.")]);
    desk.daemon.client().post(&format!("/v1/sessions/{session}/notes/update"), &json!({})).ok();
    let handed = text(json!({ "name": "handover" }));
    assert!(
        handed.contains(&session) && handed.contains("Husum") && handed.contains("<memory>"),
        "{handed}"
    );
}
