//! Instruction files in prompts, and their routes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::memory::Desk;

fn write(desk: &Desk, path: &str, text: &str) {
    let path = desk.project.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn system(body: &Value) -> String {
    let blocks = body["system"].as_array().unwrap().iter();
    blocks.map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
}

fn chain(desk: &Desk, rest: &str) -> Value {
    let path = format!("/v1/instructions?project_dir={}{rest}", desk.project());
    desk.daemon.client().get(&path).ok()
}

/// `path reason` of what is skipped, with paths below the project.
fn skipped(desk: &Desk, chain: &Value) -> Vec<String> {
    let root = format!("{}/", desk.project());
    let skipped = chain["skipped"].as_array().unwrap().iter();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().replace(&root, "");
    skipped.map(|one| format!("{} {}", text(one, "path"), text(one, "reason"))).collect()
}

fn loaded(desk: &Desk, chain: &Value) -> Vec<String> {
    let root = format!("{}/", desk.project());
    let files = chain["files"].as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap().replace(&root, "")).collect()
}

fn talk(desk: &Desk, session: &str) {
    desk.say(session, "assistant", "Well.");
    for n in 0..30 {
        desk.say(session, "user", &format!("Question {n}: {}", "why is it so? ".repeat(60)));
        desk.say(session, "assistant", &format!("Answer {n}: {}", "because of this. ".repeat(60)));
    }
}

fn compact(desk: &Desk, session: &str) {
    talk(desk, session);
    desk.daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
}

#[test]
fn an_edit_while_a_session_runs_is_in_the_next_prompt() {
    let desk = Desk::new();
    write(&desk, "CLAUDE.md", "Use tabs.\n\n@docs/style.md");
    write(&desk, "docs/style.md", "Short lines.");
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    let asked = json!({ "system": [
        { "part": "introduction", "text": "You are an agent." },
        { "part": "language", "text": "Speak English." },
    ]});
    let first = desk.context(&session, &asked);
    let text = system(&first);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
    assert!(at("You are an agent.") < at("Use tabs."), "{text}");
    assert!(at("Use tabs.") < at("Short lines.") && at("Short lines.") < at("Speak English."));
    assert!(first["report"]["parts"]["instructions"].as_u64().unwrap() > 20);
    assert_eq!(desk.context(&session, &asked)["system"], first["system"], "the prefix stays");

    for (path, text) in [("CLAUDE.md", "Use tubs.\n\n@docs/style.md"), ("docs/style.md", "Long.")] {
        write(&desk, path, text);
        let now = system(&desk.context(&session, &asked));
        assert!(now.contains(text), "{now}");
    }
    fs::remove_file(desk.project.join("CLAUDE.md")).unwrap();
    write(&desk, "AGENTS.md", "Use nothing.");
    let now = system(&desk.context(&session, &asked));
    assert!(now.contains("Use nothing.") && !now.contains("Use tubs."), "{now}");
}

#[test]
fn what_waits_for_a_file_comes_at_the_tail_and_goes_with_a_compaction() {
    let desk = Desk::new();
    write(&desk, "CLAUDE.md", "Root.");
    write(&desk, ".claude/rules/api.md", "---\npaths: src/api/**\n---\nValidate input.");
    write(&desk, "src/web/AGENTS.md", "Web is different.");
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    let ask = |body: Value| {
        let body = desk.context(&session, &body);
        (body["system"].clone(), body["messages"].to_string())
    };
    let (system, messages) = ask(json!({}));
    assert!(!messages.contains("Validate input.") && !messages.contains("Web is different."));

    // By a call, and by what the client says was touched.
    let file = desk.project.join("src/api/a.ts");
    desk.daemon.append(
        &session,
        &[
            bethink_harness::say::call("t1", "Read", &json!({ "file_path": file })),
            bethink_harness::say::result("t1", "export {}"),
        ],
    );
    let (same, messages) = ask(json!({ "touched_paths": ["src/web/index.html"] }));
    assert_eq!(system, same, "the prefix stays");
    assert_eq!(messages.matches("Validate input.").count(), 1, "{messages}");
    assert_eq!(messages.matches("Web is different.").count(), 1, "{messages}");
    let (_, again) = ask(json!({ "touched_paths": ["src/web/index.html"] }));
    assert_eq!(messages, again, "attached once");

    // Changed, it is said anew; the old words stay where they stood.
    write(&desk, ".claude/rules/api.md", "---\npaths: src/api/**\n---\nValidate output.");
    let (_, messages) = ask(json!({}));
    assert!(messages.contains("Validate input.") && messages.contains("Validate output."));

    compact(&desk, &session);
    desk.say(&session, "user", "Go on.");
    let (_, messages) = ask(json!({}));
    assert!(!messages.contains("Validate"), "{messages}");
    assert!(!messages.contains("Web is different."), "{messages}");
    let (_, messages) = ask(json!({ "touched_paths": [file] }));
    assert_eq!(messages.matches("Validate output.").count(), 1, "{messages}");
    assert!(!messages.contains("Web is different."), "{messages}");

    // The model has not read the newest result yet.
    talk(&desk, &session);
    desk.say(&session, "user", "Read it again.");
    desk.daemon.append(
        &session,
        &[
            bethink_harness::say::call("t2", "Read", &json!({ "file_path": file })),
            bethink_harness::say::result("t2", "export {}"),
        ],
    );
    desk.daemon.client().post(&format!("/v1/sessions/{session}/compact"), &json!({})).ok();
    let (_, messages) = ask(json!({}));
    assert_eq!(messages.matches("Validate output.").count(), 1, "{messages}");
}

#[test]
fn a_restart_keeps_what_was_attached_and_forgets_what_a_compaction_forgot() {
    let mut desk = Desk::new();
    write(&desk, ".claude/rules/a.md", "---\npaths: '*.a'\n---\nRule A.");
    write(&desk, ".claude/rules/b.md", "---\npaths: '*.b'\n---\nRule B.");
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    desk.context(&session, &json!({ "touched_paths": ["x.a"] }));
    compact(&desk, &session);
    desk.say(&session, "user", "Go on.");
    let before = desk.context(&session, &json!({ "touched_paths": ["x.b"] }));
    let said = before["messages"].to_string();
    assert!(said.contains("Rule B.") && !said.contains("Rule A."), "{said}");
    desk.daemon.kill9();
    desk.daemon.start();
    let after = desk.context(&session, &json!({}));
    assert_eq!(before["messages"], after["messages"]);
}

#[test]
fn a_client_that_sends_them_itself_or_wants_none_gets_none() {
    let desk = Desk::new();
    write(&desk, "CLAUDE.md", "Use tabs.\n");
    write(&desk, "CLAUDE.local.md", "My port is 8081.\n");
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    let given =
        json!({ "system": [{ "part": "project_context", "text": "# Mine\n\nUse tabs.\n" }] });
    let text = system(&desk.context(&session, &given));
    assert_eq!(text.matches("Use tabs.").count(), 1, "{text}");
    assert!(text.contains("My port is 8081."), "{text}");
    for inject in ["off", "recall"] {
        let asked = json!({ "inject": inject, "touched_paths": ["x"] });
        assert_eq!(desk.context(&session, &asked)["system"], json!([]));
    }
}

#[test]
fn a_setting_keeps_them_out_of_prompts_and_still_explains_them() {
    let home = bethink_harness::Home::new().with("BETHINK_MEMORY__INSTRUCTIONS", "false");
    let desk = Desk::with(home);
    write(&desk, "CLAUDE.md", "Use tabs.");
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    assert_eq!(desk.context(&session, &json!({}))["system"], json!([]));
    let found = chain(&desk, "");
    assert_eq!((&found["enabled"], loaded(&desk, &found).len()), (&json!(false), 1));
}

#[test]
fn the_route_explains_the_chain() {
    let desk = Desk::new();
    write(&desk, "CLAUDE.md", &format!("# A\n<!-- note -->\n@lost.md\n{}", "line\n".repeat(300)));
    write(&desk, "AGENTS.md", "other");
    write(&desk, "sub/CLAUDE.local.md", "near");
    write(&desk, "sub/below/CLAUDE.md", "nearer");
    write(&desk, ".claude/rules/x.md", "---\npaths: ['*.rs']\n---\nrust");
    fs::create_dir_all(desk.project.join(".git")).unwrap();
    let cwd = format!("&cwd={}/sub", desk.project());
    let found = chain(&desk, &cwd);
    assert_eq!(loaded(&desk, &found), ["CLAUDE.md", "sub/CLAUDE.local.md"]);
    assert_eq!(
        skipped(&desk, &found),
        ["lost.md no_such_file", "AGENTS.md claude_md_counts", ".claude/rules/x.md waiting"]
    );
    let file = &found["files"][0];
    assert_eq!((&file["kind"], &file["lines"]), (&json!("project"), &json!(302)));
    assert!(file["warnings"][0].as_str().unwrap().contains("302 lines"), "{file}");
    let found = chain(&desk, &format!("{cwd}&touched=below/a.rs&touched=b.rs"));
    assert_eq!(
        loaded(&desk, &found),
        ["CLAUDE.md", "sub/CLAUDE.local.md", "sub/below/CLAUDE.md", ".claude/rules/x.md"]
    );
    assert_eq!(found["files"][3]["touched"], json!(true));
    let problem = desk.daemon.client().get("/v1/instructions?project_dir=app").problem();
    assert_eq!(problem["field"], "project_dir");
}

#[test]
fn a_file_outside_the_project_waits_for_a_person() {
    let desk = Desk::new();
    // A repository of its own: a stray `.git` above, in the machine's temporary directory, would take it in.
    fs::create_dir(desk.project.join(".git")).unwrap();
    let outside = desk.project.parent().unwrap().join("shared.md");
    fs::write(&outside, "Shared words.").unwrap();
    write(&desk, "CLAUDE.md", "@../shared.md @.env");
    write(&desk, ".env", "KEY=1");
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    let now = |desk: &Desk| system(&desk.context(&session, &json!({})));
    let before = now(&desk);
    let found = chain(&desk, "");
    assert!(!before.contains("Shared words.") && !before.contains("KEY=1"), "{before}\n{found}");
    let waits: Vec<_> =
        found["skipped"].as_array().unwrap().iter().map(|s| &s["approve"]).collect();
    assert_eq!(waits, [&json!(true), &json!(true)]);

    let post = |verb: &str, path: &str| {
        let body = json!({ "project_dir": desk.project(), "path": path });
        desk.daemon.client().post(&format!("/v1/instructions/{verb}"), &body)
    };
    let approved = post("approve", "../shared.md").ok();
    assert_eq!(Path::new(approved["path"].as_str().unwrap()), outside);
    assert!(now(&desk).contains("Shared words."));
    assert!(!now(&desk).contains("KEY=1"), "each file is approved by itself");
    assert_eq!(chain(&desk, "")["approved"], json!([outside]));

    // What is there now is not what was approved.
    let other = outside.with_file_name("other.md");
    fs::write(&other, "Other words.").unwrap();
    fs::remove_file(&outside).unwrap();
    std::os::unix::fs::symlink(&other, &outside).unwrap();
    assert!(!now(&desk).contains("Other words."));
    fs::remove_file(&outside).unwrap();
    fs::write(&outside, "Shared words.").unwrap();
    assert!(now(&desk).contains("Shared words."));

    post("revoke", "../shared.md").ok();
    assert!(!now(&desk).contains("Shared words."));
    assert_eq!(post("revoke", "../shared.md").problem()["status"], 404);
    for path in ["../gone.md", "."] {
        assert_eq!(post("approve", path).problem()["field"], "path", "{path}");
    }
    desk.daemon.is_well();
}

#[test]
fn hostile_files_hold_no_prompt_up() {
    let desk = Desk::new();
    let all: String = (0..10_000).map(|n| format!("@d/{n}.md\n")).collect();
    write(
        &desk,
        "CLAUDE.md",
        &format!("@pipe.md @/dev/zero @/proc/self/environ @CLAUDE.md\n{all}"),
    );
    write(&desk, "d/1.md", "one @../CLAUDE.md");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let pipe = desk.project.join("pipe.md");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    write(
        &desk,
        ".claude/rules/bomb.md",
        &format!("---\npaths: {}\n---\nx", "{a,b}".repeat(10_000)),
    );
    let session = desk.session();
    desk.say(&session, "user", "Hello.");
    let text = system(&desk.context(&session, &json!({ "touched_paths": ["a"] })));
    assert!(text.contains("one @../CLAUDE.md"), "{}", text.len());
    assert!(!text.contains("PATH="), "nothing of the daemon's environment");
    let found = chain(&desk, "");
    let told = skipped(&desk, &found);
    for expect in ["pipe.md not_a_file", "/dev/zero of_the_system", "CLAUDE.md cycle"] {
        assert!(told.iter().any(|one| one == expect), "{expect}: {:?}", &told[..6]);
    }
    desk.daemon.is_well();
}
