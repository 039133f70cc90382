//! What a person meets first: help, hints, errors, confirmations, settings.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::fixture;
use crate::terminal::{Terminal, done};

#[test]
fn help_is_grouped() {
    let help = done(Terminal::new().run(&["--help"]));
    let groups = ["Start here", "Memory", "Sessions", "Context window", "Team", "Plumbing"];
    let at: Vec<_> = groups.iter().map(|group| help.find(&format!("\n{group}:\n"))).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{help}");
    let show = done(Terminal::new().run(&["session", "fork", "--help"]));
    assert!(show.contains("Example: bethink session fork"), "{show}");
}

#[test]
fn wrong_arguments_are_a_problem_with_json() {
    let terminal = Terminal::new();
    for words in [
        &["--json", "frob"][..],
        &["session", "rm", "--json"],
        &["up", "--json", "--no"],
        &["session", "--json"],
    ] {
        let ended = terminal.run(words);
        assert_eq!(ended.code, 2, "{ended:?}");
        let problem: Value = serde_json::from_str(&ended.err).unwrap();
        assert_eq!(problem["type"], "usage_error", "{ended:?}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(!detail.starts_with("error") && detail != "Create, list and change sessions");
    }
}

#[test]
fn deleting_a_session_needs_a_yes() {
    let terminal = Terminal::new();
    let id = done(terminal.run(&["session", "new", "--title", "a trial"]));
    let refused = terminal.run(&["session", "rm", id.trim()]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("--yes"), "{refused:?}");
    done(terminal.run(&["session", "show", id.trim()]));
    done(terminal.run(&["session", "rm", id.trim(), "--yes"]));
    assert_eq!(terminal.run(&["session", "show", id.trim()]).code, 1);
}

#[test]
fn short_ids_are_ends_and_work_everywhere() {
    let terminal = Terminal::new();
    let ids: Vec<String> = (0..2)
        .map(|n| done(terminal.run(&["session", "new", "--title", &format!("no. {n}")])))
        .map(|id| id.trim().to_owned())
        .collect();
    let listed = done(terminal.run(&["session", "ls", "--all"]));
    assert!(listed.lines().next().unwrap().contains("project"), "{listed}");
    for id in &ids {
        let short = &id[id.len() - 8..];
        assert!(listed.contains(short), "{short}: {listed}");
        assert!(done(terminal.run(&["session", "show", short])).contains(id.as_str()));
        done(terminal.run(&["context", "--session", short]));
    }
}

#[test]
fn sessions_are_listed_in_a_chosen_format() {
    let terminal = Terminal::new();
    let id = done(terminal.run(&["session", "new", "--title", "one\ntwo"]));
    let listed = done(terminal.run(&["session", "ls", "--format", "{id}\\t{title}"]));
    assert_eq!(listed, format!("{}\tone two\n", id.trim()));
    let refused = terminal.run(&["session", "ls", "--format", "{size}"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("id, title, project"), "{refused:?}");
}

#[test]
fn colour_can_be_forced_and_forbidden() {
    let terminal = Terminal::new();
    done(terminal.run(&["session", "new"]));
    for (when, colours) in [("always", true), ("never", false), ("auto", false)] {
        let listed = done(terminal.run(&["session", "ls", "--color", when]));
        assert_eq!(listed.contains('\x1b'), colours, "{when}: {listed:?}");
    }
}

#[test]
fn picking_a_session_needs_a_terminal() {
    let terminal = Terminal::new();
    done(terminal.run(&["session", "new"]));
    let refused = terminal.run(&["session", "show", "pick"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("not a terminal"), "{refused:?}");
}

#[test]
fn a_search_of_a_named_session_names_it_in_its_hint() {
    let terminal = Terminal::new();
    let told = done(terminal.run(&["import", &fixture("plain.jsonl").to_string_lossy(), "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    let id = told["session_id"].as_str().unwrap();
    done(terminal.run(&["session", "new"]));
    let found = terminal.run(&["search", "water", "--session", id]);
    let hint = found.err.lines().find_map(|line| line.split_once("bethink ")).unwrap().1;
    let words: Vec<&str> = hint.split('`').next().unwrap().split_whitespace().collect();
    assert!(!done(terminal.run(&words)).is_empty(), "{found:?}");
}

#[test]
fn a_subdirectory_has_the_sessions_of_its_project() {
    let terminal = Terminal::new();
    let below = terminal.path().join("project/src");
    fs::create_dir_all(&below).unwrap();
    let project = terminal.path().join("project");
    let project = project.to_str().unwrap();
    done(terminal.run(&["session", "new", "--title", "above", "--project", project]));
    let listed = done(terminal.run_in(&below, &["session", "ls"]));
    assert!(listed.contains("above"), "{listed}");
    assert!(done(terminal.run_in(&below, &["session", "show"])).contains("above"));
}

#[test]
fn the_sessions_of_all_worktrees_are_listed_and_searched_together() {
    let terminal = Terminal::new();
    let [main, tree] = ["mill", "mill-fix"].map(|name| terminal.path().join(name));
    fs::create_dir_all(&main).unwrap();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
        let ended = git.current_dir(&main).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
    git(&["worktree", "add", "-q", "../mill-fix"]);
    let file = fixture("plain.jsonl");
    let file = file.to_str().unwrap();
    done(terminal.run(&["import", file, "--project", main.to_str().unwrap()]));
    // Nothing was said in this worktree yet.
    let shown = terminal.run_in(&tree, &["session", "show"]);
    assert!(shown.err.contains("most recent one of the project"), "{shown:?}");
    assert!(done(terminal.run_in(&tree, &["search", "water"])).contains('#'));
    done(terminal.run_in(&tree, &["session", "new", "--title", "the fix"]));
    for dir in [&main, &tree] {
        let listed = done(terminal.run_in(dir, &["session", "ls"]));
        assert!(listed.lines().count() == 3 && listed.contains("mill-fix"), "{listed}");
        assert!(done(terminal.run_in(dir, &["search", "water"])).contains('#'));
    }
    // What is above the working tree is another project's.
    done(terminal.run(&["session", "new", "--title", "above"]));
    git(&["worktree", "add", "-q", "../mill-new"]);
    let new = terminal.path().join("mill-new");
    let shown = terminal.run_in(&new, &["session", "show"]);
    assert!(shown.out.contains("the fix") && shown.err.contains("of the project"), "{shown:?}");
    let refused = terminal.run_in(&new, &["compact"]);
    assert!(refused.code == 2 && refused.err.contains("no sessions in"), "{refused:?}");
    // Each worktree has its own newest session.
    assert!(done(terminal.run_in(&tree, &["session", "show"])).contains("the fix"));
    assert!(!done(terminal.run_in(&main, &["session", "show"])).contains("the fix"));
}

#[test]
fn directories_of_the_same_name_are_told_apart() {
    let terminal = Terminal::new();
    for name in ["one/app", "two/app", "web"] {
        let dir = terminal.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        done(terminal.run_in(&dir, &["session", "new"]));
    }
    let listed = done(terminal.run(&["session", "ls", "--all"]));
    for shown in ["  one/app  ", "  two/app  ", "  web  "] {
        assert!(listed.contains(shown), "{shown}: {listed}");
    }
}

#[test]
fn a_search_covers_the_project_and_with_all_every_project() {
    let terminal = Terminal::new();
    let (file, other) = (fixture("plain.jsonl"), terminal.path().join("other"));
    let (file, other) = (file.to_string_lossy(), other.to_str().unwrap().to_owned());
    fs::create_dir_all(&other).unwrap();
    // Without any session here, all projects are searched.
    done(terminal.run(&["import", &file, "--project", &other]));
    let found = terminal.run(&["search", "water"]);
    assert!(found.out.contains('#') && found.err.contains("searching all projects"), "{found:?}");
    done(terminal.run(&["session", "new"]));
    let found = terminal.run(&["search", "water"]);
    assert!(found.out.is_empty() && found.err.contains("`--all`"), "{found:?}");
    for words in [&["search", "water", "--all"][..], &["search", "water", "--project", &other]] {
        assert!(done(terminal.run(words)).contains('#'), "{words:?}");
    }
    let refused = terminal.run(&["search", "water", "--all", "--session", "last"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn what_changes_a_session_of_another_project_must_name_it() {
    let terminal = Terminal::new();
    let told = done(terminal.run(&["import", &fixture("plain.jsonl").to_string_lossy(), "--json"]));
    let told: Value = serde_json::from_str(&told).unwrap();
    let read = terminal.run(&["notes", "show"]);
    assert!(read.code == 0 && read.err.contains("most recent one of any project"), "{read:?}");
    for words in [&["notes", "update"][..], &["compact"], &["undo"], &["memory", "extract"]] {
        let refused = terminal.run(words);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains("--session ID"), "{refused:?}");
    }
    let id = told["session_id"].as_str().unwrap();
    done(terminal.run(&["notes", "update", "--session", id]));
}

#[test]
fn settings_are_listed_read_and_set() {
    let terminal = Terminal::new();
    let path = done(terminal.run(&["config", "path"]));
    assert!(path.trim().ends_with(".config/bethink/config.toml"), "{path}");
    done(terminal.run(&["config", "set", "memory.layout", "claude"]));
    assert_eq!(fs::read_to_string(path.trim()).unwrap(), "[memory]\nlayout = \"claude\"\n");
    let got = terminal.run(&["config", "get", "memory.layout"]);
    assert!(got.out == "claude\n" && got.err.contains("config.toml"), "{got:?}");
    let listed = done(terminal.run(&["config", "list"]));
    let line = |key: &str| listed.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(line("memory.layout").contains("file"), "{listed}");
    assert!(line("daemon.listen").contains("environment"), "{listed}");
    assert!(line("context.window").contains("default"), "{listed}");
    // The documented way back from a database to the home.
    done(terminal.run(&["config", "set", "store.url", "postgres://ann:pw@db.example.org/notes"]));
    let url = terminal.run(&["config", "get", "store.url"]);
    assert_eq!(url.out, "postgres://ann@db.example.org/notes\n", "{url:?}");
    done(terminal.run(&["config", "set", "store.url", ""]));
    assert_eq!(done(terminal.run(&["config", "get", "store.url"])), "\n");
    done(terminal.run(&["config", "set", "capture.exclude", "[\"/tmp/mill\"]"]));
    let exclude = done(terminal.run(&["config", "get", "capture.exclude"]));
    assert_eq!(exclude.trim(), "[\"/tmp/mill\"]");
    for (key, value, allowed) in [
        ("memory.layuot", "x", "memory.layout"),
        ("store.url", "postgres://ann:pw@db:notaport/x", "postgres://USER@HOST:PORT/DATABASE"),
        ("capture.exclude", "mill", "on the command line"),
        ("memory.layout", "x", "\"bethink\" or \"claude\""),
    ] {
        let refused = terminal.run(&["config", "set", key, value]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(allowed) && !refused.err.contains("pw"), "{refused:?}");
    }
}

#[test]
fn a_new_user_is_told_what_to_do_next() {
    let terminal = Terminal::new();
    fs::create_dir(terminal.path().join(".codex")).unwrap();
    fs::write(terminal.path().join(".codex/auth.json"), "{}").unwrap();
    let doctor = terminal.run(&["doctor"]);
    let first: Vec<&str> = doctor.out.lines().take(2).collect();
    let codex = doctor.out.lines().position(|line| line.contains("Codex: found")).unwrap();
    assert!(first[0].contains("agents"), "{doctor:?}");
    let next = doctor.out.lines().nth(codex + 1).unwrap();
    assert!(next.contains("bethink install codex"), "{doctor:?}");
    assert!(!doctor.out.contains("warn"), "{doctor:?}");
    let up = terminal.run(&["up"]);
    assert!(up.err.contains("next: `bethink install "), "{up:?}");
    let installed = terminal.run(&["install", "codex"]);
    assert!(installed.err.contains("start a new Codex session"), "{installed:?}");
    assert!(installed.err.contains("bethink uninstall codex"), "{installed:?}");
}
