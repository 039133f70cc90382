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
    for agent in [InstallAgent::ClaudeCode, InstallAgent::Codex, InstallAgent::Gemini] {
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
        let file = files(agent, &places(false), &own).remove(0);
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
fn every_agent_is_found_by_its_name() {
    for agent in InstallAgent::ALL {
        assert_eq!(InstallAgent::named(agent.as_str()), Some(agent));
    }
    assert_eq!(InstallAgent::named("emacs"), None);
}
