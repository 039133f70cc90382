//! The embedded notes of small sessions.

use serde_json::{Value, json};

use crate::support::{assistant, call, notes, user};

#[test]
fn nothing_happened() {
    insta::assert_snapshot!(notes(&[]));
}

#[test]
fn a_day_at_the_tide_gauge() {
    let test = json!({"command": "cargo test -p gauge 2>&1 | tail -5"});
    let mut story = vec![
        user(
            "The tide gauge shows yesterday's level after midnight. Find out why and mend it. Never touch the calibration table.",
        ),
        assistant("I'll look at how the day is chosen."),
    ];
    story.extend(call(
        "t1",
        "Read",
        &json!({"file_path": "/proj/tide/src/day.rs"}),
        "fn today() -> Day { Day::of(boot_time()) }",
        false,
    ));
    story.extend(call(
        "t2",
        "Bash",
        &test,
        "error[E0308]: mismatched types in day.rs\nFAILED",
        true,
    ));
    story.extend(call("t3", "Edit", &json!({"file_path": "/proj/tide/src/day.rs", "old_string": "fn today() -> Day { Day::of(boot_time()) }", "new_string": "fn today(clock: &Clock) -> Day { Day::of(clock.now()) }"}), "edited", false));
    story.extend(call("t4", "Bash", &test, "test result: ok. 12 passed; 0 failed", false));
    story.push(assistant("Mended: `today` took the time of the last boot because the clock was cached; it now asks the clock. All 12 tests pass."));
    story.push(user("No, don't pass the clock around, use the one of the station."));
    story.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t5", "name": "TodoWrite", "input": {"todos": [
        {"content": "Take the station's clock in day.rs", "status": "in_progress", "activeForm": "x"},
        {"content": "Write a test across midnight", "status": "pending", "activeForm": "x"},
        {"content": "Find the cause", "status": "completed", "activeForm": "x"}]}}]}));
    story.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t5", "content": "ok"}]}));
    story.extend(call("t6", "Write", &json!({"file_path": "/proj/tide/tests/midnight.rs", "content": "fn crosses_midnight() {}"}), "written", false));
    story.extend(call(
        "t7",
        "Bash",
        &test,
        "thread 'crosses_midnight' panicked at tests/midnight.rs:4",
        true,
    ));
    let text = notes(&story);
    insta::assert_snapshot!(text);
}

#[test]
fn only_calls() {
    let story: Vec<Value> = (0..3)
        .flat_map(|n| {
            call(
                &format!("t{n}"),
                "Bash",
                &json!({"command": format!("make part{n}")}),
                "ok",
                false,
            )
        })
        .collect();
    insta::assert_snapshot!(notes(&story));
}

/// There is room for the newest state however long the session, and the notes stay within their budget.
#[test]
fn a_long_session_stays_within_its_budget() {
    use bethink_session_memory::budget::TOTAL_TOKENS;
    use bethink_tokens::text_tokens;
    let mut story = Vec::new();
    for n in 0..400 {
        story.push(user(&format!("Wish number {n}: {}", "please mend the gauge ".repeat(40))));
        let input = json!({"command": format!("make step{n} && {}", "x".repeat(200))});
        story.extend(call(&format!("t{n}"), "Bash", &input, "error: no such step", true));
        story.push(assistant(&format!("Step {n}: {}", "I mended the gauge as asked. ".repeat(30))));
    }
    let text = notes(&story);
    let tokens = u64::from(text_tokens(&text));
    assert!(tokens <= TOTAL_TOKENS + 200, "{tokens} tokens");
    assert!(tokens > TOTAL_TOKENS / 2, "{tokens} tokens leave much unsaid");
    assert!(text.contains("Wish number 399") && text.contains("Wish number 0:"), "{text}");
}
