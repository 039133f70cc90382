//! When spans are replaced by their texts: not too early, not for a small gain, and at once if the prompt would
//! not fit.

use bethink_context::collapse::{CollapseExtent, OpenSpan, spans_without_text};
use bethink_context::collapse_stage::plan_collapse;
use bethink_context::{
    CollapsePlan, CollapsePolicy, Collapsed, Decisions, Fill, History, StagedSpan, Thresholds,
    drain_collapses, window_thresholds,
};
use bethink_transcript::Seq;

use crate::histories::{answer, history, say};

/// Returns ten rounds of about 650 tokens.
fn rounds() -> History {
    let mut messages = Vec::new();
    for n in 0..10 {
        messages.push(say(&format!("wish {n}")));
        messages.push(answer(&"word ".repeat(600)));
    }
    messages.push(say("go on"));
    history(&messages)
}

/// Returns the thresholds of an effective window of 10,000 tokens.
fn thresholds() -> Thresholds {
    window_thresholds(20_000, 20_000, 0.0).unwrap()
}

fn fill(tokens: u64) -> Fill {
    Fill { tokens, estimated: tokens }
}

fn write(open: OpenSpan) -> StagedSpan {
    let span = Collapsed {
        id: format!("00000000-0000-7000-8000-{:012}", open.first.0).parse().unwrap(),
        first: open.first,
        last: open.last,
        text: format!("[{}] what was done", open.first),
        tokens: u32::try_from(open.tokens * 30 / 100).unwrap(),
        made_after: Seq::ZERO,
    };
    StagedSpan { tokens_before: open.tokens, span }
}

fn staged(history: &History) -> Vec<StagedSpan> {
    let found =
        spans_without_text(history, &Decisions::default(), &[], 10_000, CollapseExtent::Full);
    found.into_iter().map(write).collect()
}

fn plan(history: &History, tokens: u64, staged: &[StagedSpan]) -> Option<CollapsePlan> {
    let policy = CollapsePolicy { staged: staged.to_vec(), write: &|span| Some(write(span)) };
    plan_collapse(history, &Decisions::default(), &thresholds(), fill(tokens), &policy)
}

#[test]
fn a_commit_that_frees_little_waits_and_nothing_is_due_before_its_time() {
    let history = rounds();
    let staged = staged(&history);
    assert!(staged.len() >= 2, "{staged:?}");
    let due = plan(&history, 9_000, &staged).expect("several spans are worth it");
    assert!(due.stage.tokens_before - due.stage.tokens_after >= 1_000, "{due:?}");
    assert!(plan(&history, 8_999, &staged).is_none());
    let one = &staged[..1];
    assert!(plan(&history, 9_000, one).is_none(), "one span is not worth it");
    // If the provider refuses the prompt, any span is used.
    let decisions = Decisions::default();
    let drained =
        drain_collapses(&history, &decisions, &thresholds(), fill(9_000), one.to_vec()).unwrap();
    assert_eq!(drained.chosen, [one[0].span.id]);
    let none = drain_collapses(&history, &decisions, &thresholds(), fill(9_000), Vec::new());
    assert!(none.is_none(), "nothing is staged");
}

#[test]
fn what_nobody_prepared_is_written_when_the_window_is_nearly_full() {
    let history = rounds();
    assert!(plan(&history, 9_499, &[]).is_none(), "the background job still has time");
    let due = plan(&history, 9_500, &[]).expect("written at once");
    assert!(!due.spans.is_empty());
    assert!(due.spans.iter().all(|it| u64::from(it.span.tokens) < it.tokens_before), "{due:?}");
    assert!(due.chosen.iter().all(|id| due.spans.iter().any(|it| it.span.id == *id)));
}
