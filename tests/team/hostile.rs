//! Remotes and repositories that mean no good, or are broken.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use bethink_harness::Home;
use serde_json::json;

use crate::people::{Between, Person, git, topic};

#[test]
fn a_history_that_was_rewritten_is_told_and_nothing_here_changes() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    ada.write("fog", &topic("fog", "weather", "Second."));
    ada.sync();
    let hand = between.clone_by_hand("hand");
    git(&hand, &["reset", "--quiet", "--hard", "HEAD~1"]);
    fs::write(hand.join("new.md"), topic("new", "weather", "Rewritten.")).unwrap();
    git(&hand, &["add", "."]);
    git(&hand, &["commit", "--quiet", "-m", "another past"]);
    git(&hand, &["push", "--quiet", "--force"]);
    ada.write("mine", &topic("mine", "weather", "Not pushed yet."));
    for _ in 0..2 {
        let refused = ada.try_sync();
        assert_eq!(refused.status, 409);
        assert!(refused.text().contains("was rewritten"), "{}", refused.text());
    }
    assert!(ada.reads("fog.md").unwrap().contains("Second"));
    assert_eq!(ada.reads("new.md"), None);
    let tip = git(&between.path(), &["log", "-1", "--format=%s", "main"]);
    assert_eq!(tip.trim(), "another past", "nothing was pushed");
    // Meant so: the new past is taken on, and what is here stays.
    let accept = json!({ "project_dir": ada.dir(), "accept_rewrite": true });
    ada.http.post("/v1/team/sync", &accept).ok();
    assert!(ada.reads("new.md").is_some() && ada.reads("mine.md").is_some());
    let log = git(&between.path(), &["log", "--format=%s", "main"]);
    assert_eq!(log.lines().count(), 3, "the old past is not brought back: {log}");
}

#[test]
fn hooks_filters_and_settings_of_a_repository_never_run() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let canary = between.beside("canary");
    let trap = between.beside("trap.sh");
    fs::write(&trap, format!("#!/bin/sh\necho $0 >> {}\ncat\n", canary.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    let trap = trap.display().to_string();
    for repository in [ada.team().join(".git"), between.path()] {
        fs::create_dir_all(repository.join("hooks")).unwrap();
        for hook in [
            "pre-commit",
            "pre-push",
            "post-checkout",
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "reference-transaction",
            "post-index-change",
        ] {
            fs::copy(&trap, repository.join("hooks").join(hook)).unwrap();
        }
        for setting in [
            "core.fsmonitor",
            "core.sshCommand",
            "filter.t.clean",
            "filter.t.smudge",
            "diff.external",
            "core.alternateRefsCommand",
            "credential.helper",
            "remote.origin.receivepack",
            "remote.origin.uploadpack",
        ] {
            git(&repository, &["config", "--file", "config", setting, &trap]);
        }
        fs::create_dir_all(repository.join("info")).unwrap();
        fs::write(repository.join("info/attributes"), "* filter=t\n").unwrap();
    }
    ada.write("fog", &topic("fog", "weather", "Second."));
    let told = ada.sync();
    assert_eq!(told["pushed"], 1, "{told}");
    ada.status(true);
    assert!(!canary.exists(), "{}", fs::read_to_string(&canary).unwrap());
}

#[test]
fn links_and_odd_names_of_a_repository_do_not_enter() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let hand = between.clone_by_hand("hand");
    std::os::unix::fs::symlink("/etc/passwd", hand.join("passwd.md")).unwrap();
    fs::remove_file(hand.join("fog.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", hand.join("fog.md")).unwrap();
    fs::write(hand.join("FOG.md"), "twin\n").unwrap();
    fs::write(hand.join("con:x.md"), "odd\n").unwrap();
    fs::write(hand.join("large.md"), "x\n".repeat(1 << 20)).unwrap();
    fs::write(hand.join("latin.md"), b"caf\xe9\n").unwrap();
    git(&hand, &["add", "."]);
    git(&hand, &["commit", "--quiet", "-m", "odd"]);
    git(&hand, &["push", "--quiet"]);
    let told = ada.sync();
    let files: Vec<&str> =
        told["blocked"].as_array().unwrap().iter().filter_map(|one| one["file"].as_str()).collect();
    for file in ["passwd.md", "fog.md", "large.md", "latin.md"] {
        assert!(files.contains(&file), "{file}: {told}");
    }
    assert!(ada.reads("fog.md").unwrap().contains("First."));
    assert_eq!(ada.files().len(), 2, "{:?}", ada.files());
    assert_eq!(ada.sync()["pushed"], 0);
    assert!(fs::symlink_metadata(hand.join("fog.md")).unwrap().is_symlink());
}

#[test]
fn a_remote_that_hangs_ends_in_time_and_the_daemon_goes_on() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/x.git", silent.local_addr().unwrap());
    let between = Between::new();
    let mut ada = Person::with("ada", Home::new().with("BETHINK_TEAM__TIMEOUT_MS", "700"));
    ada.init(&between.url());
    git(&ada.team(), &["remote", "set-url", "origin", &url]);
    ada.write("fog", &topic("fog", "weather", "First."));
    let began = Instant::now();
    let refused = ada.try_sync();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(refused.status, 502, "{}", refused.text());
    assert!(refused.text().contains("did not finish within"), "{}", refused.text());
    let status = ada.status(true);
    assert_eq!(status["reachable"], false, "{status}");
    assert_eq!(status["unsynced"], json!(["MEMORY.md", "fog.md"]));
    git(&ada.team(), &["remote", "set-url", "origin", &between.url()]);
    assert_eq!(ada.sync()["pushed"], 2);
    ada.daemon.is_well();
}

#[test]
fn addresses_that_run_programs_or_hold_passwords_are_refused() {
    let mut ada = Person::new("ada");
    for remote in [
        "ext::sh -c touch% /tmp/x",
        "--upload-pack=/bin/sh",
        "https://bot:q8Zt2LmXp0VrKt5W@h.example/x",
        "../shared.git",
        "file:///nowhere/at/all.git",
    ] {
        let body = json!({ "project_dir": ada.dir(), "remote": remote });
        let refused = ada.http.post("/v1/team/init", &body);
        assert!(matches!(refused.status, 422 | 502), "{remote}: {}", refused.text());
        assert!(!refused.text().contains("q8Zt2LmXp0VrKt5W"), "{}", refused.text());
    }
    assert_eq!(ada.status(false)["kind"], "none", "nothing was made");
}

#[test]
fn two_daemons_on_one_directory_take_turns() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    let team = ada.team();
    let mut other = Person::new("ada");
    let body = json!({ "project_dir": other.dir(), "dir": team.display().to_string() });
    other.http.post("/v1/team/init", &body).ok();
    let mut people: Vec<Person> = std::thread::scope(|scope| {
        let running: Vec<_> = [ada, other]
            .into_iter()
            .enumerate()
            .map(|(who, mut person)| {
                scope.spawn(move || {
                    for n in 0..5 {
                        person.write(&format!("t{who}-{n}"), &topic("t", "weather", "Text."));
                        person.sync();
                    }
                    person
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    people[0].sync();
    assert_eq!(people[0].files().len(), 11);
    let pushed = git(&between.path(), &["ls-tree", "--name-only", "main"]);
    assert_eq!(pushed.lines().count(), 11, "{pushed}");
}
