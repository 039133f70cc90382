//! Nothing goes stale: index lines follow their topics, a dream does what its dry run shows, ages come from the record.

use bethink_harness::wait::{PATIENCE, until};
use serde_json::json;

use crate::dream::dream;
use crate::memory::Desk;

fn topic(description: &str) -> String {
    format!("---\ndescription: {description}\n---\n\n{description}\n")
}

#[test]
fn index_lines_follow_what_is_written_and_edited() {
    let desk = Desk::new();
    let index = || desk.get("MEMORY").text();
    desk.put("demo", &topic("The demo is on May 3."), &[]).ok();
    desk.put("sky", &topic("The sky is blue."), &[]).ok();
    assert_eq!(
        index(),
        "- [Demo](demo.md) — The demo is on May 3.\n- [Sky](sky.md) — The sky is blue.\n"
    );
    desk.put("demo", &topic("The demo is on May 4."), &[]).ok();
    assert_eq!(
        index(),
        "- [Demo](demo.md) — The demo is on May 4.\n- [Sky](sky.md) — The sky is blue.\n"
    );
    // A line that a person worded stays.
    desk.put(
        "MEMORY",
        "- [Demo](demo.md) — The demo is on May 4.\n- [Sky](sky.md) — colours\n",
        &[],
    )
    .ok();
    desk.put("sky", &topic("The sky is grey."), &[]).ok();
    assert_eq!(index(), "- [Demo](demo.md) — The demo is on May 4.\n- [Sky](sky.md) — colours\n");
    // An edit by hand.
    std::fs::write(desk.dir().join("demo.md"), topic("The demo is on May 5.")).unwrap();
    let followed = until(PATIENCE, || index().contains("May 5").then_some(()));
    assert!(followed.is_some(), "{}", index());
    assert!(index().contains("— colours\n"));
}

#[test]
fn index_lines_follow_edits_made_while_the_daemon_was_stopped() {
    let mut desk = Desk::new();
    desk.put("demo", &topic("The demo is on May 3."), &[]).ok();
    let dir = desk.dir();
    desk.daemon.kill9();
    std::fs::write(dir.join("demo.md"), topic("The demo is on May 4.")).unwrap();
    desk.daemon.start();
    assert_eq!(desk.names(), ["demo"]);
    let index = || desk.get("MEMORY").text();
    let followed = until(PATIENCE, || index().contains("May 4").then_some(()));
    assert!(followed.is_some(), "{}", index());
}

#[test]
fn a_dream_does_what_its_dry_run_shows() {
    let desk = Desk::new();
    let session = desk.session();
    desk.teach(&session, "Remember that the release is tomorrow.");
    let learned = until(PATIENCE, || desk.get("MEMORY").text().contains("tomorrow").then_some(()));
    assert!(learned.is_some(), "{:?}", desk.names());
    let look = dream(&desk, &json!({ "dry_run": true }))["result"].clone();
    let diff = look["diff"].as_str().unwrap();
    assert!(diff.contains("+++ b/MEMORY.md") && diff.contains("tomorrow ("), "{diff}");
    let made = dream(&desk, &json!({}))["result"].clone();
    assert_eq!((&made["diff"], &made["left_alone"]), (&look["diff"], &json!([])));
    let applied: Vec<&str> =
        made["applied"].as_array().unwrap().iter().filter_map(|file| file.as_str()).collect();
    assert!(applied.contains(&"MEMORY.md"), "{made}");
    assert!(desk.get("MEMORY").text().contains("tomorrow ("), "{}", desk.get("MEMORY").text());
}

#[test]
fn an_age_comes_from_the_record_and_survives_a_copy() {
    let desk = Desk::new();
    let modified = |name: &str| {
        let page = desk.daemon.client().get(&desk.path("")).ok();
        let memories = page["memories"].as_array().unwrap().clone();
        let found = memories.into_iter().find(|memory| memory["name"] == name);
        found.unwrap_or_else(|| panic!("{page}"))["modified"].as_str().unwrap().to_owned()
    };
    desk.put("fog", "---\ndescription: Thick fog.\nmodified: 2025-01-02\n---\n\nThick.\n", &[])
        .ok();
    assert_eq!(modified("fog"), "2025-01-02T00:00:00Z");
    // A copy has a new file time, but the same age.
    let dir = desk.dir();
    std::fs::copy(dir.join("fog.md"), dir.join("mist.md")).unwrap();
    let seen = until(PATIENCE, || desk.names().contains(&"mist".to_owned()).then_some(()));
    assert!(seen.is_some());
    assert_eq!(modified("mist"), "2025-01-02T00:00:00Z");
    // A write by our tools is recorded; the same text again is not a change.
    let old = desk.get("fog").text();
    desk.put("fog", &old.replace("Thick.", "Thin."), &[]).ok();
    let new = desk.get("fog").text();
    assert!(!new.contains("2025-01-02") && new.contains("\nmodified: 20"), "{new}");
    let again = desk.put("fog", &old.replace("Thick.", "Thin."), &[]).ok();
    assert_eq!((&again["outcome"], desk.get("fog").text()), (&json!("same"), new));
}
