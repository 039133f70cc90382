use serde_json::Value;

use super::*;
use crate::diff::unified_diff;
use crate::file::InstallState;

fn places(project: bool) -> ClientPlaces {
    ClientPlaces {
        person: "/home/ada".into(),
        config: "/home/ada/.config".into(),
        project: project.then(|| "/srv/tides".into()),
        ..ClientPlaces::default()
    }
}

fn wanted(gateway: bool) -> InstallRequest {
    let url = |path: &str| gateway.then(|| format!("http://127.0.0.1:4747/{path}"));
    InstallRequest {
        program: "/usr/local/bin/bethink".to_owned(),
        home: None,
        anthropic: url("anthropic/k/capability"),
        openai: url("openai/k/capability/v1"),
    }
}

/// Returns the files of every agent with our entries, if the files did not exist before.
fn shown(places: &ClientPlaces, wanted: &InstallRequest) -> String {
    let mut out = String::new();
    for agent in InstallAgent::ALL {
        for file in files(agent, places, wanted) {
            let after = file.put_in(None).unwrap();
            assert!(after.left_alone.is_empty());
            let path = file.path.display().to_string();
            out.push_str(&format!("=== {}: {}\n", agent.as_str(), file.what));
            out.push_str(&unified_diff(&path, None, Some(&after.text)));
        }
    }
    out
}

#[test]
fn every_client_for_a_person() {
    insta::assert_snapshot!(shown(&places(false), &wanted(false)));
}

#[test]
fn every_client_for_a_project() {
    insta::assert_snapshot!(shown(&places(true), &wanted(false)));
}

#[test]
fn the_gateway_goes_where_there_is_a_place_for_it() {
    for agent in InstallAgent::ALL {
        let with = files(agent, &places(false), &wanted(true));
        let texts: String = with.iter().map(|file| file.put_in(None).unwrap().text).collect();
        assert_eq!(texts.contains("/k/capability"), agent.takes_gateway(), "{texts}");
        for file in with {
            let put = file.put_in(None).unwrap();
            assert_eq!(
                file.take_out(&put.text, &put.made).unwrap().trim(),
                if file.is_toml() { "" } else { "{}" }
            );
        }
    }
}

#[test]
fn a_program_that_moved_is_noticed() {
    for agent in InstallAgent::ALL {
        for file in files(agent, &places(false), &wanted(false)) {
            let text = file.put_in(None).unwrap().text;
            assert_eq!(file.state(None).unwrap(), InstallState::Absent);
            assert_eq!(file.state(Some(&text)).unwrap(), InstallState::Current, "{text}");
            let old = text.replace("/usr/local/bin/", "/opt/tools/");
            assert_eq!(file.state(Some(&old)).unwrap(), InstallState::Stale, "{old}");
            assert_eq!(file.put_in(Some(&old)).unwrap().text, text);
        }
    }
}

#[test]
fn a_path_with_a_space_is_one_word_of_a_command_line() {
    let wanted =
        InstallRequest { program: "/opt/my tools/bethink".to_owned(), ..InstallRequest::default() };
    let agents =
        [InstallAgent::ClaudeCode, InstallAgent::Codex, InstallAgent::Gemini, InstallAgent::Qwen];
    for agent in agents {
        for file in files(agent, &places(false), &wanted) {
            let text = file.put_in(None).unwrap().text;
            assert!(
                !text.contains("bethink hook") || text.contains("'/opt/my tools/bethink' hook"),
                "{text}"
            );
            assert_eq!(file.state(Some(&text)).unwrap(), InstallState::Current);
        }
    }
}

#[test]
fn a_home_of_its_own_is_written_for_one_person_only() {
    let home = "/srv/my memory";
    let own = InstallRequest { home: Some(home.to_owned()), ..wanted(false) };
    for agent in InstallAgent::ALL {
        for file in files(agent, &places(false), &own) {
            let put = file.put_in(None).unwrap();
            assert!(put.text.contains(home), "{}", put.text);
            assert_eq!(file.state(Some(&put.text)).unwrap(), InstallState::Current);
            let left = file.take_out(&put.text, &put.made).unwrap();
            assert_eq!(left.trim(), if file.is_toml() { "" } else { "{}" });
        }
        for file in files(agent, &places(true), &own) {
            let is_shared = !file.path.ends_with("settings.local.json");
            assert_eq!(!file.put_in(None).unwrap().text.contains(home), is_shared);
        }
    }
}

#[test]
fn variables_that_a_person_added_are_kept() {
    let own = InstallRequest { home: Some("/srv/memory".to_owned()), ..wanted(false) };
    for agent in InstallAgent::ALL {
        let Some(file) = files(agent, &places(false), &own).into_iter().next() else { continue };
        let text = file.put_in(None).unwrap().text;
        let (home, mine) = match file.is_toml() {
            true => ("BETHINK_HOME = ", "MINE = \"1\", BETHINK_HOME = "),
            false => ("\"BETHINK_HOME\": ", "\"MINE\": \"1\", \"BETHINK_HOME\": "),
        };
        let text = text.replacen(home, mine, 1).replace("/srv/memory", "/srv/old");
        let put = file.put_in(Some(&text)).unwrap();
        assert!(put.text.contains("MINE") && put.text.contains("/srv/memory"), "{}", put.text);
        assert!(!put.text.contains("/srv/old"), "{}", put.text);
    }
}

#[test]
fn a_file_is_only_written_where_its_place_is_documented() {
    let count = |agent, project| files(agent, &places(project), &wanted(false)).len();
    for agent in InstallAgent::ALL {
        assert_eq!(count(agent, false) == 0, agent == InstallAgent::Roo, "{agent:?}");
        let has_none = matches!(
            agent,
            InstallAgent::ClaudeDesktop | InstallAgent::Windsurf | InstallAgent::Cline
        );
        assert_eq!(count(agent, true) == 0, has_none, "{agent:?}");
    }
}

#[test]
fn variables_move_the_directories() {
    let moved = |name: &str| Some(format!("/moved/{name}").into());
    let places = ClientPlaces {
        claude: moved("claude"),
        codex: moved("codex"),
        copilot: moved("copilot"),
        cline: moved("cline"),
        qwen: moved("qwen"),
        ..places(false)
    };
    for (agent, path) in [
        (InstallAgent::ClaudeCode, "/moved/claude/.claude.json"),
        (InstallAgent::Codex, "/moved/codex/config.toml"),
        (InstallAgent::Copilot, "/moved/copilot/mcp-config.json"),
        (InstallAgent::Cline, "/moved/cline/data/settings/cline_mcp_settings.json"),
        (InstallAgent::Qwen, "/moved/qwen/settings.json"),
    ] {
        let file = files(agent, &places, &wanted(false)).remove(0);
        assert_eq!(file.path.to_str(), Some(path));
    }
}

#[test]
fn a_mac_has_applications_in_the_library() {
    let places = ClientPlaces { is_mac: true, ..places(false) };
    let library = std::path::Path::new("/home/ada/Library/Application Support");
    for (agent, path) in [
        (InstallAgent::ClaudeDesktop, "Claude/claude_desktop_config.json"),
        (InstallAgent::Vscode, "Code/User/mcp.json"),
    ] {
        assert_eq!(files(agent, &places, &wanted(false)).remove(0).path, library.join(path));
    }
}

/// Returns a JSON file of `deploy/plugins`.
fn plugin(file: &str) -> Value {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/plugins/");
    let text = std::fs::read_to_string(format!("{dir}{file}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Plugins have what `install` writes, for a program in `PATH`.
#[test]
fn plugins_have_the_entries_of_install() {
    let wanted = InstallRequest { program: NAME.to_owned(), ..InstallRequest::default() };
    let installed = |agent| {
        let files = files(agent, &places(false), &wanted).into_iter();
        let texts = files.map(|file| file.put_in(None).unwrap().text);
        let files: Vec<Value> = texts.map(|text| serde_json::from_str(&text).unwrap()).collect();
        let member = |name: &str| files.iter().find_map(|file| file.get(name)).unwrap().clone();
        (member("mcpServers"), member("hooks"))
    };
    let (servers, hooks) = installed(InstallAgent::ClaudeCode);
    assert_eq!(plugin("claude-code/.mcp.json")["mcpServers"], servers);
    assert_eq!(plugin("claude-code/hooks/hooks.json")["hooks"], hooks);
    let (servers, hooks) = installed(InstallAgent::Gemini);
    assert_eq!(plugin("gemini/gemini-extension.json")["mcpServers"], servers);
    assert_eq!(plugin("gemini/hooks/hooks.json")["hooks"], hooks);
}

#[test]
fn plugins_have_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    for file in [
        "claude-code/.claude-plugin/plugin.json",
        "gemini/gemini-extension.json",
        "claude-desktop/manifest.json",
        "server.json",
    ] {
        assert_eq!(plugin(file)["version"], version, "{file}");
    }
    let server = plugin("server.json");
    let packages = server["packages"].as_array().unwrap();
    assert!(packages.iter().all(|package| package["version"] == version));
}

/// The same instructions are in the files of three agents, and the same commands in those of two.
#[test]
fn plugins_say_the_same_to_every_agent() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/plugins/");
    let text = |file: &str| std::fs::read_to_string(format!("{dir}{file}")).unwrap();
    let skill = text("claude-code/skills/bethink/SKILL.md");
    assert_eq!(text("codex/bethink/SKILL.md"), skill);
    let (_, body) = skill[4..].split_once("---\n\n").unwrap();
    assert_eq!(text("gemini/GEMINI.md"), body);
    for name in ["remember", "recall", "handover", "forget"] {
        let command = text(&format!("claude-code/commands/{name}.md"));
        let (_, prompt) = command[4..].split_once("---\n\n").unwrap();
        let prompt = prompt.replace("$ARGUMENTS", "{{args}}");
        let gemini = text(&format!("gemini/commands/bethink/{name}.toml"));
        let gemini: toml_edit::DocumentMut = gemini.parse().unwrap();
        assert_eq!(gemini["prompt"].as_str(), Some(prompt.as_str()), "{name}");
    }
}

#[test]
fn every_agent_is_found_by_its_name() {
    for agent in InstallAgent::ALL {
        assert_eq!(InstallAgent::named(agent.as_str()), Some(agent));
    }
    assert_eq!(InstallAgent::named("emacs"), None);
}
