//! Dreams from the outside: shown, made, taken back, broken off.

use std::path::Path;
use std::time::{Duration, Instant};

use bethink_harness::Home;
use serde_json::{Value, json};

use crate::memory::Desk;

const WHOLE: &str =
    "Deploys go through Ann.\n\nThe staging box is slow.\n\nAsk before you restart it.\n";
const PART: &str = "The staging box is slow.\n\nAsk before you restart it.\n";
const INDEX: &str = "# Ours\n\n- [Deploys](deploys.md) — who deploys\n- [Box](box.md) — the box\n- [Gone](gone.md) — no more\n";

pub(crate) fn dream(desk: &Desk, more: &Value) -> Value {
    let mut request = json!({ "project_dir": desk.project() });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let job = desk.daemon.client().post("/v1/dream", &request).ok();
    done(desk, job["id"].as_str().unwrap())
}

/// The job when it has come to its end.
fn done(desk: &Desk, id: &str) -> Value {
    let begun = Instant::now();
    loop {
        let job = desk.daemon.client().get(&format!("/v1/jobs/{id}")).ok();
        if job["state"] == "done" || job["state"] == "failed" {
            return job;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{job}");
        std::thread::yield_now();
    }
}

fn text(dir: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(dir.join(name)).ok()
}

#[test]
fn a_dream_is_looked_at_made_and_taken_back() {
    let desk = Desk::new();
    desk.lay(&[("MEMORY.md", INDEX), ("deploys.md", WHOLE), ("box.md", PART)]);
    let dir = desk.dir();
    let look = dream(&desk, &json!({ "dry_run": true }))["result"].clone();
    let diff = look["diff"].as_str().unwrap();
    assert!(
        diff.contains("--- a/box.md\n+++ /dev/null\n") && diff.contains("-- [Gone](gone.md)"),
        "{diff}"
    );
    assert_eq!(look["applied"], json!([]));
    assert_eq!(
        (text(&dir, "box.md").as_deref(), text(&dir, "MEMORY.md").as_deref()),
        (Some(PART), Some(INDEX))
    );
    let made = dream(&desk, &json!({}))["result"].clone();
    assert_eq!(made["diff"], look["diff"]);
    assert_eq!(text(&dir, "deploys.md").as_deref(), Some(WHOLE));
    assert_eq!(text(&dir, "box.md"), None);
    let index = text(&dir, "MEMORY.md").unwrap();
    assert!(
        index.starts_with("# Ours\n\n- [Deploys](deploys.md) — who deploys\n")
            && !index.contains("box"),
        "{index}"
    );
    assert_eq!(desk.names(), ["deploys"]);
    // What went is in the history, by whom and why.
    let history = desk.daemon.client().get(&desk.path("/private/box/history")).ok();
    assert_eq!(history["versions"][0]["author"], "dream", "{history}");
    assert_eq!(dream(&desk, &json!({}))["result"]["diff"], "");
    let back = dream(&desk, &json!({ "undo": true }))["result"].clone();
    assert_eq!(back["left_alone"], json!([]));
    assert_eq!(
        (text(&dir, "box.md").as_deref(), text(&dir, "MEMORY.md").as_deref()),
        (Some(PART), Some(INDEX))
    );
    // Nor does the next dream do it again.
    assert_eq!(dream(&desk, &json!({}))["result"]["diff"], "");
    let hidden: Vec<_> =
        std::fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!hidden.iter().any(|name| name == ".bethink.lock"), "{hidden:?}");
}

#[test]
fn who_dreams_elsewhere_is_waited_for() {
    let desk = Desk::new();
    desk.lay(&[("MEMORY.md", INDEX), ("deploys.md", WHOLE), ("box.md", PART)]);
    let lock = desk.dir().join(".bethink.lock");
    // Its time is that of the last sign of life.
    let newest = std::fs::metadata(desk.dir().join("box.md")).unwrap().modified().unwrap();
    let now = newest.duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    std::fs::write(&lock, format!("{now} another-machine\n")).unwrap();
    let refused = dream(&desk, &json!({}));
    assert_eq!(refused["state"], "failed");
    assert!(
        refused["error"].as_str().unwrap().contains("another daemon is consolidating"),
        "{refused}"
    );
    assert_eq!(text(&desk.dir(), "box.md").as_deref(), Some(PART));
    std::fs::write(&lock, format!("{} another-machine\n", now - 3_600_000_000)).unwrap();
    assert_eq!(dream(&desk, &json!({}))["state"], "done");
    assert_eq!(text(&desk.dir(), "box.md"), None);
}

#[test]
fn a_dream_that_is_killed_goes_on_and_loses_nothing() {
    const PAIRS: usize = 60;
    let mut desk = Desk::new();
    let said =
        |at: usize| format!("Shelf {at} is counted at night.\n\nIts key hangs behind door {at}.\n");
    let files: Vec<(String, String)> = (0..PAIRS)
        .flat_map(|at| {
            [
                (format!("a{at}.md"), format!("{}\nMore of {at}.\n", said(at))),
                (format!("b{at}.md"), said(at)),
            ]
        })
        .collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    desk.lay(&files);
    let dir = desk.dir();
    let copies =
        |dir: &Path| (0..PAIRS).filter(|at| dir.join(format!("b{at}.md")).exists()).count();
    let request = json!({ "project_dir": desk.project() });
    let job = desk.daemon.client().post("/v1/dream", &request).ok();
    let begun = Instant::now();
    while copies(&dir) > PAIRS / 2 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    desk.daemon.kill9();
    let left = copies(&dir);
    desk.daemon.start();
    let job = done(&desk, job["id"].as_str().unwrap());
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(copies(&dir), 0, "{left} were left when it was killed");
    for at in 0..PAIRS {
        assert_eq!(
            text(&dir, &format!("a{at}.md")).unwrap(),
            format!("{}\nMore of {at}.\n", said(at))
        );
    }
    assert_eq!(dream(&desk, &json!({}))["result"]["diff"], "");
}

#[test]
fn a_wish_that_makes_no_sense_is_refused() {
    let desk = Desk::new();
    for body in [
        json!({}),
        json!({ "project_dir": "app" }),
        json!({ "project_dir": desk.project(), "dry_run": true, "undo": true }),
        json!({ "project_dir": desk.project(), "dry_run": "yes" }),
    ] {
        let answer = desk.daemon.client().post("/v1/dream", &body);
        assert!([400, 422].contains(&answer.status), "{body}: {}", answer.status);
    }
    let nothing = dream(&desk, &json!({ "undo": true }));
    assert_eq!(nothing["state"], "done", "no memory, nothing to put back: {nothing}");
    assert!(!desk.dir().exists());
}

/// What was said while nobody learnt is learnt by the next dream.
#[test]
fn what_sessions_taught_and_nobody_wrote_down_is_gathered() {
    let off = Home::new().with("BETHINK_MEMORY__EXTRACTION", "off");
    let mut desk = Desk::with(off);
    desk.lay(&[("MEMORY.md", INDEX), ("deploys.md", WHOLE)]);
    let session = desk.session();
    desk.say(&session, "user", "From now on, always run the linter before you commit.");
    desk.say(&session, "assistant", "I will.");
    assert_eq!(
        dream(&desk, &json!({ "dry_run": true }))["result"]["diff"]
            .to_string()
            .matches("linter")
            .count(),
        0
    );
    desk.daemon.terminate();
    let home = std::mem::take(&mut desk.daemon.home);
    desk.daemon.home = home.with("BETHINK_MEMORY__EXTRACTION", "embedded");
    desk.daemon.start();
    let made = dream(&desk, &json!({}))["result"].clone();
    let diff = made["diff"].as_str().unwrap();
    assert!(diff.contains("always run the linter before you commit"), "{made}");
    assert!(made["steps"].to_string().contains("gather"), "{made}");
    assert!(dream(&desk, &json!({}))["result"]["diff"] == "", "gathered once");
}
