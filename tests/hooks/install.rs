//! `bethink install` as a person runs it, on files of agents as people have them.

use std::path::Path;
use std::process::{Command, Output};

use bethink_harness::Home;
use bethink_harness::daemon::binary;
use serde_json::Value;

/// The agents with a settings file of the user.
const AGENTS: [&str; 14] = [
    "claude-code",
    "codex",
    "cursor",
    "vscode",
    "zed",
    "gemini",
    "opencode",
    "claude-desktop",
    "copilot",
    "windsurf",
    "cline",
    "qwen",
    "kiro",
    "amp",
];

fn bethink(home: &Home, words: &[&str]) -> Output {
    Command::new(binary("bethink"))
        .args(words)
        .env_clear()
        .env("HOME", home.scratch().join("person"))
        .env("BETHINK_HOME", home.path())
        .current_dir(home.scratch())
        .output()
        .unwrap()
}

#[track_caller]
fn done(home: &Home, words: &[&str]) -> String {
    let output = bethink(home, words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every file below a directory, with its bytes.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => dirs.push(path),
                path => found.push((path.display().to_string(), std::fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

fn put(home: &Home, path: &str, text: &str) {
    let path = home.scratch().join("person").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn what_was_installed_goes_without_a_trace() {
    let home = Home::new();
    put(&home, ".claude/settings.json", "{\r\n\t// mine\r\n\t\"hooks\": {\"Stop\": []},\r\n}");
    put(&home, ".claude.json", "{}");
    put(&home, ".codex/config.toml", "model = \"x\"");
    put(&home, ".config/opencode/opencode.jsonc", "{ /* nothing */ }\n");
    put(&home, ".gemini/settings.json", "");
    put(&home, ".config/amp/settings.json", "{\n  \"amp.mcpServers\": {}, // none\n}");
    put(
        &home,
        ".copilot/mcp-config.json",
        "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"b\"}}}",
    );
    let before = files(&home.scratch().join("person"));
    for agent in AGENTS {
        let shown = done(&home, &["install", agent, "--dry-run"]);
        assert!(shown.contains("+++ b/") && shown.contains("bethink"), "{shown}");
        assert_eq!(
            files(&home.scratch().join("person")),
            before,
            "{agent}: a look changes nothing"
        );
        done(&home, &["install", agent]);
        let installed = files(&home.scratch().join("person"));
        assert_ne!(installed, before, "{agent}");
        let again = done(&home, &["install", agent]);
        assert!(again.contains("unchanged") && !again.contains("written"), "{again}");
        assert_eq!(files(&home.scratch().join("person")), installed, "{agent}: twice is once");
        done(&home, &["uninstall", agent]);
        assert_eq!(files(&home.scratch().join("person")), before, "{agent}");
    }
    assert!(files(&home.path().join("installs")).is_empty());
}

#[test]
fn the_directories_that_install_created_are_removed() {
    let home = Home::new();
    let person = home.scratch().join("person");
    put(&home, ".codex/sessions/one.jsonl", "{}");
    for agent in AGENTS {
        done(&home, &["install", agent]);
    }
    for agent in AGENTS {
        done(&home, &["uninstall", agent]);
    }
    let left: Vec<_> =
        std::fs::read_dir(&person).unwrap().map(|dir| dir.unwrap().file_name()).collect();
    assert_eq!(left, [".codex"]);
    assert!(person.join(".codex/sessions/one.jsonl").exists());
}

#[test]
fn a_project_of_an_agent_without_a_users_file() {
    let home = Home::new();
    let output = bethink(&home, &["install", "roo"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("bethink install roo --project DIR"), "{said}");
    let project = home.scratch().join("tides");
    std::fs::create_dir_all(&project).unwrap();
    let words = ["roo", "--project", project.to_str().unwrap()];
    done(&home, &[&["install"], &words[..]].concat());
    assert!(std::fs::read_to_string(project.join(".roo/mcp.json")).unwrap().contains("bethink"));
    done(&home, &[&["uninstall"], &words[..]].concat());
    assert!(files(&project).is_empty());
    let output = bethink(&home, &["install", "windsurf", words[1], words[2]]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no settings files for individual projects"), "{said}");
}

#[test]
fn without_a_name_the_agents_of_this_machine_are_listed_and_installed() {
    let home = Home::new();
    let none = bethink(&home, &["install", "--yes"]);
    let said = String::from_utf8(none.stderr).unwrap();
    assert_eq!(none.status.code(), Some(1), "{said}");
    assert!(said.contains("could not find a coding agent") && said.contains("qwen"), "{said}");
    put(&home, ".qwen/settings.json", "{}");
    put(&home, ".kiro/settings/mcp.json", "{}");
    done(&home, &["install", "kiro"]);
    let before = files(&home.scratch().join("person"));
    // There is no terminal to ask.
    let asked = bethink(&home, &["install"]);
    let (shown, said) =
        (String::from_utf8(asked.stdout).unwrap(), String::from_utf8(asked.stderr).unwrap());
    assert_eq!(asked.status.code(), Some(2), "{said}");
    assert!(shown.contains("Qwen Code") && shown.contains("not installed"), "{shown}");
    assert!(said.contains("--yes") && said.contains("bethink install qwen"), "{said}");
    assert!(!shown.contains("Windsurf"), "{shown}");
    let look = done(&home, &["install", "--dry-run"]);
    assert!(look.contains("+++ b/") && look.contains("hook --client qwen SessionStart"), "{look}");
    assert_eq!(files(&home.scratch().join("person")), before);
    let listed = bethink(&home, &["install", "--json"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let states: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> = states.iter().map(|one| (&one["agent"], &one["state"])).collect();
    assert_eq!(
        states,
        [(&"qwen".into(), &"not-installed".into()), (&"kiro".into(), &"installed".into())]
    );
    let written = done(&home, &["install", "--yes"]);
    assert!(written.contains("written") && written.contains(".qwen/settings.json"), "{written}");
    assert!(String::from_utf8(bethink(&home, &["install"]).stderr).unwrap().contains("already"));
    for agent in ["qwen", "kiro"] {
        done(&home, &["uninstall", agent]);
    }
    put(&home, ".kiro/settings/mcp.json", "{");
    // A file that is not valid does not keep the others from being written.
    let output = bethink(&home, &["install", "--yes"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains(".qwen/settings.json"));
}

#[test]
fn the_daemon_and_the_command_agree_on_the_agents_and_their_states() {
    let home = Home::new();
    put(&home, ".claude/settings.json", r#"{"enabledPlugins": {"bethink@bethink": true}}"#);
    put(&home, ".codex/config.toml", "model = \"x\"");
    put(&home, ".qwen/settings.json", "{}");
    put(&home, ".gemini/settings.json", "{ \"secret-word\" ");
    put(
        &home,
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"bethink": {"command": "/old/bethink"}}}"#,
    );
    done(&home, &["install", "codex"]);
    let listed = String::from_utf8(bethink(&home, &["install", "--json"]).stdout).unwrap();
    let daemon = home.start();
    let answer = daemon.client().get("/v1/agents");
    assert!(!answer.text().contains("secret-word"), "{}", answer.text());
    let answer = answer.ok();
    let all = answer["agents"].as_array().unwrap();
    let state = |agent: &str| {
        let found = all.iter().find(|one| one["agent"] == agent);
        found.map_or(Value::Null, |one| one["state"].clone())
    };
    for (agent, expect) in [
        ("claude-code", "plugin"),
        ("codex", "installed"),
        ("qwen", "not_installed"),
        ("gemini", "unreadable"),
        ("kiro", "outdated"),
    ] {
        assert_eq!(state(agent), expect, "{answer}");
    }
    for line in listed.lines() {
        let one: Value = serde_json::from_str(line).unwrap();
        let name = one["agent"].as_str().unwrap();
        assert_eq!(state(name), one["state"].as_str().unwrap().replace('-', "_"), "{name}");
    }
    assert_eq!(listed.lines().count(), 5, "{listed}");
    assert_eq!(state("cline"), Value::Null, "not on this machine: {answer}");
    let gemini = all.iter().find(|one| one["agent"] == "gemini").unwrap();
    assert_eq!(gemini["title"], "Gemini CLI");
    let problem = gemini["problem"].as_str().unwrap();
    assert!(problem.contains(".gemini/settings.json: invalid text at line 1"), "{problem}");
    assert!(gemini["files"][0].as_str().unwrap().ends_with(".gemini/settings.json"));
}

#[test]
fn an_agent_with_the_plugin_gets_no_second_set_of_hooks() {
    let home = Home::new();
    done(&home, &["install", "claude-code"]);
    let path = home.scratch().join("person/.claude/settings.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let plugin = "{\n  \"enabledPlugins\": { \"bethink@bethink\": true },";
    std::fs::write(&path, text.replacen('{', plugin, 1)).unwrap();
    let doctor = bethink(&home, &["doctor", "--json"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("bethink uninstall claude-code"), "{doctor}");
    done(&home, &["uninstall", "claude-code"]);
    let before = files(&home.scratch().join("person"));
    let refused = bethink(&home, &["install", "claude-code"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("claude plugin uninstall bethink"), "{said}");
    assert_eq!(files(&home.scratch().join("person")), before);
    let doctor = bethink(&home, &["doctor", "--json"]);
    assert!(String::from_utf8(doctor.stdout).unwrap().contains("installed as a plugin"));
    let listed = String::from_utf8(bethink(&home, &["install", "--json"]).stdout).unwrap();
    assert!(listed.contains("\"state\":\"plugin\""), "{listed}");
}

#[test]
fn what_a_person_changed_meanwhile_stays() {
    let home = Home::new();
    put(&home, ".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    done(&home, &["install", "claude-code"]);
    let path = home.scratch().join("person/.claude/settings.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"opus\"", "\"sonnet\"")).unwrap();
    done(&home, &["uninstall", "claude-code"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n  \"model\": \"sonnet\"\n}\n");
}

#[test]
fn a_file_that_is_not_valid_is_left_alone_and_nothing_else_is_changed() {
    let home = Home::new();
    put(&home, ".claude/settings.json", "{\n  \"model\" \"opus\"\n}\n");
    let before = files(&home.scratch().join("person"));
    for verb in ["install", "uninstall"] {
        let output = bethink(&home, &[verb, "claude-code"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("settings.json") && said.contains("line 2, column 11"), "{said}");
        assert_eq!(files(&home.scratch().join("person")), before);
    }
}

#[test]
fn an_entry_that_is_not_ours_is_named_and_stays() {
    let home = Home::new();
    put(
        &home,
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"bethink\": {\"url\": \"http://127.0.0.1:4747/mcp\"}}}",
    );
    let before = files(&home.scratch().join("person"));
    let output = bethink(&home, &["install", "cursor"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("mcpServers.bethink"));
    done(&home, &["uninstall", "cursor"]);
    assert_eq!(files(&home.scratch().join("person")), before);
}

#[test]
fn inline_tables_are_extended_and_restored() {
    let home = Home::new();
    let text = "mcp_servers = { gh = { command = \"gh\" } }\nhooks = {}";
    put(&home, ".codex/config.toml", text);
    let path = home.scratch().join("person/.codex/config.toml");
    done(&home, &["install", "codex"]);
    let listed = done(&home, &["install", "--json"]);
    assert!(listed.contains(r#""agent":"codex","state":"installed""#), "{listed}");
    done(&home, &["uninstall", "codex"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    // A value that is not a table cannot be extended.
    let text = "mcp_servers = 7\nhooks = 7";
    put(&home, ".codex/config.toml", text);
    let output = bethink(&home, &["install", "codex"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("hooks in ").count(), 1, "{said}");
    assert!(!said.contains("trust"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn doctor_knows_what_is_installed_and_what_has_moved() {
    let home = Home::new();
    done(&home, &["install", "codex"]);
    done(&home, &["install", "zed"]);
    let path = home.scratch().join("person/.config/zed/settings.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let own = binary("bethink").display().to_string();
    std::fs::write(&path, text.replace(&own, "/gone/bethink")).unwrap();
    let told = String::from_utf8(bethink(&home, &["doctor", "--json"]).stdout).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    let checks = told["checks"].as_array().unwrap().iter();
    let agents: Vec<_> = checks.filter(|check| check["check"] == "agents").collect();
    let found =
        |name: &str| agents.iter().find(|check| check["found"].as_str().unwrap().starts_with(name));
    assert_eq!(agents.len(), 2, "{agents:?}");
    assert_eq!(found("codex").unwrap()["verdict"], "ok");
    assert_eq!(found("zed").unwrap()["verdict"], "warn");
    assert_eq!(found("zed").unwrap()["todo"], "run `bethink install zed`");
}

#[test]
fn a_project_gets_its_own_files_which_name_no_path_of_this_machine() {
    let home = Home::new();
    let project = home.scratch().join("project");
    std::fs::create_dir_all(&project).unwrap();
    let dir = project.display().to_string();
    let without = ["claude-desktop", "windsurf", "cline"];
    let agents: Vec<_> =
        AGENTS.into_iter().chain(["roo"]).filter(|agent| !without.contains(agent)).collect();
    for agent in &agents {
        done(&home, &["install", agent, "--project", &dir]);
    }
    let own = binary("bethink").display().to_string();
    for (path, bytes) in files(&project) {
        let is_own = path.ends_with("settings.local.json");
        assert_eq!(String::from_utf8(bytes).unwrap().contains(&own), is_own, "{path}");
    }
    assert!(files(&home.scratch().join("person")).is_empty());
    for agent in &agents {
        done(&home, &["uninstall", agent, "--project", &dir]);
    }
    assert!(files(&project).is_empty(), "{:?}", files(&project));
}

#[test]
fn the_gateways_address_is_written_where_there_is_a_place_and_never_shown() {
    let daemon = Home::new().start();
    let shown = done(&daemon.home, &["install", "claude-code", "--gateway", "--dry-run"]);
    assert!(shown.contains("ANTHROPIC_BASE_URL") && shown.contains("/anthropic/k/…"), "{shown}");
    done(&daemon.home, &["install", "claude-code", "--gateway"]);
    let path = daemon.home.scratch().join("person/.claude/settings.json");
    let told: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let url = told["env"]["ANTHROPIC_BASE_URL"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && url.contains("/anthropic/k/"), "{url}");
    let refused = bethink(&daemon.home, &["install", "codex", "--gateway"]);
    assert_eq!(refused.status.code(), Some(1));
    done(&daemon.home, &["uninstall", "claude-code"]);
    assert!(!path.exists());
}

#[test]
fn a_file_with_the_gateways_secret_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let daemon = Home::new().start();
    let text = "{\n  \"theme\": \"dark\"\n}\n";
    put(&daemon.home, ".config/opencode/opencode.json", text);
    let path = daemon.home.scratch().join("person/.config/opencode/opencode.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    done(&daemon.home, &["install", "opencode"]);
    assert_eq!(mode(), 0o644, "it holds no secret");
    let output = bethink(&daemon.home, &["install", "opencode", "--gateway"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is now readable only by you"), "{said}");
    assert_eq!(mode(), 0o600);
    done(&daemon.home, &["uninstall", "opencode"]);
    assert_eq!((std::fs::read_to_string(&path).unwrap(), mode()), (text.to_owned(), 0o644));
}

#[test]
fn a_file_with_another_address_gets_no_secret_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let daemon = Home::new().start();
    for (agent, path, own) in [
        (
            "opencode",
            ".config/opencode/opencode.json",
            r#"{"provider": {"anthropic": {"options": {"baseURL": "https://proxy.example"}}}}"#,
        ),
        (
            "claude-code",
            ".claude/settings.json",
            r#"{"env": {"ANTHROPIC_BASE_URL": "https://proxy.example"}}"#,
        ),
    ] {
        put(&daemon.home, path, own);
        let path = daemon.home.scratch().join("person").join(path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let output = bethink(&daemon.home, &["install", agent, "--gateway"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("the gateway was not set up in"), "{said}");
        assert!(said.contains("already set to another address"), "{said}");
        assert!(!said.contains("readable only by you"), "{said}");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o444, "{agent}");
    }
}

#[test]
fn doctor_says_that_codex_skips_hooks_which_nobody_trusted() {
    let home = Home::new();
    done(&home, &["install", "codex"]);
    let told = || String::from_utf8(bethink(&home, &["doctor"]).stdout).unwrap();
    assert!(told().contains("do not run until you trust them"), "{}", told());
    let path = home.scratch().join("person/.codex/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n[hooks.state.\"x\"]\ntrusted_hash = \"y\"\n")).unwrap();
    assert!(!told().contains("do not run until you trust them"), "{}", told());
}

#[test]
fn a_name_that_is_no_agents_is_wrong_use() {
    let home = Home::new();
    let output = bethink(&home, &["install", "emacs"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("claude-code, codex"));
}
