//! `up --install` and `down --uninstall`, with a service manager that writes down what it is told.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::terminal::{Ended, Terminal, done};

/// Takes the words of systemctl that are used: it keeps a list of them, and runs what the unit names.
const MANAGER: &str = r#"#!/bin/sh
echo "$*" >>"$HOME/told"
case "$*" in
  "--user enable --now bethinkd.service")
    unit="$HOME/.config/systemd/user/bethinkd.service"
    program=$(sed -n 's/^ExecStart="\(.*\)"$/\1/p' "$unit")
    BETHINK_HOME=$(sed -n 's/^Environment="BETHINK_HOME=\(.*\)"$/\1/p' "$unit")
    export BETHINK_HOME
    setsid "$program" >/dev/null 2>&1 </dev/null &
    touch "$HOME/active" ;;
  "--user disable --now bethinkd.service") rm -f "$HOME/active" ;;
  *is-active*) test -e "$HOME/active" ;;
esac
"#;

struct Desk {
    terminal: Terminal,
    path: String,
}

impl Desk {
    /// A machine whose `systemctl` does this.
    fn with(manager: &str) -> Self {
        let terminal = Terminal::new();
        let bin = terminal.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let program = bin.join("systemctl");
        fs::write(&program, manager).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        Self { terminal, path }
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.terminal.run_with(words, &[("PATH", &self.path)])
    }

    fn unit(&self) -> PathBuf {
        self.terminal.path().join(".config/systemd/user/bethinkd.service")
    }

    /// What the manager was told since the last time it was looked at.
    fn told(&self) -> Vec<String> {
        let file = self.terminal.path().join("told");
        let told = fs::read_to_string(&file).unwrap_or_default();
        drop(fs::remove_file(file));
        told.lines().map(str::to_owned).collect()
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_daemon_becomes_a_service_and_stops_being_one() {
    let desk = Desk::with(MANAGER);
    // one that a person started has to give way
    done(desk.run(&["up"]));
    let installed: Value =
        serde_json::from_str(&done(desk.run(&["up", "--install", "--json"]))).unwrap();
    assert_eq!((&installed["outcome"], &installed["enabled"]), (&"written".into(), &true.into()));
    assert!(installed["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    let unit = fs::read_to_string(desk.unit()).unwrap();
    assert!(unit.contains("/bethinkd\"\n") && unit.contains("BETHINK_HOME="), "{unit}");
    let told = desk.told();
    let enabled = ["--user daemon-reload", "--user enable --now bethinkd.service"];
    assert!(told.ends_with(&enabled.map(str::to_owned)), "{told:?}");
    let again = desk.run(&["up", "--install"]);
    assert!(again.code == 0 && again.err.contains("bethinkd.service: same"), "{again:?}");
    assert!(!desk.told().iter().any(|line| line.contains("enable")), "nothing is done twice");
    let gone = done(desk.run(&["down", "--uninstall", "--json"]));
    let gone: Value = serde_json::from_str(&gone).unwrap();
    assert_eq!(gone["outcome"], "removed");
    assert!(gone["stopped"].is_u64(), "the manager of this test stops nothing itself: {gone}");
    let told = desk.told();
    assert!(told.contains(&"--user disable --now bethinkd.service".to_owned()), "{told:?}");
    assert!(!desk.unit().exists());
    assert_eq!(desk.run(&["status"]).code, 3, "the daemon is down");
    let again = desk.run(&["down", "--uninstall"]);
    assert!(again.code == 0 && again.err.contains("not installed"), "{again:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_manager_it_says_what_to_run_and_starts_the_daemon() {
    let desk = Desk::with("#!/bin/sh\nexit 1\n");
    let installed = desk.run(&["up", "--install"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    for line in ["systemd could not be reached", "  systemctl --user enable --now bethinkd.service"]
    {
        assert!(installed.err.contains(line), "{installed:?}");
    }
    assert!(desk.unit().exists());
    assert_eq!(desk.run(&["status"]).code, 0, "the daemon runs all the same");
}

#[test]
#[cfg(target_os = "linux")]
fn a_dry_run_changes_nothing_and_a_strange_file_is_left_alone() {
    let desk = Desk::with(MANAGER);
    let shown = desk.run(&["up", "--install", "--dry-run"]);
    assert!(shown.out.contains("[Service]\nExecStart=\""), "{shown:?}");
    assert!(shown.err.contains("would be written"), "{shown:?}");
    assert!(!desk.unit().exists() && desk.told().is_empty());
    fs::create_dir_all(desk.unit().parent().unwrap()).unwrap();
    fs::write(desk.unit(), "[Service]\nExecStart=/usr/bin/bethinkd\n").unwrap();
    for words in [&["up", "--install"], &["down", "--uninstall"]] {
        let refused = desk.run(words);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("not written by bethink"), "{refused:?}");
    }
    assert_eq!(
        fs::read_to_string(desk.unit()).unwrap(),
        "[Service]\nExecStart=/usr/bin/bethinkd\n"
    );
    assert!(desk.told().is_empty());
    // one of an older version is replaced
    fs::write(desk.unit(), "# Written by `bethink up --install`\n[Service]\n").unwrap();
    assert_eq!(desk.run(&["up", "--install"]).code, 0);
    assert!(fs::read_to_string(desk.unit()).unwrap().contains("NoNewPrivileges=true"));
    assert_eq!(desk.run(&["up", "--dry-run"]).code, 2, "only with --install");
    let elsewhere = [("PATH", desk.path.as_str()), ("BETHINK_URL", "http://127.0.0.1:9")];
    for words in [&["up", "--install"], &["down", "--uninstall"]] {
        let refused = desk.terminal.run_with(words, &elsewhere);
        assert!(refused.code == 1 && refused.err.contains("BETHINK_URL is set"), "{refused:?}");
    }
    assert!(desk.unit().exists());
}
