//! The commands of Anthropic's memory tool: their words, their effects, and what they can't reach.

use std::collections::BTreeMap;
use std::thread;

use bethink_test_clients::{Kit, kit};
use serde_json::{Value, json};

use crate::desk::Desk;

fn create(path: &str, text: &str) -> Value {
    json!({ "command": "create", "path": path, "file_text": text })
}

fn view(path: &str) -> Value {
    json!({ "command": "view", "path": path })
}

#[test]
fn files_are_made_read_changed_and_taken_away() {
    let desk = Desk::new();
    let good = |input: Value| desk.memory(&input).good().text;
    let path = "/memories/plans/fog.md";
    assert_eq!(
        good(create(path, "one\ntwo\nthree\n")),
        format!("File created successfully at: {path}")
    );
    assert_eq!(
        good(view(path)),
        format!(
            "Here's the content of {path} with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
        )
    );
    let replace =
        json!({ "command": "str_replace", "path": path, "old_str": "two", "new_str": "2" });
    assert!(good(replace).starts_with("The memory file has been edited."));
    let insert =
        json!({ "command": "insert", "path": path, "insert_line": 0, "insert_text": "zero" });
    assert_eq!(good(insert), format!("The file {path} has been edited."));
    assert_eq!(desk.topic("private", "plans%2Ffog").text(), "zero\none\n2\nthree\n");
    let rename =
        json!({ "command": "rename", "old_path": "/memories/plans", "new_path": "/memories/done" });
    assert_eq!(good(rename), "Successfully renamed /memories/plans to /memories/done");
    assert_eq!(desk.topic("private", "done%2Ffog").text(), "zero\none\n2\nthree\n");
    assert_eq!(desk.topic("private", "plans%2Ffog").status, 404);
    let listed = good(view("/memories"));
    assert!(
        listed.ends_with("/memories/MEMORY.md\n17B\t/memories/done/\n17B\t/memories/done/fog.md"),
        "{listed}"
    );
    let delete = json!({ "command": "delete", "path": "/memories/done" });
    assert_eq!(good(delete), "Successfully deleted /memories/done");
    assert!(desk.memory(&view("/memories/done")).bad().contains("does not exist"));
    // Nothing is lost by it: every text is a version, and may come back.
    let path = format!("/v1/memories/private/done%2Ffog/restore?project_dir={}", desk.project());
    desk.daemon.client().post(&path, &json!({})).ok();
    assert_eq!(desk.topic("private", "done%2Ffog").text(), "zero\none\n2\nthree\n");
    let history =
        format!("/v1/memories/private/plans%2Ffog/history?project_dir={}", desk.project());
    let history = desk.daemon.client().get(&history).ok();
    let authors: Vec<_> =
        history["versions"].as_array().unwrap().iter().map(|v| v["author"].clone()).collect();
    assert_eq!(authors, ["agent", "agent", "agent", "agent"]);
}

#[test]
fn refusals_use_the_words_that_models_know() {
    let desk = Desk::new();
    let bad = |input: Value| desk.memory(&input).bad();
    let a = "/memories/a.md";
    desk.memory(&create(a, "x\nx\n")).good();
    assert_eq!(bad(create(a, "y")), "File /memories/a.md already exists");
    assert_eq!(bad(create(a, "x\nx\n")), "File /memories/a.md already exists");
    let replace =
        |old: &str| json!({ "command": "str_replace", "path": a, "old_str": old, "new_str": "" });
    assert_eq!(
        bad(replace("z")),
        "No replacement was performed, old_str `z` did not appear verbatim in /memories/a.md."
    );
    assert_eq!(
        bad(replace("x")),
        "No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 2. Please ensure it is unique"
    );
    let insert = json!({ "command": "insert", "path": a, "insert_line": 3, "insert_text": "y" });
    assert_eq!(
        bad(insert),
        "Invalid `insert_line` parameter: 3. It should be within the range [0, 2]."
    );
    for path in ["/memories/none.md", "/memories/none", "/memories/none.txt"] {
        assert_eq!(
            bad(view(path)),
            format!("The path {path} does not exist. Please provide a valid path.")
        );
        assert_eq!(
            bad(json!({ "command": "delete", "path": path })),
            format!("The path {path} does not exist")
        );
    }
    assert_eq!(
        bad(json!({ "command": "delete", "path": "/memories" })),
        "Cannot delete the /memories directory itself"
    );
    let rename =
        |old: &str, new: &str| json!({ "command": "rename", "old_path": old, "new_path": new });
    desk.memory(&create("/memories/b.md", "b")).good();
    assert_eq!(bad(rename(a, "/memories/b.md")), "The destination /memories/b.md already exists");
    assert_eq!(
        bad(rename("/memories/none.md", "/memories/c.md")),
        "The path /memories/none.md does not exist"
    );
    assert_eq!(
        bad(rename("/memories", "/memories/c.md")),
        "Cannot rename the /memories directory itself"
    );
    assert!(bad(create("/memories/a.txt", "x")).ends_with("such as /memories/a.md"));
    assert!(bad(rename(a, "/memories/a.txt")).ends_with("such as /memories/a.md"));
    assert!(bad(json!({ "command": "delete", "path": "/memories/MEMORY.md" })).contains("index"));
    assert_eq!(desk.topic("private", "a").text(), "x\nx\n", "no refusal changed anything");
}

#[test]
fn no_path_leads_out_and_the_teams_part_is_read_only() {
    let desk = Desk::new();
    let canary = desk.daemon.home.scratch().join("canary.md");
    std::fs::write(&canary, "mine").unwrap();
    let mut paths: Vec<String> = [
        "/memories/../canary.md",
        "/memories/../../canary.md",
        "/memories/%2e%2e/canary.md",
        "/memories/..%2fcanary.md",
        "/memories/%252e%252e/canary.md",
        "/memories/..\\canary.md",
        "/memories/./../canary.md",
        "/memories//canary.md",
        "/memories/a\0.md",
        "/memories/.hidden.md",
        "/memories/\u{ff0e}\u{ff0e}/canary.md",
        "/memories/\u{2024}\u{2024}/canary.md",
        "/memories/~/canary.md",
        "/memories/a\n.md",
        "/memories/con:stream.md",
        "/etc/passwd",
        "canary.md",
        "",
        "/",
        "/memoriesx/a.md",
        "/memories/a\u{202e}dm.md",
        "/memories/x/../../canary.md",
        "/memories/Team/a.md",
        "/memories/TEAM/a.md",
    ]
    .iter()
    .map(|path| (*path).to_owned())
    .collect();
    paths.push(canary.display().to_string());
    paths.push(format!("/memories/{}.md", "x".repeat(5_000)));
    for path in &paths {
        for input in [
            view(path),
            create(path, "stolen"),
            json!({ "command": "str_replace", "path": path, "old_str": "mine", "new_str": "stolen" }),
            json!({ "command": "insert", "path": path, "insert_line": 0, "insert_text": "stolen" }),
            json!({ "command": "delete", "path": path }),
            json!({ "command": "rename", "old_path": path, "new_path": "/memories/stolen.md" }),
        ] {
            // A name that does not exist yet may be created, and becomes a memory.
            let is_inside = path.starts_with("/memories/") && input["command"] == "create";
            let called = desk.memory(&input);
            assert!(called.is_error || is_inside, "{path:?}: {}", called.text);
            assert!(called.text.len() < 1_500, "{path:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "mine");
    // A link that somebody laid is read as what it is, and nothing outside is written through it.
    desk.memory(&create("/memories/real.md", "here")).good();
    let index = desk
        .daemon
        .client()
        .get(&format!("/v1/memories/index?project_dir={}", desk.project()))
        .ok();
    let dir = std::path::PathBuf::from(index["dir"].as_str().unwrap());
    std::os::unix::fs::symlink(&canary, dir.join("link.md")).unwrap();
    std::os::unix::fs::symlink(desk.daemon.home.scratch(), dir.join("away")).unwrap();
    for path in ["/memories/link.md", "/memories/away/canary.md"] {
        assert!(desk.memory(&view(path)).is_error, "{path}");
        desk.memory(&json!({ "command": "str_replace", "path": path, "old_str": "mine", "new_str": "stolen" })).bad();
        desk.memory(&json!({ "command": "delete", "path": path })).bad();
    }
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "mine");

    let path = format!("/v1/memories/team/rules?project_dir={}", desk.project());
    let request =
        bethink_harness::Request::new("PUT", &path).bytes("text/markdown", b"Ask first.\n");
    desk.daemon.client().must(&request).ok();
    assert!(desk.memory(&view("/memories/team/rules.md")).good().text.contains("Ask first."));
    assert!(desk.memory(&view("/memories")).good().text.contains("/memories/team/rules.md"));
    for input in [
        create("/memories/team/new.md", "x"),
        json!({ "command": "str_replace", "path": "/memories/team/rules.md", "old_str": "first", "new_str": "never" }),
        json!({ "command": "insert", "path": "/memories/team/rules.md", "insert_line": 0, "insert_text": "x" }),
        json!({ "command": "delete", "path": "/memories/team/rules.md" }),
        json!({ "command": "delete", "path": "/memories/team" }),
        json!({ "command": "rename", "old_path": "/memories/team/rules.md", "new_path": "/memories/mine.md" }),
        json!({ "command": "rename", "old_path": "/memories/real.md", "new_path": "/memories/team/real.md" }),
        create("/memories/team/MEMORY.md", "x"),
    ] {
        let told = desk.memory(&input).bad();
        assert!(told.contains("team"), "{input}: {told}");
    }
    assert_eq!(desk.topic("team", "rules").text(), "Ask first.\n");
    desk.daemon.is_well();
}

/// Replacements by several at once all stand, whoever comes second.
#[test]
fn edits_at_the_same_time_lose_nothing() {
    let desk = Desk::new();
    let marks: Vec<String> = (0..8).map(|n| format!("mark-{n};")).collect();
    desk.memory(&create("/memories/a.md", &marks.join("\n"))).good();
    thread::scope(|scope| {
        for n in 0..8 {
            let desk = &desk;
            scope.spawn(move || {
                let (old, new) = (format!("mark-{n};"), format!("done-{n};"));
                let input = json!({ "command": "str_replace", "path": "/memories/a.md", "old_str": old, "new_str": new });
                desk.memory(&input).good();
            });
        }
    });
    let text = desk.topic("private", "a").text();
    for n in 0..8 {
        assert!(text.contains(&format!("done-{n};")), "{text}");
    }
}

#[test]
fn programs_that_run_their_own_tools_call_it_over_http() {
    let desk = Desk::new();
    let call = |input: Value| {
        let body = json!({ "project_dir": desk.project(), "input": input });
        desk.daemon.client().post("/v1/memory-tool", &body)
    };
    let made = call(create("/memories/a.md", "x")).ok();
    assert_eq!(
        made,
        json!({ "content": "File created successfully at: /memories/a.md", "is_error": false })
    );
    let again = call(create("/memories/a.md", "x")).ok();
    assert_eq!(again, json!({ "content": "File /memories/a.md already exists", "is_error": true }));
    assert_eq!(call(json!({ "command": "nothing" })).ok()["is_error"], true);
    assert_eq!(call(json!(5)).ok()["is_error"], true);
    let body = json!({ "project_dir": "relative", "input": view("/memories") });
    let problem = desk.daemon.client().post("/v1/memory-tool", &body).problem();
    assert_eq!((&problem["status"], &problem["field"]), (&json!(422), &json!("project_dir")));
    let without = desk.daemon.client().post("/v1/memory-tool", &json!({ "project_dir": "/x" }));
    assert!((400..500).contains(&without.status), "{}", without.brief());
}

/// Commands that the SDK's own helper understands have the same effects and answers here, through a tool that the SDK
/// runs. Where they differ on purpose is not part of the list: another extension than .md, an empty folder, the index,
/// a slash at a path's end.
#[test]
fn the_sdks_own_helper_does_the_same() {
    let Some(python) = kit(Kit::Python) else { return };
    let desk = Desk::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/mcp/memory_tool.py");
    let helpers = desk.daemon.home.scratch().join("helper");
    let ran = python
        .script("python")
        .arg(script)
        .env("BASE", format!("http://{}", desk.daemon.addr()))
        .env("TOKEN", desk.daemon.token())
        .env("PROJECT", desk.project())
        .env("HELPER", &helpers)
        .run()
        .good();
    println!("{}", ran.stdout);
    let told: BTreeMap<String, u64> =
        serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert!(told["commands"] >= 60 && told["different"] == 0, "{}", ran.stdout);
}
