//! What a summary says about things that were looked up, planned or turned down.

use serde_json::{Value, json};

use crate::support::{Ask, answer, call, result, say, try_compact};

fn summary_of(mut messages: Vec<Value>) -> String {
    // Fills the window, so that the messages before are summarized.
    for n in 0..24 {
        let id = format!("w{n}");
        messages.push(call(&id, "Bash", &json!({ "command": format!("./bench --round {n}") })));
        messages.push(result(&id, &"tick tock ".repeat(240)));
    }
    try_compact(&messages, &Ask::default()).unwrap().boundary.summary
}

fn has(summary: &str, line: &str) {
    assert!(summary.contains(line), "{line} is not in:\n{summary}");
}

#[test]
fn the_findings_of_searches_are_stated() {
    let found = "Found 2 files\n/proj/tests/ebb_test.go\n/proj/tests/flow_test.go";
    let summary = summary_of(vec![
        say("Three helpers are duplicated: put each into one file."),
        call("s1", "Grep", &json!({ "pattern": "submitTide", "path": "/proj/tests" })),
        result("s1", found),
        call("s2", "Grep", &json!({ "pattern": "oldGauge", "path": "/proj/README.md" })),
        result("s2", "No matches found"),
    ]);
    has(&summary, "- [3] `submitTide` was found in ebb_test.go and flow_test.go");
    has(&summary, "- [5] `oldGauge` was not found in README.md");
}

#[test]
fn checks_that_a_written_plan_names_are_commands_until_they_are_run() {
    let plan =
        "# Plan\n1. `make test` passes\n2. `make lint` finds nothing\n3. `a test` is no command";
    let mut messages = vec![
        say("Write the plan."),
        call("w", "Write", &json!({ "file_path": "/proj/plan.md", "content": plan })),
        result("w", "File created"),
        call("t", "Bash", &json!({ "command": "make test" })),
        result("t", "12 passed"),
    ];
    let summary = summary_of(messages.clone());
    has(&summary, "- `make test` worked in [4]");
    has(&summary, "- `make lint` is named in plan.md, but has not been run yet");
    assert!(!summary.contains("`make test` has not been run"), "{summary}");
    assert!(!summary.contains("`a test` has not"), "{summary}");
    messages.push(call("l", "Bash", &json!({ "command": "make lint" })));
    messages.push(result("l", "0 issues"));
    let summary = summary_of(messages);
    assert!(!summary.contains("`make lint` has not been run"), "{summary}");
}

#[test]
fn a_proposal_that_the_user_turned_down_refers_to_the_reply() {
    let summary = summary_of(vec![
        say("How do we store the share?"),
        answer(
            "The commit_sha field can link the metadata to its commit, because the commit exists then.",
        ),
        say("no, remove commit_sha again, somebody may take it for a stable link"),
        answer("Removed: the metadata has no link to the commit."),
    ]);
    has(&summary, "- [2] (see the user's reply in [3]) The commit_sha field");
}

#[test]
fn what_says_nothing_is_left_out() {
    let report = "Three harbours use fathoms.\nagentId: a7f (to go on)\n<usage>tokens: 58</usage>";
    let summary = summary_of(vec![
        say("Read the gauge."),
        answer("Let me look at the gauge first."),
        call("a", "Task", &json!({ "description": "find the gauge", "prompt": "where is it?" })),
        result("a", report),
        answer("Done. The level comes from one call:\n```\nlet tide = gauge.level();\n```"),
        say("Thanks, now the bench."),
        answer("Running it."),
    ]);
    has(&summary, "(agent: find the gauge) Three harbours use fathoms.\n");
    has(&summary, "The level comes from one call: `let tide = gauge.level();`");
    for nothing in ["Let me look", "Done.", "usage"] {
        assert!(!summary.contains(nothing), "{nothing} is in:\n{summary}");
    }
}
