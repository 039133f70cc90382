//! Level 1: notes replace what they cover; missing facts are added from history.

use bethink_compactor::{
    CompactionFailure, EmbeddedSummarizer, NotesSummarizer, SessionNotes, Summarizer, SummaryLevel,
    Trigger,
};
use bethink_transcript::Seq;
use serde_json::{Value, json};

use crate::support::{Ask, answer, call, result, say, try_compact};

fn busy(words: usize) -> Vec<Value> {
    let mut messages = vec![say("Mend the tide table, and keep its format.")];
    for n in 0..40 {
        let id = format!("t{n}");
        messages.push(answer(&format!("Now station_{n}.")));
        messages.push(call(&id, "Read", &json!({ "file_path": format!("/proj/station_{n}.rs") })));
        messages.push(result(&id, &"tick tock ".repeat(words)));
    }
    messages
}

fn notes(text: &str, through: u64) -> SessionNotes {
    SessionNotes { text: text.to_owned(), through: Seq(through) }
}

const TEXT: &str = "# Current State\n- [100] mending station_3\n";

#[test]
fn notes_stand_with_what_they_lack() {
    let notes = notes(TEXT, 118);
    let level = NotesSummarizer { notes: &notes, is_only: false };
    let ladder: Vec<&dyn Summarizer> = vec![&level, &EmbeddedSummarizer];
    let mut messages = busy(200);
    messages.push(call("test", "Bash", &json!({ "command": "make test" })));
    messages.push(result("test", "error: the gauge is stuck"));
    let outcome = try_compact(&messages, &Ask { ladder, ..Ask::default() }).unwrap();
    assert_eq!(outcome.level, SummaryLevel::SessionMemory);
    let summary = &outcome.boundary.summary;
    assert!(
        summary.contains("cover messages 1 to 118") && summary.contains(TEXT.trim()),
        "{summary}"
    );
    assert!(summary.contains("[1] Mend the tide table, and keep its format."), "{summary}");
    let open = "- [123] Bash `make test`: error: the gauge is stuck → has not worked since";
    assert!(summary.ends_with(&format!("# Open Work\n{open}")), "{summary}");
}

#[test]
fn what_no_notes_speak_of_stays() {
    let old = notes(TEXT, 106);
    let level = NotesSummarizer { notes: &old, is_only: false };
    let ladder: Vec<&dyn Summarizer> = vec![&level, &EmbeddedSummarizer];
    let ask = Ask { ladder, ..Ask::default() };
    let outcome = try_compact(&busy(200), &ask).unwrap();
    assert_eq!(outcome.level, SummaryLevel::SessionMemory);
    assert!(outcome.boundary.kept_from <= Seq(107), "{}", outcome.boundary.kept_from);
    // If everything is too much for the window, the next level is used.
    let outcome = try_compact(&busy(700), &ask).unwrap();
    assert_eq!(outcome.level, SummaryLevel::Embedded);
    assert!(outcome.refused[0].starts_with("session_memory: "), "{:?}", outcome.refused);
}

#[test]
fn notes_without_room_for_the_rest_give_way_unless_nothing_else_may_be_written() {
    let long = notes(&"- [3] a line of notes that says something\n".repeat(300), 118);
    let level = NotesSummarizer { notes: &long, is_only: false };
    let ladder: Vec<&dyn Summarizer> = vec![&level, &EmbeddedSummarizer];
    let outcome = try_compact(&busy(200), &Ask { ladder, ..Ask::default() }).unwrap();
    assert_eq!(outcome.level, SummaryLevel::Embedded);
    assert!(outcome.refused[0].contains("the notes are"), "{:?}", outcome.refused);
    let level = NotesSummarizer { notes: &long, is_only: true };
    let ladder: Vec<&dyn Summarizer> = vec![&level];
    let outcome =
        try_compact(&busy(200), &Ask { ladder, window: 40_000, ..Ask::default() }).unwrap();
    assert_eq!(outcome.level, SummaryLevel::SessionMemory);
}

#[test]
fn notes_that_leave_a_large_tail_give_way_unless_nothing_else_may_be_written() {
    let old = notes(TEXT, 40);
    let level = NotesSummarizer { notes: &old, is_only: false };
    let ladder: Vec<&dyn Summarizer> = vec![&level, &EmbeddedSummarizer];
    let outcome = try_compact(&busy(200), &Ask { ladder, ..Ask::default() }).unwrap();
    assert_eq!(outcome.level, SummaryLevel::Embedded);
    assert!(
        outcome.refused[0].contains("that the notes do not cover have"),
        "{:?}",
        outcome.refused
    );
    let level = NotesSummarizer { notes: &old, is_only: true };
    let ladder: Vec<&dyn Summarizer> = vec![&level];
    let outcome = try_compact(&busy(200), &Ask { ladder, ..Ask::default() }).unwrap();
    assert_eq!(outcome.level, SummaryLevel::SessionMemory);
    assert!(outcome.boundary.kept_from <= Seq(41), "{}", outcome.boundary.kept_from);
}

/// Notes that do not reach the user's newest task leave it to another level, which keeps the task whole.
#[test]
fn notes_that_lag_behind_a_large_task_give_way() {
    let old = notes(TEXT, 10);
    let level = NotesSummarizer { notes: &old, is_only: false };
    let mut messages = busy(60);
    messages.push(say(&(0..5_900).map(|n| format!("word{n} ")).collect::<String>()));
    let compacted = |ladder: Vec<&dyn Summarizer>| {
        try_compact(&messages, &Ask { ladder, trigger: Trigger::Auto, ..Ask::default() })
    };
    assert_eq!(compacted(vec![&level]).unwrap_err(), CompactionFailure::LargeRequest);
    let outcome = compacted(vec![&level, &EmbeddedSummarizer]).unwrap();
    assert_eq!(outcome.level, SummaryLevel::Embedded);
    assert_eq!(outcome.boundary.kept_from, Seq(messages.len() as u64));
}
