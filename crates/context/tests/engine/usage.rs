use bethink_api::TokenSource;
use bethink_context::decision::ClearedResult;
use bethink_context::{Decision, Decisions, History, Learner, Measure, measure};
use bethink_transcript::ToolUseId;
use serde_json::{Value, json};

use crate::histories::{apply, call, history, push, result, say, seq};

const MODEL: &str = "claude-x";

/// Returns the assistant message `of`, which reports a prompt of `prompt` tokens.
fn reports(of: &str, prompt: u64, output: u64) -> Value {
    json!({ "role": "assistant", "assistant_message_id": of, "model": MODEL,
        "usage": { "input_tokens": 3, "cache_read_input_tokens": prompt - 3, "output_tokens": output },
        "content": [{ "type": "text", "text": format!("answer {of}") }] })
}

fn with_model(mut message: Value, model: &str) -> Value {
    message["model"] = json!(model);
    message
}

fn words(n: usize) -> String {
    "word ".repeat(n)
}

fn measured(history: &History, decisions: &Decisions) -> Measure {
    let learner = Learner::replay(MODEL, history, decisions, 0);
    let estimated = history.entries().iter().map(bethink_context::HistoryEntry::tokens).sum();
    measure(history, decisions, MODEL, estimated, &learner)
}

#[test]
fn the_providers_figure_and_what_came_after_it() {
    let mut history = history(&[say("Hello."), reports("a1", 40_000, 1)]);
    let before = measured(&history, &Decisions::default());
    assert_eq!((before.source(), before.reported), (TokenSource::Reported, 40_000));
    assert!((40_001..40_020).contains(&before.tokens), "{before:?}");
    push(&mut history, &say(&words(1_000)));
    let after = measured(&history, &Decisions::default());
    assert_eq!(after.reported, 40_000);
    assert!((41_000..41_200).contains(&after.tokens), "{after:?}");
}

#[test]
fn every_part_of_the_newest_answer_counts_once() {
    // All chunks of an answer repeat its usage; a result comes between them.
    let mut second = call("a1", "t1", "Read", "a.rs");
    second["usage"] = json!({ "input_tokens": 40_000, "output_tokens": 9 });
    let mut first = reports("a1", 40_000, 1);
    first["content"][0]["text"] = json!(words(300));
    let messages = [say("Hello."), first, second, result("t1", &words(500))];
    let measure = measured(&history(&messages), &Decisions::default());
    // 300 and 500 words, a call, and a result's frame.
    assert!((40_930..41_050).contains(&measure.tokens), "{measure:?}");
}

#[test]
fn an_answer_whose_text_is_not_all_here_counts_as_reported() {
    let measure =
        measured(&history(&[say("Hello."), reports("a1", 40_000, 7_000)]), &Decisions::default());
    assert_eq!(measure.tokens, 47_000);
}

#[test]
fn figures_of_another_model_or_another_view_are_void() {
    let dated = with_model(reports("a1", 40_000, 1), "claude-x-20250929");
    assert_eq!(measured(&history(&[say("x"), dated]), &Decisions::default()).reported, 40_000);
    let other = with_model(reports("a1", 40_000, 1), "claude-y");
    let measure = measured(&history(&[say("x"), other]), &Decisions::default());
    assert_eq!((measure.source(), measure.reported), (TokenSource::Estimate, 0));
    assert!(measure.tokens < 100, "{measure:?}");

    let messages = [
        say("x"),
        call("a0", "t1", "Read", "a.rs"),
        result("t1", &words(100)),
        reports("a1", 40_000, 1),
    ];
    let history = history(&messages);
    let mut decisions = Decisions::default();
    assert_eq!(measured(&history, &decisions).reported, 40_000);
    apply(&mut decisions, &history, &[cleared(4)]);
    assert_eq!(measured(&history, &decisions).reported, 0);
}

fn cleared(made_after: u64) -> Decision {
    let tool_use_id = ToolUseId::new("t1").unwrap();
    let result = ClearedResult { tool_use_id, seq: seq(3), text: "gone".to_owned() };
    Decision::Cleared { results: vec![result], made_after: seq(made_after) }
}

/// Returns rounds of a session whose provider counts `percent` of the estimate.
fn rounds(percent: u64, n: u64) -> Vec<Value> {
    let mut prompt = 5_000;
    let mut messages = vec![say("Hello.")];
    for round in 0..n {
        messages.push(reports(&format!("a{round}"), prompt, 1));
        messages.push(say(&words(1_000)));
        // The new text, and the answer before it.
        prompt += 1_076 * percent / 100;
    }
    messages
}

#[test]
fn a_session_learns_what_its_provider_counts() {
    for percent in [70, 100, 140] {
        let history = history(&rounds(percent, 60));
        let learner = Learner::replay(MODEL, &history, &Decisions::default(), 0);
        let (scale, error) = (learner.calibration().scale(), learner.calibration().error());
        assert_eq!(learner.calibration().turns(), 59);
        assert!((scale - percent as f64 / 100.0).abs() < 0.1, "{percent}: {scale}");
        assert!(error.unwrap() < 0.15, "{percent}: {error:?}");
        let plain = history.entries().last().unwrap().tokens() as f64;
        let later = measured(&history, &Decisions::default());
        let counted = (later.tokens - later.reported) as f64;
        assert!((counted / plain - scale).abs() < 0.02, "{percent}: {counted} of {plain}");
    }
}

#[test]
fn nothing_is_learnt_where_something_else_moved_the_figure() {
    let turns = |messages: &[Value], decisions: &Decisions| {
        Learner::replay(MODEL, &history(messages), decisions, 0).calibration().turns()
    };
    let none = Decisions::default();
    let between = || say(&words(50));
    assert_eq!(
        turns(&[between(), reports("a", 9_000, 1), between(), reports("b", 9_100, 1)], &none),
        1
    );
    let shrank = [between(), reports("a", 9_000, 1), between(), reports("b", 8_000, 1)];
    assert_eq!(turns(&shrank, &none), 0);
    let same_answer = [between(), reports("a", 9_000, 1), between(), reports("a", 9_100, 1)];
    assert_eq!(turns(&same_answer, &none), 0);
    let other = with_model(reports("b", 9_050, 1), "claude-y");
    let through_another =
        [between(), reports("a", 9_000, 1), other, between(), reports("c", 9_100, 1)];
    assert_eq!(turns(&through_another, &none), 0);

    let messages = [
        say("x"),
        call("a0", "t1", "Read", "a.rs"),
        result("t1", "y"),
        reports("a", 9_000, 1),
        between(),
        reports("b", 9_100, 1),
    ];
    let mut edited = Decisions::default();
    assert_eq!(turns(&messages, &edited), 1);
    apply(&mut edited, &history(&messages), &[cleared(5)]);
    assert_eq!(turns(&messages, &edited), 0);
}

#[test]
fn a_result_counts_as_it_was_shown() {
    let large = words(20_000);
    let messages = [
        say("x"),
        reports("a", 9_000, 1),
        call("a", "t1", "Bash", "x"),
        result("t1", &large),
        reports("b", 9_200, 1),
    ];
    let history = history(&messages);
    let mut preview = Decisions::default();
    let tool_use_id = ToolUseId::new("t1").unwrap();
    let replaced = Decision::Replaced(bethink_context::decision::ClearedResult {
        tool_use_id,
        seq: seq(4),
        text: words(50),
    });
    apply(&mut preview, &history, &[replaced]);
    let learnt = Learner::replay(MODEL, &history, &preview, 0).calibration();
    assert!(learnt.error().unwrap() < 0.5, "{learnt:?}");
    let before = crate::histories::history(&messages[..4]);
    let size = measured(&before, &preview);
    assert!((9_100..9_250).contains(&size.tokens), "{size:?}");
    assert!(measured(&before, &Decisions::default()).tokens > 25_000);
}

#[test]
fn another_model_starts_anew() {
    let history = history(&rounds(150, 30));
    let mut learner = Learner::replay(MODEL, &history, &Decisions::default(), 0);
    assert!(learner.calibration().scale() > 1.2);
    let last = history.entries().last().unwrap();
    learner.observe("claude-y", last, &history, &Decisions::default());
    assert_eq!(learner.calibration().scale(), 1.0);
}

#[test]
fn what_the_client_adds_unseen_stays_counted_when_its_figure_is_void() {
    let history = history(&[say("Hello."), reports("a1", 40_000, 1)]);
    let decisions = Decisions::default();
    let mut learner = Learner::replay(MODEL, &history, &decisions, 0);
    let size = measure(&history, &decisions, MODEL, 20, &learner);
    learner.compare(20, &size, 180_000);
    assert!((39_900..40_100).contains(&learner.unseen()), "{}", learner.unseen());
    let void = measure(&history, &decisions, "claude-y", 500, &learner);
    assert_eq!((void.reported, void.tokens), (0, 500 + learner.unseen()));
    // A figure that is too large for the prompt is only used in part.
    learner.compare(20, &size, 60_000);
    assert_eq!(learner.unseen(), 15_000);
    learner.compare(1_000, &void, 60_000);
    assert_eq!(learner.unseen(), 15_000);
}
