use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A person with bethink in `opt`, and an empty directory `bin`, which is the `PATH`.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for dir in ["opt", "bin", "links", "person"] {
            fs::create_dir(machine.path(dir)).unwrap();
        }
        fs::write(machine.path("opt/bethink"), "").unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn search(&self) -> AgentSearch {
        let env = |name: &str| match name {
            "HOME" => Some(self.path("person").into()),
            "PATH" => Some(self.path("bin").into()),
            _ => None,
        };
        AgentSearch::new(&env, &self.path("opt/bethink"), &self.path("home")).unwrap()
    }

    fn agent(&self, agent: InstallAgent) -> FoundAgent {
        self.search().agents().into_iter().find(|found| found.agent == agent).unwrap()
    }

    /// Writes what `bethink install` writes if this is the program's path.
    fn install(&self, agent: InstallAgent, program: &Path) {
        let search = self.search();
        let program = program.display().to_string();
        for file in files(agent, &search.places, &InstallRequest { program, ..search.wanted }) {
            fs::create_dir_all(file.path.parent().unwrap()).unwrap();
            fs::write(&file.path, file.put_in(None).unwrap().text).unwrap();
        }
    }
}

const AGENT: InstallAgent = InstallAgent::Codex;

#[test]
fn an_agent_is_found_by_its_directory_or_its_program() {
    let machine = Machine::new();
    assert!(machine.search().agents().iter().all(|agent| !agent.is_present));
    fs::create_dir(machine.path("person/.codex")).unwrap();
    let is_present = || machine.agent(InstallAgent::Codex).is_present;
    assert!(!is_present(), "an empty directory may be left by an installation");
    fs::write(machine.path("person/.codex/auth.json"), "").unwrap();
    fs::write(machine.path("bin/claude"), "").unwrap();
    let present = machine.search().agents().into_iter().filter(|agent| agent.is_present);
    let present: Vec<_> = present.map(|agent| agent.agent).collect();
    assert_eq!(present, [InstallAgent::ClaudeCode, InstallAgent::Codex]);
}

#[test]
fn the_state_is_that_of_all_files() {
    let machine = Machine::new();
    let state = || machine.agent(AGENT).state();
    assert_eq!(state(), FoundState::NotInstalled);
    machine.install(AGENT, &machine.path("opt/bethink"));
    assert_eq!(state(), FoundState::Installed);
    machine.install(AGENT, Path::new("/elsewhere/bethink"));
    assert_eq!(state(), FoundState::Outdated);
    let file = machine.path("person/.codex/config.toml");
    fs::write(&file, "a = [").unwrap();
    assert_eq!(state(), FoundState::Unreadable);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(state(), FoundState::Unreadable, "not a regular file");
}

#[test]
fn an_entry_that_runs_a_link_to_our_program_is_current() {
    let machine = Machine::new();
    let link = machine.path("links/bethink");
    symlink(machine.path("opt/bethink"), &link).unwrap();
    for agent in [InstallAgent::Codex, InstallAgent::ClaudeCode] {
        machine.install(agent, &link);
        assert_eq!(machine.agent(agent).state(), FoundState::Installed);
    }
    // The link in PATH is the one that `bethink install` writes.
    symlink(machine.path("opt/bethink"), machine.path("bin/bethink")).unwrap();
    assert_eq!(machine.agent(AGENT).state(), FoundState::Outdated);
    machine.install(AGENT, &machine.path("bin/bethink"));
    assert_eq!(machine.agent(AGENT).state(), FoundState::Installed);
    // Another program is not ours.
    fs::remove_file(machine.path("bin/bethink")).unwrap();
    fs::write(machine.path("bin/bethink"), "").unwrap();
    assert_eq!(machine.agent(AGENT).state(), FoundState::Outdated);
}

#[test]
fn a_settings_file_that_is_too_large_is_not_read() {
    let machine = Machine::new();
    let path = machine.path("person/large.json");
    assert!(read_settings(&path).unwrap().is_none());
    fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
    assert!(read_settings(&path).is_err());
}

#[test]
fn reading_changes_nothing() {
    let machine = Machine::new();
    machine.install(AGENT, Path::new("/elsewhere/bethink"));
    let file = machine.path("person/.codex/config.toml");
    let before = fs::read(&file).unwrap();
    machine.search().agents();
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(fs::read_dir(machine.path("person")).unwrap().count(), 1);
}

#[test]
fn a_plugin_counts_if_it_is_enabled() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    assert!(!is_enabled(&path));
    for (text, expect) in [
        (r#"{"enabledPlugins": {"bethink@bethink": true}}"#, true),
        (r#"{"enabledPlugins": {"bethink@team": true, "x@y": false}}"#, true),
        (r#"{"enabledPlugins": {"bethink@bethink": false}}"#, false),
        (r#"{"enabledPlugins": {"rethink@bethink": true}}"#, false),
        (r#"{"enabledPlugins": []}"#, false),
        ("not JSON", false),
    ] {
        fs::write(&path, text).unwrap();
        assert_eq!(is_enabled(&path), expect, "{text}");
    }
}
