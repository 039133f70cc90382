//! A secret is stopped wherever it would pass: at a write, before a push, after a pull. It is told by rule and
//! line, and its value stands nowhere.

use std::fs;

use serde_json::{Value, json};

use crate::people::{Between, Person, git, key, names, topic};

fn blocked<'a>(told: &'a Value, file: &str) -> &'a Value {
    let list = told["blocked"].as_array().unwrap();
    list.iter().find(|one| one["file"] == file).unwrap_or_else(|| panic!("{told}"))
}

#[test]
fn a_write_is_refused_by_rule_and_line() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    let refused = ada.try_write("ci", &topic("ci", "how we deploy", &format!("use {}", key())));
    assert_eq!(refused.status, 422);
    let said = refused.text();
    assert!(said.contains("line 7") && said.contains("github-token"), "{said}");
    assert!(!said.contains(&key()[8..]), "{said}");
    assert_eq!(ada.reads("ci.md"), None);
    let unseen = ada.try_write("ci", &topic("ci", "how we deploy", "run\u{202e} this"));
    assert!(unseen.text().contains("U+202E"), "{}", unseen.text());
    // Private memory waits for the person, who may allow what was found.
    let path = format!("/v1/memories/private/ci?project_dir={}", ada.dir());
    let text = topic("ci", "how we deploy", &format!("use {}", key()));
    let put = |path: &str| {
        bethink_harness::Request::new("PUT", path).bytes("text/markdown", text.as_bytes())
    };
    let held_back = ada.http.must(&put(&path));
    assert_eq!(held_back.status, 422, "{}", held_back.text());
    assert!(!held_back.text().contains(&key()[8..]), "{}", held_back.text());
    let allowed = format!("{path}&allow_secret=github-token:7");
    ada.http.must(&put(&allowed)).ok();
    ada.http.must(&put(&path)).ok();
}

#[test]
fn what_an_editor_saved_is_not_pushed() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let team = ada.team();
    fs::write(team.join("ci.md"), topic("ci", "how we deploy", &format!("use {}", key()))).unwrap();
    fs::write(team.join("fog.md"), topic("fog", "weather", &format!("use {}", key()))).unwrap();
    fs::write(team.join("sky.md"), topic("sky", "weather", "Harmless.")).unwrap();
    let told = ada.sync();
    assert_eq!(names(&told["pushed_files"]), ["sky.md"], "the rest goes: {told}");
    assert_eq!(blocked(&told, "ci.md")["way"], "here");
    let reason = blocked(&told, "fog.md")["reasons"][0].as_str().unwrap();
    assert!(reason.contains("line 7") && reason.contains("github-token"), "{reason}");
    assert!(!between.holds(&key()));
    assert!(ada.reads("ci.md").unwrap().contains(&key()), "nothing here is changed");
    // Mended, it goes.
    fs::write(team.join("fog.md"), topic("fog", "weather", "Mended.")).unwrap();
    assert_eq!(names(&ada.sync()["pushed_files"]), ["fog.md"]);
    let log = ada.daemon.home.log();
    assert!(!log.contains(&key()), "{log}");
}

#[test]
fn what_somebody_pushed_by_hand_does_not_enter() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let hand = between.clone_by_hand("hand");
    fs::write(hand.join("fog.md"), topic("fog", "weather", &format!("use {}", key()))).unwrap();
    fs::write(hand.join("odd.md"), "a\u{e0041}b\n").unwrap();
    fs::write(hand.join("sky.md"), topic("sky", "weather", "Harmless.")).unwrap();
    git(&hand, &["add", "."]);
    git(&hand, &["commit", "--quiet", "-m", "by hand"]);
    git(&hand, &["push", "--quiet"]);
    let told = ada.sync();
    assert_eq!(blocked(&told, "fog.md")["way"], "incoming");
    assert!(blocked(&told, "fog.md")["by"].as_str().unwrap().starts_with("Hand, "), "{told}");
    assert_eq!(blocked(&told, "odd.md")["way"], "incoming");
    assert_eq!(told["pushed"], 0, "{told}");
    assert!(!told.to_string().contains(&key()), "{told}");
    // Ada cannot change it, so she is told once; and what is here is not taken for an edit of it.
    let told = ada.sync();
    assert_eq!((&told["blocked"], &told["pushed"]), (&json!([]), &json!(0)), "{told}");
    let status = ada.status(false);
    let withheld: Vec<&str> = status["withheld"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["file"].as_str())
        .collect();
    assert_eq!(withheld, ["fog.md", "odd.md"], "{status}");
    assert_eq!(status["unsynced"], Value::Null, "{status}");
    assert!(ada.reads("fog.md").unwrap().contains("First."));
    assert_eq!(ada.reads("odd.md"), None);
    assert!(ada.reads("sky.md").is_some());
    assert!(!ada.files().iter().any(|(_, text)| text.contains(&key())));
    fs::write(hand.join("fog.md"), topic("fog", "weather", "Mended by hand.")).unwrap();
    git(&hand, &["commit", "--quiet", "-am", "mend"]);
    git(&hand, &["push", "--quiet"]);
    assert_eq!(names(&ada.sync()["pulled_files"]), ["fog.md"]);
    assert!(ada.reads("fog.md").unwrap().contains("Mended by hand"));
}

#[test]
fn a_commit_by_hand_that_leaks_holds_everything_back() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let team = ada.team();
    fs::write(team.join("notes.txt"), format!("use {}\n", key())).unwrap();
    git(&team, &["add", "notes.txt"]);
    git(&team, &["commit", "--quiet", "-m", "leak"]);
    git(&team, &["rm", "--quiet", "notes.txt"]);
    git(&team, &["commit", "--quiet", "-m", "away again"]);
    let told = ada.sync();
    assert_eq!(blocked(&told, "notes.txt")["way"], "history");
    assert!(!between.holds(&key()));
    assert_eq!(told["pushed"], 0);
    git(&team, &["reset", "--quiet", "--soft", "HEAD~2"]);
    ada.write("sky", &topic("sky", "weather", "Harmless."));
    let told = ada.sync();
    assert_eq!(told["blocked"], json!([]), "{told}");
    assert!(!between.holds(&key()));
}

#[test]
fn an_edit_beside_a_blocked_one_is_not_lost() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let mut bob = Person::sharing("bob", &between);
    // Ada's edit holds a key and waits; Bob's goes first; then Ada mends hers.
    let team = ada.team();
    fs::write(team.join("fog.md"), topic("fog", "weather", &format!("Ada {}", key()))).unwrap();
    ada.sync();
    bob.write("fog", &topic("fog", "weather", "Bob's edit."));
    bob.sync();
    assert_eq!(blocked(&ada.sync(), "fog.md")["way"], "here");
    fs::write(team.join("fog.md"), topic("fog", "weather", "Ada's edit.")).unwrap();
    let told = ada.sync();
    assert_eq!(told["conflicts"][0]["name"], "fog.md", "{told}");
    let files = ada.files();
    for words in ["Bob's edit", "Ada's edit"] {
        assert!(files.iter().any(|(_, text)| text.contains(words)), "{words} is lost: {files:?}");
    }
}

#[test]
fn the_author_of_the_file_is_named_and_anybody_can_drop_it() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let hand = between.clone_by_hand("hand");
    fs::write(hand.join("evil.md"), topic("evil", "access", &format!("use {}", key()))).unwrap();
    git(&hand, &["add", "."]);
    git(&hand, &["commit", "--quiet", "-m", "by hand"]);
    git(&hand, &["push", "--quiet"]);
    ada.sync();
    ada.write("sky", &topic("sky", "weather", "Blue."));
    ada.sync();
    // The newest commit is Ada's, but the file is not.
    let mut bob = Person::sharing("bob", &between);
    let status = bob.status(false);
    assert!(status["withheld"][0]["by"].as_str().unwrap().starts_with("Hand, "), "{status}");
    let mut drop = |file: &str| {
        let body = json!({ "project_dir": bob.dir(), "drop": [file] });
        bob.http.post("/v1/team/sync", &body)
    };
    let refused = drop("sky.md");
    assert_eq!(refused.status, 409, "{}", refused.text());
    let told = drop("evil.md").ok();
    assert!(told["notes"].to_string().contains("replace the secret"), "{told}");
    assert_eq!(bob.status(false)["withheld"], Value::Null);
    ada.sync();
    assert_eq!(ada.status(false)["withheld"], Value::Null);
    assert_eq!(ada.files(), bob.files());
    assert!(!git(&between.path(), &["ls-tree", "--name-only", "main"]).contains("evil.md"));
}

#[test]
fn conflict_markers_are_not_pushed() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    let body = "<<<<<<< HEAD\nlinear\n=======\nsquared\n>>>>>>> main";
    ada.write("fog", &topic("fog", "weather", body));
    let told = ada.sync();
    assert_eq!(told["blocked"][0]["file"], "fog.md", "{told}");
    assert!(!between.holds("squared"));
    let dir = ada.dir();
    let lint = ada.http.get(&format!("/v1/memories/lint?project_dir={dir}&scope=team")).ok();
    assert!(lint.to_string().contains("conflict-markers"), "{lint}");
}
