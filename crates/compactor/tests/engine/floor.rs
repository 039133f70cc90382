//! The embedded level always succeeds, and reports what it cannot avoid.

use bethink_compactor::ladder::SummaryRequest;
use bethink_compactor::{CompactionFailure, EmbeddedSummarizer, Summarizer, SummaryLevel, Trigger};
use serde_json::{Value, json};

use crate::support::{Ask, answer, call, result, say, try_compact};

fn long(words: usize) -> String {
    (0..words).map(|n| format!("word{n} ")).collect()
}

#[test]
fn one_giant_user_message() {
    let text = format!("START {} END", long(300_000));
    let outcome = try_compact(&[say(&text)], &Ask::default()).unwrap();
    assert_eq!(outcome.last_seq.0, 1);
    let summary = &outcome.boundary.summary;
    assert!(summary.contains("[1] START") && summary.contains(" END"), "{summary:.300}");
}

/// A task that nobody has answered is shown whole for as long as it fits below `blocking` (21,000 tokens here; `auto` is
/// 17,667), and what came before it is compacted.
#[test]
fn a_large_request_is_kept_whole() {
    let ask = Ask { trigger: Trigger::Auto, ..Ask::default() };
    let task = say(&format!("START {} END", long(5_900)));
    let alone = try_compact(std::slice::from_ref(&task), &ask).unwrap_err();
    assert_eq!(alone, CompactionFailure::LargeRequest);
    let short = [say("hello"), answer("hi"), task.clone()];
    assert_eq!(try_compact(&short, &ask).unwrap_err(), CompactionFailure::LargeRequest);
    let mut messages = vec![say("look around"), call("t1", "Bash", &json!({ "command": "ls" }))];
    messages.extend([result("t1", &long(4_000)), answer("done"), task]);
    let kept = try_compact(&messages, &ask).unwrap();
    assert_eq!(kept.boundary.kept_from.0, 5);
    messages.extend([answer("I begin"), say("go on")]);
    let answered = try_compact(&messages, &ask).unwrap();
    assert!(answered.boundary.kept_from.0 > 5, "it has been read");
    let endless = try_compact(&[say(&long(90_000))], &ask).unwrap();
    assert_eq!(endless.last_seq.0, 1, "it does not fit at all");
}

/// Some short messages do not show where the work stands, so the round before them is kept, too.
#[test]
fn a_few_short_messages_are_no_tail() {
    let mut messages = vec![say("look around"), call("t1", "Bash", &json!({ "command": "ls" }))];
    messages.extend([result("t1", &long(3_000)), answer("done"), say("build it")]);
    messages.push(call("t2", "Bash", &json!({ "command": "make" })));
    messages.extend([result("t2", &long(1_500)), answer("built"), say("go on")]);
    let outcome = try_compact(&messages, &Ask::default()).unwrap();
    assert_eq!(outcome.boundary.kept_from.0, 6);
}

#[test]
fn one_giant_turn_keeps_its_calls_and_the_beginning_of_their_results() {
    let mut messages = vec![say("read everything")];
    let calls: Vec<Value> = (0..12)
        .map(|n| json!({ "type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": { "command": format!("cat f{n}") } }))
        .collect();
    messages.push(json!({ "role": "assistant", "content": calls }));
    messages
        .extend((0..12).map(|n| result(&format!("t{n}"), &format!("BEGIN{n} {}", long(9_000)))));
    let outcome = try_compact(&messages, &Ask::default()).unwrap();
    assert_eq!(outcome.boundary.kept_from.0, 2, "the unfinished round stays");
    assert_eq!(outcome.boundary.clipped.len(), 12);
    assert!(outcome.boundary.clipped[7].text.starts_with("BEGIN7 word0"));
    assert!(outcome.boundary.clipped[7].text.contains("--message 10 --bytes "));
}

#[test]
fn a_call_with_a_giant_input() {
    let write = json!({ "file_path": "big.txt", "content": long(200_000) });
    let messages = [
        say("one"),
        answer("two"),
        say("write it"),
        call("t1", "Write", &write),
        result("t1", "ok"),
        say("next"),
    ];
    let outcome = try_compact(&messages, &Ask::default()).unwrap();
    assert!(outcome.boundary.kept_from.0 > 4);
    assert!(
        outcome.boundary.summary.contains("big.txt (created, last [4])"),
        "{}",
        outcome.boundary.summary
    );
}

#[test]
fn an_abandoned_call_does_not_hold_up_later_cuts() {
    let mut messages = vec![say("go"), call("lost", "Bash", &json!({ "command": "sleep" }))];
    for n in 0..40 {
        let id = format!("t{n}");
        messages.push(call(&id, "Bash", &json!({ "command": format!("make step{n}") })));
        messages.push(result(&id, &long(400)));
    }
    let outcome = try_compact(&messages, &Ask::default()).unwrap();
    assert!(outcome.boundary.kept_from.0 > 40, "{}", outcome.boundary.kept_from);
}

#[test]
fn system_and_tools_that_fill_the_window_are_named() {
    let ask = Ask { fixed_tokens: 17_000, ..Ask::default() };
    let failure = try_compact(&[say("one"), answer("two"), say(&long(3_000))], &ask).unwrap_err();
    assert!(matches!(failure, CompactionFailure::NoRoom { fixed: 17_000, .. }), "{failure}");
}

#[test]
fn what_is_small_already_is_left_alone() {
    let failure =
        try_compact(&[say("one"), answer("two"), say("three")], &Ask::default()).unwrap_err();
    assert!(
        matches!(failure, CompactionFailure::Refused(_) | CompactionFailure::Nothing),
        "{failure}"
    );
}

#[derive(Debug)]
struct Broken(Result<String, String>);

impl Summarizer for Broken {
    fn is_well_formed(&self, summary: &str) -> bool {
        bethink_compactor::well_formed(summary)
    }

    fn level(&self) -> SummaryLevel {
        SummaryLevel::Full
    }

    fn summarize(&self, _: &SummaryRequest<'_>) -> Result<String, String> {
        self.0.clone()
    }
}

fn busy(prefix: &str) -> Vec<Value> {
    let mut messages = vec![say("go")];
    for n in 0..30 {
        let id = format!("{prefix}{n}");
        messages.push(call(&id, "Bash", &json!({ "command": "make" })));
        messages.push(result(&id, &long(400)));
    }
    messages
}

#[test]
fn a_level_that_fails_or_writes_nonsense_gives_way_to_the_next() {
    for bad in [
        Err("no model".to_owned()),
        Ok(String::new()),
        Ok("It went well.".to_owned()),
        Ok("x".repeat(400_000)),
    ] {
        let broken = Broken(bad.clone());
        let ask = Ask { ladder: vec![&broken, &EmbeddedSummarizer], ..Ask::default() };
        let outcome = try_compact(&busy("t"), &ask).unwrap();
        assert_eq!(outcome.level, SummaryLevel::Embedded, "{bad:.40?}");
        assert!(outcome.refused[0].starts_with("full: "), "{:?}", outcome.refused);
        let alone = Ask { ladder: vec![&broken], ..Ask::default() };
        assert!(
            matches!(try_compact(&busy("t"), &alone), Err(CompactionFailure::Refused(_))),
            "{bad:.40?}"
        );
    }
}

#[test]
fn a_summary_has_the_size_that_was_asked_for() {
    for tokens in [400, 1_000, 2_500] {
        let ask = Ask { window: 200_000, summary_tokens: Some(tokens), ..Ask::default() };
        let mut messages = busy("t");
        messages.extend(busy("u"));
        let outcome = try_compact(&messages, &ask);
        let summary = outcome.unwrap().boundary.summary;
        assert!(summary.len() as u64 <= tokens * 4, "{} of {}", summary.len(), tokens * 4);
    }
}
