//! One small story, and its summary as a model reads it.

use bethink_compactor::{Restorable, RestorableFile, RestorableText};
use bethink_transcript::Seq;
use serde_json::{Value, json};

use crate::support::{Ask, answer, call, result, say, try_compact};

pub(crate) fn story() -> Vec<Value> {
    let mut messages = vec![
        say("Fix the crash in the job scheduler when a tide table is empty."),
        answer("I'll look at the scheduler first."),
        call("t1", "Read", &json!({ "file_path": "/home/ada/tidepool/src/scheduler.rs" })),
        result(
            "t1",
            "pub fn next_job(table: &TideTable) -> Job { table.rows.first().unwrap().job() }",
        ),
        call("t2", "Bash", &json!({ "command": "cargo test -p scheduler" })),
        result(
            "t2",
            "running 4 tests\nerror: test failed, to rerun pass `-p scheduler`\nempty_table panicked",
        ),
        answer("`next_job` unwraps the first row of `TideTable`; an empty table has none."),
        call(
            "t3",
            "TodoWrite",
            &json!({ "todos": [
            { "content": "Return Option from next_job", "status": "in_progress" },
            { "content": "Update the callers", "status": "pending" },
            { "content": "Reproduce the crash", "status": "completed" },
        ] }),
        ),
        result("t3", "ok"),
        call(
            "t4",
            "Edit",
            &json!({ "file_path": "/home/ada/tidepool/src/scheduler.rs",
            "old_string": "-> Job", "new_string": "-> Option<Job>" }),
        ),
        result("t4", "edited"),
        say("No, don't change the signature: log with log_empty_table and skip the tick."),
        answer("Understood: the signature stays, and `log_empty_table` reports it."),
        call(
            "t5",
            "Edit",
            &json!({ "file_path": "/home/ada/tidepool/src/scheduler.rs",
            "old_string": "first().unwrap()", "new_string": "first().unwrap_or_else(log_empty_table)" }),
        ),
        result("t5", "edited"),
        call("t6", "Bash", &json!({ "command": "cargo test -p scheduler" })),
        result("t6", "test result: ok. 4 passed"),
    ];
    // Fills the window.
    for n in 0..24 {
        let id = format!("w{n}");
        messages.push(call(&id, "Bash", &json!({ "command": format!("./bench --round {n}") })));
        messages.push(result(&id, &"tick tock ".repeat(240)));
    }
    messages.push(say("Now write the release note."));
    messages
}

#[test]
fn the_summary_of_a_story() {
    let outcome = try_compact(&story(), &Ask::default()).unwrap();
    insta::assert_snapshot!("story", outcome.boundary.summary);
    insta::assert_snapshot!("story_marker", outcome.boundary.marker);
    assert!(outcome.fidelity.score > 0.9, "{:?}", outcome.fidelity);
}

#[test]
fn restored_state_stands_after_the_newest_message() {
    let restorable = Restorable {
        texts: vec![RestorableText::plan("plan.md", "1. fix 2. release".into(), None)],
        files: vec![RestorableFile {
            path: "/home/ada/tidepool/src/scheduler.rs".into(),
            content: Some("pub fn next_job() {}".into()),
            shown_in: None,
        }],
    };
    let messages = story();
    let outcome = try_compact(&messages, &Ask { restorable, ..Ask::default() }).unwrap();
    let kinds: Vec<bethink_api::RestoredKind> = outcome.restored.iter().map(|r| r.kind).collect();
    assert_eq!(kinds, [bethink_api::RestoredKind::Plan, bethink_api::RestoredKind::File]);
    assert!(outcome.boundary.restored.iter().all(|a| a.after.0 == messages.len() as u64));
}

#[test]
fn a_task_that_replaces_the_first_one_is_named_beside_it() {
    let mut messages = vec![say("Build the invoice API."), answer("It is built.")];
    messages
        .extend([say("Stop working on invoices. New task: fix the login test."), answer("Yes.")]);
    for step in 0..40 {
        messages.extend([say(&format!("Go on with step {step}.")), answer(&"word ".repeat(400))]);
    }
    let summary = try_compact(&messages, &Ask::default()).unwrap().boundary.summary;
    let (first, _) = summary.split_once("## 2.").unwrap();
    assert!(first.contains("- User changed the task: [3] Stop working on invoices."), "{first}");
    for text in
        ["Is that a new task?", "Add a new task button.", "The tests stop working on Windows."]
    {
        assert!(!bethink_facts::RecordedStatement::new(Seq(1), text).changes_task(), "{text}");
    }
}
