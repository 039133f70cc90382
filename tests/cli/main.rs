//! The real `bethink` against the real daemon: what a person types, what they read, how it exits.

// A test that can't go on stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod completions;
mod dream;
mod json;
mod memory;
mod options;
mod service;
mod surface;
mod team;
mod terminal;
mod token;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use terminal::{Terminal, done};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

#[test]
fn a_file_comes_back_as_it_was() {
    let terminal = Terminal::new();
    for name in [
        "plain.jsonl",
        "sidechain.jsonl",
        "boundary.jsonl",
        "damaged.jsonl",
        "crlf.jsonl",
        "no_newline.jsonl",
    ] {
        let file = fixture(name);
        let told = done(terminal.run(&["import", &file.to_string_lossy(), "--json"]));
        let told: Value = serde_json::from_str(&told).unwrap();
        for member in ["file", "session_id", "messages", "children", "skipped"] {
            assert!(told.get(member).is_some(), "{name}: {told}");
        }
        let copy = terminal.path().join(name);
        let session = told["session_id"].as_str().unwrap();
        done(terminal.run(&["export", session, "-o", &copy.to_string_lossy()]));
        assert_eq!(fs::read(&copy).unwrap(), fs::read(&file).unwrap(), "{name}");
    }
}

#[test]
fn sessions_of_agents_are_found_and_imported() {
    let terminal = Terminal::new();
    let sessions = terminal.path().join("codex");
    let dir = sessions.join("2026/03/01");
    fs::create_dir_all(&dir).unwrap();
    let record = |ordinal: u64, kind: &str, payload: Value| {
        let time = "2026-03-01T10:00:00.000Z";
        json!({ "timestamp": time, "ordinal": ordinal, "type": kind, "payload": payload })
    };
    let said = |ordinal: u64, role: &str, text: &str| {
        let content = json!([{ "type": "input_text", "text": text }]);
        let message = json!({ "type": "message", "role": role, "content": content });
        record(ordinal, "response_item", message)
    };
    let lines = [
        record(0, "session_meta", json!({ "id": "c1", "cwd": "/work" })),
        said(1, "user", "mend the gate"),
        said(2, "assistant", "mended"),
    ];
    let file = dir.join("rollout-1-c1.jsonl");
    fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let sessions = sessions.to_string_lossy();
    let shown = done(terminal.run(&["import", "--agent", "codex", &sessions, "--dry-run"]));
    assert!(shown.contains("Codex") && shown.contains("2026-03-01"), "{shown}");
    let told = done(terminal.run(&["import", "--agent", "codex", &sessions, "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["messages"], &told["already_imported"]), (&json!(2), &json!(false)));
    // The content of a file tells which agent wrote it.
    let again = done(terminal.run(&["import", &file.to_string_lossy(), "--json"]));
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["session_id"], &again["messages"]), (&told["session_id"], &json!(2)));
    assert_eq!(again["already_imported"], json!(true));
    for wrong in [&["import", "--agent", "codx"][..], &["import", "--dry-run", "x.jsonl"]] {
        assert_eq!(terminal.run(wrong).code, 2, "{wrong:?}");
    }
}

#[test]
fn what_a_client_inserted_is_neither_shown_nor_handed_over() {
    let terminal = Terminal::new();
    let reminder = "<system-reminder>\nSkills: a, b\n</system-reminder>";
    let text = |text: &str| json!({ "type": "text", "text": text });
    let line = json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/proj/garden",
        "sessionId": "0b6f7a52-3a2e-4f0e-9c58-6f2f1f3f9a11", "version": "2.1.7", "type": "user",
        "message": { "role": "user", "content": [text(reminder), text("Mend the gate")] },
        "uuid": "00000001-0000-4000-8000-000000000000", "timestamp": "2026-01-23T14:00:01.000Z",
    });
    let file = terminal.path().join("one.jsonl");
    fs::write(&file, format!("{line}\n")).unwrap();
    done(terminal.run(&["import", &file.to_string_lossy()]));
    let history = done(terminal.run(&["history"]));
    assert!(history.contains("Mend the gate") && !history.contains("Skills"), "{history}");
    assert!(history.contains("[+ 3 lines inserted by the client]"), "{history}");
    assert!(done(terminal.run(&["history", "--full"])).contains("Skills"));
    assert!(done(terminal.run(&["history", "--json"])).contains("Skills"));
    let id = done(terminal.run(&["session", "ls", "--all", "--quiet"]));
    let prompt = done(terminal.run(&["continue", "codex", "--print", "--session", id.trim()]));
    assert!(prompt.contains("    Mend the gate"), "{prompt}");
    assert!(!prompt.contains("Skills") && !prompt.contains("inserted"), "{prompt}");
}

#[test]
fn files_without_messages_make_no_sessions() {
    let terminal = Terminal::new();
    let dir = terminal.path().join("files");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("empty.jsonl"), "").unwrap();
    fs::write(dir.join("broken.jsonl"), "{\"type\":\"user\",\n").unwrap();
    fs::write(dir.join("random.jsonl"), b"\xff\x00\xfe\n").unwrap();
    fs::copy(fixture("plain.jsonl"), dir.join("plain.jsonl")).unwrap();
    let ended = terminal.run(&["import", &dir.to_string_lossy()]);
    assert!(ended.code == 1 && ended.out.contains("plain.jsonl"), "{ended:?}");
    for told in
        ["empty.jsonl: the file contains no messages", "broken.jsonl: ", "line 1: invalid UTF-8"]
    {
        assert!(ended.err.contains(told), "{told}: {ended:?}");
    }
    let listed = done(terminal.run(&["session", "ls", "--all", "--quiet"]));
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn a_session_from_import_to_undo() {
    let terminal = Terminal::new();
    done(terminal.run(&["import", &fixture("plain.jsonl").to_string_lossy()]));
    let listed = done(terminal.run(&["session", "ls", "--all"]));
    assert!(listed.lines().count() >= 1, "{listed}");
    let none = terminal.run(&["session", "ls", "--all", "--search", "no-such-word"]);
    assert!(none.err.contains("no sessions match"), "{none:?}");
    done(terminal.run(&["session", "rename", "last", "the tide job"]));
    assert!(done(terminal.run(&["session", "show", "last"])).contains("the tide job"));
    let bar = done(terminal.run(&["context"]));
    assert!(bar.contains("comfortable") && bar.contains("auto"), "{bar}");
    let whole = done(terminal.run(&["history", "--message", "1", "--json"]));
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["seq"], 1);
    let missing = terminal.run(&["history", "--message", "100000"]);
    assert_eq!((missing.code, missing.err.contains("numbered 1 to")), (1, true), "{missing:?}");
    // Too small to compact: a refusal with a reason, and nothing changed.
    let refused = terminal.run(&["compact", "--session", "last"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let compactions = done(terminal.run(&["compactions", "--json"]));
    assert_eq!(
        serde_json::from_str::<Value>(&compactions).unwrap()["compactions"],
        Value::Array(vec![])
    );
}

#[test]
fn notes_are_shown_edited_and_respected() {
    let terminal = Terminal::new();
    done(terminal.run(&["import", &fixture("plain.jsonl").to_string_lossy()]));
    let bare = terminal.run(&["notes", "show"]);
    assert!(bare.err.contains("there are no notes yet"), "{bare:?}");
    let first = [("EDITOR", "printf -- '- The boat is red.\\n' >>")];
    done(terminal.run_with(&["notes", "edit", "--session", "last"], &first));
    let own = terminal.run(&["notes", "show"]);
    assert!(own.out.contains("The boat is red.") && !own.err.contains("no notes"), "{own:?}");
    done(terminal.run(&["notes", "update", "--session", "last"]));
    let shown = done(terminal.run(&["notes", "show"]));
    assert!(shown.contains("# Current State") && shown.contains("[1]"), "{shown}");
    let told: Value =
        serde_json::from_str(&done(terminal.run(&["notes", "show", "--json"]))).unwrap();
    assert!(told["through_seq"].as_u64().unwrap() > 0, "{told}");
    let none = terminal.run(&["notes", "edit", "--session", "last"]);
    assert!(none.code == 1 && none.err.contains("VISUAL"), "{none:?}");
    let append = [("EDITOR", "printf -- '- The shed key hangs by the door.\\n' >>")];
    done(terminal.run_with(&["notes", "edit", "--session", "last"], &append));
    done(terminal.run(&["notes", "update", "--session", "last"]));
    let shown = done(terminal.run(&["notes", "show"]));
    assert!(shown.contains("The shed key hangs by the door."), "{shown}");
    assert!(done(terminal.run(&["session", "resume"])).contains("The shed key hangs by the door."));
    let unchanged =
        terminal.run_with(&["notes", "edit", "--session", "last"], &[("EDITOR", "true")]);
    assert!(unchanged.code == 0 && unchanged.err.contains("nothing was changed"), "{unchanged:?}");
}

/// Somebody else changes the notes while they are in the editor.
#[test]
fn an_edit_that_loses_a_race_keeps_the_text_in_a_file() {
    let terminal = Terminal::new();
    done(terminal.run(&["import", &fixture("plain.jsonl").to_string_lossy()]));
    done(terminal.run(&["notes", "update", "--session", "last"]));
    let told: Value =
        serde_json::from_str(&done(terminal.run(&["notes", "show", "--json"]))).unwrap();
    let session = told["session_id"].as_str().unwrap();
    let file = terminal.path().join("home/session-memory").join(format!("{session}.md"));
    let editor = format!("echo other >> {}; echo mine >>", file.display());
    let lost = terminal.run_with(
        &["notes", "edit", "--session", "last"],
        &[("EDITOR", &format!("sh -c '{editor} \"$1\"' sh"))],
    );
    assert_eq!(lost.code, 1, "{lost:?}");
    let words = lost.err.split_whitespace();
    let kept = words
        .map(|word| word.trim_end_matches(';'))
        .find(|word| word.ends_with(".md"))
        .expect("a file is named");
    assert!(fs::read_to_string(kept).unwrap().ends_with("mine\n"));
    fs::remove_file(kept).unwrap();
    let shown = done(terminal.run(&["notes", "show"]));
    assert!(shown.contains("other") && !shown.contains("mine"), "{shown}");
}

#[test]
fn a_replay_tells_its_figures() {
    let terminal = Terminal::new();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/cli/assets/demo.jsonl");
    let told =
        done(terminal.run(&["replay", &demo.to_string_lossy(), "--window", "40000", "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["invalid_prompts"], 0, "{told}");
    assert_eq!(told["overruns"], 0, "{told}");
    assert!(told["messages"].as_u64().unwrap() >= 150, "{told}");
    assert!(told["notes_updates"].as_u64().unwrap() >= 1, "{told}");
    assert!(told["max_prompt_tokens"].as_u64().unwrap() <= 40_000, "{told}");
    let compactions = told["compactions"].as_array().unwrap();
    assert!(!compactions.is_empty(), "{told}");
    for one in compactions {
        assert!(one["tokens_after"].as_u64() < one["tokens_before"].as_u64(), "{one}");
        assert!(one["fidelity"].as_f64().unwrap() > 0.5, "{one}");
    }
    // What was said before the first boundary is found again, and a compaction can be taken back.
    let found = done(terminal.run(&["search", "monotonic", "clock", "--json"]));
    assert!(!serde_json::from_str::<Value>(&found).unwrap()["hits"].as_array().unwrap().is_empty());
    assert!(!done(terminal.run(&["expand"])).is_empty());
    done(terminal.run(&["undo"]));
    assert!(done(terminal.run(&["compactions"])).contains("undone"));
    let endless = "x".repeat(100_000);
    let refused = terminal.run(&["search", &endless]);
    assert!(refused.err.contains("100000 bytes") && refused.err.contains("rarest words"));
}

#[test]
fn a_replay_shows_what_was_kept() {
    let terminal = Terminal::new();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/cli/assets/demo.jsonl");
    let file = demo.to_string_lossy();
    let told = done(terminal.run(&["replay", &file, "--window", "40000"]));
    for heading in [" Notes  ", " Summary  ", " Nothing is lost  ", " Compactions  ", " Figures\n"]
    {
        assert!(told.contains(heading), "{heading:?}: {told}");
    }
    // A filled section, a compaction with its level, a hit from behind the boundary.
    assert!(told.contains("  Current State "), "{told}");
    let first = told.lines().find(|line| line.starts_with(" 1  ")).unwrap();
    assert!(first.contains("embedded") || first.contains("session_memory"), "{first}");
    assert!(told.contains("the prompt now begins at message"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    let only_id = done(terminal.run(&["replay", &file, "--quiet"]));
    assert_eq!(only_id.trim().len(), 36, "{only_id}");
}

#[test]
fn the_demo_shows_a_compaction_and_leaves_nothing_behind() {
    let terminal = Terminal::new();
    let told = done(terminal.run(&["demo"]));
    for word in ["before", "after", "fidelity", "search", " notes  ", "current state", " figures"] {
        assert!(told.to_lowercase().contains(word), "{word}: {told}");
    }
    assert!(!terminal.path().join("home").exists(), "the demo has a home of its own");
}

#[test]
fn exit_codes_tell_what_went_wrong() {
    let terminal = Terminal::new();
    for (words, code) in [
        (&["no-such-verb"][..], 2),
        (&["session", "show", "no-such-session"][..], 2),
        (&["session", "show", "01a20000-0000-7000-8000-000000000000"][..], 1),
        (&["import", "/no/such/file.jsonl"][..], 1),
        (&["search", ""][..], 2),
        (&["memory", "search", ""], 2),
        (&["remember", " "][..], 2),
        (&["recall", ""][..], 2),
        (&["completions", "bash"][..], 0),
    ] {
        let ended = terminal.run(words);
        assert_eq!(ended.code, code, "{words:?}: {ended:?}");
    }
    let unreachable = terminal
        .run_with(&["status"], &[("BETHINK_URL", "http://127.0.0.1:9"), ("BETHINK_TOKEN", "x")]);
    assert_eq!(unreachable.code, 3, "{unreachable:?}");
}

#[test]
fn up_twice_is_one_daemon_and_down_stops_it() {
    let terminal = Terminal::new();
    let first = done(terminal.run(&["up", "--json"]));
    let second = done(terminal.run(&["up", "--json"]));
    let pid = |text: &str| serde_json::from_str::<Value>(text).unwrap()["pid"].clone();
    assert_eq!(pid(&first), pid(&second));
    let doctor = terminal.run(&["doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
    done(terminal.run(&["down"]));
    assert!(!terminal.path().join("home/daemon.json").exists());
}

#[test]
fn settings_without_effect_are_listed_without_their_values() {
    let terminal = Terminal::new();
    let config = terminal.path().join("config.toml");
    fs::write(&config, "[memory]\nlayuot = 'claude'\n[model]\napi_key = 'sk-c4n4ry'\n[foo]\n")
        .unwrap();
    let config = config.to_string_lossy();
    let settings = [("BETHINK_CONFIG", &*config), ("BETHINK_DAEMON__SOKCET", "c4n4ry")];
    for words in ["doctor", "config list"] {
        let words: Vec<_> = words.split(' ').collect();
        let ended = terminal.run_with(&words, &settings);
        let said =
            format!("{}{}", ended.out, ended.err).split_whitespace().collect::<Vec<_>>().join(" ");
        for expect in [
            "`memory.layuot` is not a setting and has no effect; did you mean `memory.layout`?",
            "did you mean `model.api_key_env`?",
            "`foo` is not a setting",
            "BETHINK_DAEMON__SOKCET is not a setting and has no effect; did you mean `BETHINK_DAEMON__SOCKET`?",
        ] {
            assert!(said.contains(expect), "{expect}: {said}");
        }
        assert!(!said.contains("c4n4ry"), "{said}");
    }
    fs::write(&*config, "[daemon]\nlog = 'nonsense==='\n").unwrap();
    let doctor = terminal.run_with(&["doctor"], &settings);
    assert!(doctor.code == 1 && doctor.out.contains("`daemon.log` is"), "{doctor:?}");
}

#[test]
fn an_import_during_a_pause_says_so() {
    let terminal = Terminal::new();
    done(terminal.run(&["pause"]));
    let imported = terminal.run(&["import", &fixture("plain.jsonl").to_string_lossy()]);
    assert!(imported.code == 0 && imported.err.contains("recording is paused"), "{imported:?}");
}

/// What a person reads about a model that can't be had: where it is and where its key comes from, never the key.
#[test]
fn a_model_is_told_of_without_its_key() {
    let terminal = Terminal::new();
    let key = "sk-ant-c4n4ryc4n4ry";
    let settings = [
        ("BETHINK_MODEL__PROVIDER", "anthropic"),
        ("BETHINK_MODEL__BASE_URL", "http://127.0.0.1:1"),
        ("BETHINK_MODEL__API_KEY_ENV", "A_KEY"),
        ("BETHINK_MODEL__DEADLINE_MS", "2000"),
        ("BETHINK_LOG", "trace"),
        ("A_KEY", key),
    ];
    let run = |words: &[&str]| {
        let ended = terminal.run_with(words, &settings);
        let said = format!("{}{}", ended.out, ended.err);
        assert!(!said.contains("c4n4ry"), "{words:?}: {said}");
        said
    };
    run(&["import", &fixture("plain.jsonl").to_string_lossy()]);
    assert!(run(&["usage"]).contains("no model calls"));
    run(&["compact", "--session", "last"]);
    run(&["notes", "update", "--session", "last"]);
    let doctor = run(&["doctor"]);
    assert!(doctor.contains("anthropic at http://127.0.0.1:1"), "{doctor}");
    assert!(doctor.contains("from the environment variable A_KEY, which is set"), "{doctor}");
    assert!(!doctor.contains(" notes "), "told once, by its own name: {doctor}");
    let status = run(&["status"]);
    assert!(status.contains("  model     each session's own model: "), "{status}");
    assert!(status.contains("            anthropic at http://127.0.0.1:1"), "{status}");
    let usage: Value = serde_json::from_str(&run(&["usage", "--json"])).unwrap();
    assert!(usage["totals"]["failed"].as_u64().unwrap() > 0, "{usage}");
    assert!(usage["rows"][0]["session_id"].is_string(), "{usage}");
    for words in
        [&["usage"][..], &["status", "--json"], &["doctor", "--json"], &["logs", "-n", "99999"]]
    {
        run(words);
    }
}
