//! Collapsed spans: which are chosen; a prompt with them is valid, smaller, and without thinking that no longer
//! applies.

use bethink_context::collapse::{self, CollapseExtent, OpenSpan, choose, spans_without_text};
use bethink_context::{
    Attachment, Boundary, Collapsed, Decision, Decisions, History, PromptShape, ViewOptions,
    budget, microcompact, usage, view,
};
use bethink_transcript::{CollapseId, Origin, Seq, ToolSelection, UnixMicros, ValidPrompt};
use proptest::prelude::*;
use serde_json::Value;

use crate::histories::{
    answer, apply, call, hints, history, prompt, push, read, result, say, seq, thought,
};
use crate::prefix::{Step, messages, step};

fn id(n: u64) -> CollapseId {
    format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
}

fn span(first: u64, last: u64, text: &str) -> Collapsed {
    let (first, last) = (seq(first), seq(last));
    Collapsed {
        id: id(first.0),
        first,
        last,
        text: text.into(),
        tokens: bethink_tokens::text_tokens(text),
        made_after: last,
    }
}

fn collapsed(mut span: Collapsed, history: &History) -> Decision {
    span.made_after = history.last_seq();
    Decision::Collapsed(span)
}

fn story() -> History {
    history(&[
        say("one"),
        call("A", "t1", "Read", "a"),
        result("t1", "old"),
        answer("done one"),
        say("two"),
        thought("B", "hm"),
        call("B", "t2", "Read", "b"),
        result("t2", "new"),
        say("three"),
    ])
}

#[test]
fn a_span_is_one_text_of_the_user_and_what_follows_is_untouched() {
    let history = story();
    let mut decisions = Decisions::default();
    apply(&mut decisions, &history, &[collapsed(span(2, 4, "SPAN"), &history)]);
    insta::assert_snapshot!(read(&history, &decisions), @r"
    0 user: one | SPAN | two
    1 assistant: <thinking> | →Read t2
    2 user: ←t2 new | three
    ");
    assert_eq!(decisions.first_edit(), Some(seq(2)));
    let each: u64 = history.entries().iter().map(|e| usage::shown(e, &decisions)).sum();
    assert_eq!(each, view(&history, &decisions, ViewOptions::default()).tokens());
    let first_edited = view(&history, &decisions, ViewOptions::default()).first_edited;
    assert_eq!(first_edited, Some(0));
    // A second span is added; a span that overlaps one of them, or is empty, changes nothing.
    let more = [span(5, 8, "MORE"), span(4, 5, "NO"), span(3, 3, "NO"), span(9, 8, "NO")];
    for span in more {
        apply(&mut decisions, &history, &[collapsed(span, &history)]);
    }
    insta::assert_snapshot!(read(&history, &decisions), @"0 user: one | SPAN | MORE | three");
    assert_eq!(decisions.spans().len(), 2);
    let within: Vec<bool> = (1..10).map(|n| decisions.span_of(seq(n)).is_some()).collect();
    assert_eq!(within, [false, true, true, true, true, true, true, true, false]);
}

#[test]
fn an_assistant_before_and_after_a_span_is_two_messages() {
    // The id occurs again after a message from the user, and that message is collapsed.
    let history =
        history(&[say("go"), answer_of("A", "x"), say("more"), answer_of("A", "y"), say("z")]);
    let mut decisions = Decisions::default();
    apply(&mut decisions, &history, &[collapsed(span(3, 3, "SPAN"), &history)]);
    insta::assert_snapshot!(read(&history, &decisions), @r"
    0 user: go
    1 assistant: x
    2 user: SPAN
    3 assistant: y
    4 user: z
    ");
}

fn answer_of(of: &str, text: &str) -> Value {
    let mut message = answer(text);
    message["assistant_message_id"] = of.into();
    message
}

#[test]
fn a_list_of_work_goes_with_its_span_and_what_was_restored_stays() {
    let history = story();
    let mut decisions = Decisions::default();
    let attached = |after: u64, what: &str, text: &str| {
        Decision::Attached(Attachment {
            after: seq(after),
            what: what.into(),
            name: String::new(),
            text: text.into(),
            tokens: 5,
        })
    };
    let records = [
        attached(3, "todos", "TODOS"),
        attached(4, "plan", "PLAN"),
        attached(8, "todos", "NEWER"),
        collapsed(span(1, 4, "SPAN"), &history),
    ];
    apply(&mut decisions, &history, &records);
    insta::assert_snapshot!(read(&history, &decisions), @r"
    0 user: SPAN | PLAN | two
    1 assistant: <thinking> | →Read t2
    2 user: ←t2 new | NEWER | three
    ");
    assert_eq!(view(&history, &decisions, ViewOptions::default()).attachment_tokens, 10);
}

#[test]
fn a_boundary_drops_the_spans_before_it_and_keeps_the_later_ones() {
    let history = story();
    let mut decisions = Decisions::default();
    let records =
        [collapsed(span(2, 4, "EARLY"), &history), collapsed(span(6, 8, "LATE"), &history)];
    apply(&mut decisions, &history, &records);
    let boundary = Boundary {
        id: "c".into(),
        kept_from: seq(5),
        made_after: seq(9),
        marker: "MARKER".into(),
        summary: "SUMMARY".into(),
        tokens: 3,
        restored: Vec::new(),
        clipped: Vec::new(),
    };
    let rebased = decisions.rebased(boundary.clone(), &history);
    let expect = "0 user: MARKER | SUMMARY | two | LATE | three\n";
    assert_eq!(read(&history, &rebased), expect);
    // A span across the boundary would hide kept messages, so it is dropped too.
    let mut across = Decisions::default();
    apply(&mut across, &history, &[collapsed(span(4, 6, "ACROSS"), &history)]);
    let cut = across.rebased(boundary.clone(), &history);
    assert_eq!((cut.spans(), read(&history, &cut).contains("two")), (&[][..], true));
    let mut loaded = Decisions::new(Some(boundary.clone()), &history);
    apply(&mut loaded, &history, &[collapsed(span(4, 6, "ACROSS"), &history)]);
    assert_eq!(loaded.spans(), []);
    // After loading, the records give the same state.
    let mut loaded = Decisions::new(Some(boundary), &history);
    for record in records {
        let stored = serde_json::to_string(&record).unwrap();
        apply(&mut loaded, &history, &[serde_json::from_str(&stored).unwrap()]);
    }
    assert_eq!(read(&history, &loaded), expect);
}

#[test]
fn what_is_collapsed_is_neither_cleared_nor_previewed() {
    let large = "x".repeat(60_000);
    let mut messages = vec![say("go")];
    for n in 0..6 {
        let id = format!("t{n}");
        messages.extend([call(&id, &id, "Bash", ""), result(&id, &large)]);
    }
    let history = history(&messages);
    let mut decisions = Decisions::default();
    apply(&mut decisions, &history, &[collapsed(span(2, 7, "SPAN"), &history)]);
    let limits = budget::BudgetLimits::default();
    let (_, report) = budget::decide(&history, &decisions, &limits, &hints());
    assert_eq!(report.unwrap().touched, ["t3", "t4", "t5"]);
    let limits = microcompact::MicrocompactLimits {
        idle_minutes: 60,
        keep: 1,
        above: 1,
        tools: ToolSelection::new(["Bash"]),
    };
    let now = UnixMicros(0);
    let (_, report) = microcompact::decide(&history, &decisions, &limits, None, now, &hints());
    assert_eq!(report.unwrap().touched, ["t3", "t4"]);
}

/// Returns `n` rounds of about 600 tokens and four messages each.
fn rounds(n: usize) -> History {
    let mut history = History::default();
    for n in 0..n {
        let id = format!("t{n}");
        let round = [
            say(&format!("wish {n}")),
            call(&id, &id, "Read", "a.rs"),
            result(&id, &"word ".repeat(560)),
            answer("done"),
        ];
        round.iter().for_each(|message| push(&mut history, message));
    }
    history
}

fn places(spans_without_text: &[OpenSpan]) -> Vec<(u64, u64)> {
    spans_without_text.iter().map(|s| (s.first.0, s.last.0)).collect()
}

#[test]
fn stretches_are_whole_rounds_from_the_oldest_on_and_leave_the_newest() {
    let history = rounds(20);
    let none = Decisions::default();
    let total: u64 = history.entries().iter().map(bethink_context::HistoryEntry::tokens).sum();
    let round = total / 20;
    // In a window of 20 rounds, spans have two rounds and the tail seven.
    let found = spans_without_text(&history, &none, &[], total, CollapseExtent::Full);
    let ends: Vec<u64> = found.iter().map(|s| s.last.0).collect();
    assert!(ends.iter().all(|last| *last <= 13 * 4), "{found:?}");
    assert!(found.len() >= 5 && found[0].first == seq(1), "{found:?}");
    assert!(found.windows(2).all(|pair| pair[1].first == pair[0].last.next()), "{found:?}");
    assert!(found.iter().all(|s| s.tokens >= total * collapse::SPAN_PERCENT / 100), "{found:?}");
    assert!(found.iter().all(|s| s.tokens <= 3 * round), "{found:?}");
    // Spans that already have a text are left out; a remainder is only used when room is needed at once.
    let known: Vec<(Seq, Seq)> = found.iter().map(|s| (s.first, s.last)).collect();
    assert_eq!(
        spans_without_text(&history, &none, &known[..2], total, CollapseExtent::Full),
        found[2..]
    );
    assert_eq!(spans_without_text(&history, &none, &known, total, CollapseExtent::Full), []);
    let rest = spans_without_text(&history, &none, &known, total, CollapseExtent::Any);
    assert!(rest.len() <= 1, "{rest:?}");
    // If the tail is larger than everything, there are no spans.
    assert_eq!(spans_without_text(&history, &none, &[], total * 10, CollapseExtent::Any), []);
}

#[test]
fn a_giant_round_is_a_span_of_its_own() {
    let mut messages = vec![say("small")];
    messages.extend([call("A", "t1", "Read", "a"), result("t1", &"word ".repeat(9_000))]);
    messages.extend(vec![say(&"word ".repeat(600)); 8]);
    let found = spans_without_text(
        &history(&messages),
        &Decisions::default(),
        &[],
        8_000,
        CollapseExtent::Any,
    );
    assert_eq!(places(&found)[0], (2, 3), "the small one before it is not worth a text: {found:?}");
}

#[test]
fn commits_are_oldest_first_until_enough_is_free() {
    let history = rounds(20);
    let total: u64 = history.entries().iter().map(bethink_context::HistoryEntry::tokens).sum();
    let round = total / 20;
    let mut staged: Vec<Collapsed> = (0..6).map(|n| span(8 * n + 1, 8 * n + 8, "SPAN")).collect();
    staged.reverse();
    let mut decisions = Decisions::default();
    let firsts = |decisions: &Decisions, wanted| {
        let (chosen, freed) = choose(&history, decisions, &staged, total, wanted);
        (chosen.iter().map(|s| s.first.0).collect::<Vec<_>>(), freed)
    };
    let (chosen, freed) = firsts(&decisions, 3 * round);
    assert_eq!(chosen, [1, 9]);
    assert!(freed >= 3 * round && freed < 4 * round, "{freed}");
    assert_eq!(firsts(&decisions, 0), (vec![], 0));
    assert_eq!(firsts(&decisions, u64::MAX).0, [1, 9, 17, 25, 33, 41]);
    apply(&mut decisions, &history, &[collapsed(span(1, 8, "SPAN"), &history)]);
    assert_eq!(firsts(&decisions, 1).0, [9]);
    // Spans that are not whole in this view, not between rounds, in the newest part, or not smaller stay staged.
    let none = Decisions::default();
    let long = "word ".repeat(5_000);
    for other in [span(2, 6, "S"), span(1, 6, "S"), span(73, 80, "S"), span(1, 8, &long)] {
        assert_eq!(choose(&history, &none, &[other], total, u64::MAX).0, Vec::<&Collapsed>::new());
    }
    let late = history.without_before(seq(5));
    assert_eq!(choose(&late, &none, &[span(1, 8, "S")], total, u64::MAX).0.len(), 0);
}

#[test]
fn no_cut_goes_through_a_span() {
    let history = rounds(4);
    let mut decisions = Decisions::default();
    let places = |decisions: &Decisions| collapse::cut_points(&history, decisions);
    assert_eq!(places(&decisions), [0, 1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16]);
    apply(&mut decisions, &history, &[collapsed(span(4, 9, "SPAN"), &history)]);
    assert_eq!(places(&decisions), [0, 1, 3, 9, 11, 12, 13, 15, 16]);
}

#[test]
fn of_two_staged_spans_that_share_messages_one_is_committed() {
    let history = rounds(20);
    let total: u64 = history.entries().iter().map(bethink_context::HistoryEntry::tokens).sum();
    let staged = [span(1, 8, "A"), span(5, 12, "B"), span(13, 16, "C")];
    let (chosen, _) = choose(&history, &Decisions::default(), &staged, total, u64::MAX);
    let texts: Vec<&str> = chosen.iter().map(|span| span.text.as_str()).collect();
    assert_eq!(texts, ["A", "C"]);
}

/// Returns the messages whose thinking is left in the prompt.
fn thoughts(history: &History, decisions: &Decisions) -> Vec<Seq> {
    let prompt = prompt(history, decisions, ViewOptions { preserved_thinking: true });
    let blocks = prompt.messages().iter().flat_map(|m| &m.blocks);
    blocks.filter(|b| b.kind.is_thinking()).map(|b| b.origin.seq()).collect()
}

/// Generates anything that a client may send: chunks, calls without results, results without calls, ids used twice.
fn chaos() -> impl Strategy<Value = Vec<Value>> {
    let one = (0..7u8, 0..12u8, 0..6u8).prop_map(|(kind, id, of)| {
        let (id, of) = (format!("t{id}"), format!("A{of}"));
        match kind {
            0 => say("said"),
            1 => answer("answered"),
            2 => thought(&of, "hm"),
            3 | 4 => call(&of, &id, "Bash", ""),
            _ => result(&id, "done"),
        }
    });
    let rest = proptest::collection::vec(one, 3..60);
    rest.prop_map(|rest| [say("start")].into_iter().chain(rest).collect())
}

fn random_spans() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((1..60u64, 0..12u64), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Spans may be anywhere, even across rounds: the view repairs what would make a prompt invalid.
    #[test]
    fn no_span_makes_a_prompt_invalid(
        messages in chaos(), spans in random_spans(), preserved_thinking: bool,
    ) {
        let history = history(&messages);
        let mut decisions = Decisions::default();
        for (first, more) in &spans {
            let last = (first + more).min(history.last_seq().0);
            apply(&mut decisions, &history, &[collapsed(span(*first, last, "SPAN"), &history)]);
        }
        let shown = view(&history, &decisions, ViewOptions { preserved_thinking });
        let origins = || shown.messages.iter().flat_map(|m| &m.blocks).map(|b| b.origin);
        for origin in origins() {
            if let Origin::Stored { seq, .. } = origin {
                prop_assert!(decisions.span_of(seq).is_none(), "{seq} is collapsed");
            }
        }
        let stands = origins().filter(|o| matches!(o, Origin::Span { .. })).count();
        prop_assert_eq!(stands, decisions.spans().len());
        if let Err(faults) = ValidPrompt::check(shown.messages) {
            prop_assert!(false, "{faults:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// With spans chosen by this crate, the prompt is smaller, and unchanged before the first of them. If thinking is
    /// preserved, no thinking is left that belongs to the replaced text.
    #[test]
    fn chosen_spans_make_a_smaller_prompt_that_parts_where_it_says(
        steps in proptest::collection::vec(step(), 8..40), window in 2_000..40_000u64,
        later in proptest::collection::vec(step(), 0..4),
    ) {
        let mut history = History::default();
        push(&mut history, &say("start"));
        let add = |history: &mut History, from: usize, steps: &[Step]| {
            for (n, step) in steps.iter().enumerate() {
                messages(from + n, step).iter().for_each(|message| push(history, message));
            }
        };
        add(&mut history, 0, &steps);
        let mut decisions = Decisions::default();
        let whole = prompt(&history, &decisions, ViewOptions::default());
        let staged: Vec<Collapsed> = spans_without_text(&history, &decisions, &[], window, CollapseExtent::Any)
            .iter()
            .map(|s| span(s.first.0, s.last.0, "These messages stand here in short."))
            .collect();
        let (chosen, freed) = choose(&history, &decisions, &staged, window, u64::MAX);
        prop_assert_eq!(chosen.len(), staged.len(), "every planned span can be committed");
        let edited_through = history.last_seq();
        for span in chosen {
            apply(&mut decisions, &history, &[collapsed(span.clone(), &history)]);
        }
        let short = prompt(&history, &decisions, ViewOptions::default());
        // An empty result gets a text in the view, which was not counted before.
        prop_assert!(short.tokens() + freed <= whole.tokens());
        prop_assert!(staged.is_empty() || freed > 0);
        let shape = |prompt: &ValidPrompt| PromptShape::new(prompt.messages(), None, None);
        let difference = shape(&short).difference(&shape(&whole)).first_changed;
        let told = view(&history, &decisions, ViewOptions::default()).first_edited;
        prop_assert_eq!(difference, told);
        add(&mut history, 1_000, &later);
        let Some(first) = decisions.first_edit() else { return Ok(()) };
        for seq in thoughts(&history, &decisions) {
            prop_assert!(seq <= first || seq > edited_through, "{seq} was thought over the old prompt");
        }
    }
}
