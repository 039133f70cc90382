use proptest::prelude::*;

use super::*;
use crate::error::Figures;
use crate::tests::fixtures::{FixtureTurn, reply, request, shown, text, turns};

fn talk() -> ModelRequest {
    let turns: Vec<FixtureTurn> = (0..10)
        .flat_map(|_| {
            [
                FixtureTurn::Round(true, vec![(50, true)]),
                FixtureTurn::Words(false, 20),
                FixtureTurn::Speech(5, false),
            ]
        })
        .collect();
    request(&turns)
}

fn recovery() -> Recovery {
    Recovery::new(16_000, 1)
}

fn error(class: ErrorClass) -> ModelError {
    ModelError::new(class, "it failed")
}

fn again(next: Next) -> (ModelRequest, Duration, &'static str) {
    match next {
        Next::Again { request, wait, change } => (request, wait, change),
        other => panic!("expected another request, got {other:?}"),
    }
}

fn gave_up(next: &Next) -> bool {
    matches!(next, Next::GiveUp)
}

#[test]
fn failures_that_may_pass_are_waited_out_four_tries_in_all() {
    for class in ErrorClass::ALL.into_iter().filter(|class| Retry::after(*class) == Retry::Same) {
        let (mut recovery, whole) = (recovery(), talk());
        for seconds in [1, 2, 4] {
            let (same, wait, _) = again(recovery.after_error(&error(class), &whole));
            assert_eq!(wait, Duration::from_secs(seconds), "{class}");
            assert_eq!(same.messages_json(), whole.messages_json());
        }
        assert!(gave_up(&recovery.after_error(&error(class), &whole)), "{class}");
    }
}

#[test]
fn the_servers_wait_is_kept_unless_it_is_too_long() {
    let whole = talk();
    for (asked, waited) in
        [(0, Some(1)), (1, Some(1)), (7, Some(7)), (90, Some(90)), (300, Some(300)), (301, None)]
    {
        let error = ModelError {
            retry_after: Some(Duration::from_secs(asked)),
            ..error(ErrorClass::RateLimited)
        };
        let next = recovery().after_error(&error, &whole);
        match waited {
            Some(waited) => assert_eq!(again(next).1, Duration::from_secs(waited), "{asked}"),
            None => assert!(gave_up(&next), "{asked}"),
        }
    }
    let late = ModelError { retry_after: Some(Duration::MAX), ..error(ErrorClass::Overloaded) };
    assert!(gave_up(&recovery().after_error(&late, &whole)));
}

#[test]
fn nothing_is_tried_after_a_permanent_error() {
    for class in ErrorClass::ALL {
        let next = recovery().after_error(&error(class), &talk());
        assert_eq!(gave_up(&next), Retry::after(class) == Retry::Never, "{class}");
    }
}

#[test]
fn an_overflow_drops_rounds_three_times() {
    let (mut recovery, mut request) = (recovery(), talk());
    for _ in 0..MAX_DROPS {
        let (smaller, wait, _) =
            again(recovery.after_error(&error(ErrorClass::Overflow), &request));
        assert!(smaller.weight() < request.weight() && wait == Duration::ZERO);
        request = smaller;
    }
    assert!(gave_up(&recovery.after_error(&error(ErrorClass::Overflow), &request)));
}

#[test]
fn the_gap_of_an_overflow_decides_how_much_goes() {
    let figures = Figures { input: Some(20_000), limit: Some(15_000), ..Figures::default() };
    let overflow = ModelError { figures, ..error(ErrorClass::Overflow) };
    let whole = talk();
    let (smaller, _, _) = again(recovery().after_error(&overflow, &whole));
    assert!(whole.prompt.tokens() - smaller.prompt.tokens() >= 5_000);
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_shorter() {
    let overflow = |input, output, limit| {
        let figures = Figures { input, output: Some(output), limit: Some(limit), over: None };
        ModelError { figures, ..error(ErrorClass::OutputOverflow) }
    };
    let whole = talk();
    let (lower, _, change) =
        again(recovery().after_error(&overflow(Some(198_000), 4_000, 200_000), &whole));
    assert_eq!((lower.max_tokens, change), (2_000, "output limit lowered"));
    assert_eq!(lower.messages_json(), whole.messages_json());
    let (lower, ..) = again(recovery().after_error(&overflow(None, 4_000, 2_048), &whole));
    assert_eq!(lower.max_tokens, 2_048);
    // With too little room, or without figures, rounds are dropped instead.
    for error in [overflow(Some(199_900), 4_000, 200_000), error(ErrorClass::OutputOverflow)] {
        let (lower, _, change) = again(recovery().after_error(&error, &whole));
        assert_eq!((lower.max_tokens, change), (4_000, "oldest messages left out"));
    }
}

#[test]
fn the_limit_of_output_is_lowered_twice_and_then_rounds_go() {
    let (mut recovery, mut request, mut changes) = (recovery(), talk(), Vec::new());
    for limit in [3_000, 2_000, 1_500] {
        let figures = Figures { limit: Some(limit), ..Figures::default() };
        let error = ModelError { figures, ..error(ErrorClass::OutputOverflow) };
        let (next, _, change) = again(recovery.after_error(&error, &request));
        changes.push((change, next.max_tokens));
        request = next;
    }
    let lowered = "output limit lowered";
    assert_eq!(changes, [(lowered, 3_000), (lowered, 2_000), ("oldest messages left out", 2_000)]);
    // A lowered output limit is not raised again.
    let cut = reply(Stop::MaxTokens, &[text("half")]);
    assert!(matches!(recovery.after_reply(&cut, &request), Next::More { .. }));
}

#[test]
fn thinking_that_comes_later_is_not_stripped_a_second_time() {
    let (mut recovery, whole) = (recovery(), talk());
    let (smaller, ..) = again(recovery.after_error(&error(ErrorClass::ThinkingBound), &whole));
    let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.to_owned();
    let paused = reply(Stop::PauseTurn, &[thought, text("so far")]);
    let Next::More { request, .. } = recovery.after_reply(&paused, &smaller) else {
        panic!("not resumed")
    };
    assert!(gave_up(&recovery.after_error(&error(ErrorClass::ThinkingBound), &request)));
}

#[test]
fn media_and_thinking_go_once() {
    for (class, what) in
        [(ErrorClass::MediaTooLarge, "image/png"), (ErrorClass::ThinkingBound, "signature")]
    {
        let (mut recovery, whole) = (recovery(), talk());
        let (smaller, ..) = again(recovery.after_error(&error(class), &whole));
        let json = String::from_utf8(smaller.messages_json()).unwrap();
        assert!(!json.contains(what), "{class}");
        assert!(gave_up(&recovery.after_error(&error(class), &smaller)), "{class}");
    }
    let words = request(&[FixtureTurn::Words(false, 3)]);
    assert!(gave_up(&recovery().after_error(&error(ErrorClass::MediaTooLarge), &words)));
    assert!(gave_up(&recovery().after_error(&error(ErrorClass::ThinkingBound), &words)));
}

#[test]
fn a_request_of_too_many_bytes_loses_media_then_rounds() {
    let (mut recovery, mut request, mut changes) = (recovery(), talk(), Vec::new());
    while let Next::Again { request: smaller, change, .. } =
        recovery.after_error(&error(ErrorClass::RequestTooLarge), &request)
    {
        assert!(smaller.weight() < request.weight());
        request = smaller;
        changes.push(change);
    }
    let dropped = "oldest messages left out";
    assert_eq!(changes, ["images and documents left out", dropped, dropped, dropped]);
}

#[test]
fn a_cut_off_answer_gets_twice_the_room_once() {
    let mut recovery = recovery();
    let cut = reply(Stop::MaxTokens, &[text("first half ")]);
    let (doubled, ..) = again(recovery.after_reply(&cut, &talk()));
    assert_eq!(doubled.max_tokens, 8_000);
    assert_eq!(doubled.messages_json(), talk().messages_json());
    assert!(matches!(recovery.after_reply(&cut, &doubled), Next::Take));
}

#[test]
fn a_cut_off_answer_is_continued_three_times_if_it_cannot_have_more_room() {
    let (mut recovery, mut request) = (Recovery::new(1, 1), talk());
    let cut = reply(Stop::MaxTokens, &[text("first half ")]);
    for n in 1..=MAX_CONTINUATIONS as usize {
        let Next::More { request: longer, .. } = recovery.after_reply(&cut, &request) else {
            panic!("no continuation {n}");
        };
        assert!(
            longer.messages_json().starts_with(request.messages_json().strip_suffix(b"]").unwrap())
        );
        assert_eq!(recovery.tail(), 1 + 2 * n);
        request = longer;
    }
    assert!(matches!(recovery.after_reply(&cut, &request), Next::Take));
    let tail: Vec<String> = shown(&request).lines().rev().take(2).map(str::to_owned).collect();
    insta::assert_snapshot!(tail.join("\n"), @r#"
    46 user: "Your answer was cut off. Continue exactly where you stopped, without repeating anything."
    45 assistant: "first half "
    "#);
}

#[test]
fn the_limit_of_output_never_passes_the_ceiling() {
    let cut = reply(Stop::MaxTokens, &[text("half")]);
    for (ceiling, raised) in [(5_000, Some(5_000)), (4_000, None), (1, None)] {
        let next = Recovery::new(ceiling, 1).after_reply(&cut, &talk());
        match raised {
            Some(raised) => assert_eq!(again(next).0.max_tokens, raised),
            None => assert!(matches!(next, Next::More { .. }), "{ceiling}"),
        }
    }
}

#[test]
fn only_words_are_continued() {
    let call = r#"{"type":"tool_use","id":"t1","name":"edit","input":{}}"#.to_owned();
    let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.to_owned();
    for blocks in [vec![], vec![text(" ")], vec![text("half"), call], vec![thought]] {
        for stop in [Stop::MaxTokens, Stop::PauseTurn] {
            let next = Recovery::new(1, 1).after_reply(&reply(stop, &blocks), &talk());
            assert!(matches!(next, Next::Take), "{blocks:?}");
        }
    }
}

#[test]
fn a_paused_answer_is_handed_back_as_it_came() {
    let blocks =
        [r#"{"type":"thinking", "thinking":"hm","signature":"s"}"#.to_owned(), text("so far \n")];
    let (mut recovery, whole) = (recovery(), talk());
    let Next::More { request, .. } = recovery.after_reply(&reply(Stop::PauseTurn, &blocks), &whole)
    else {
        panic!("not resumed")
    };
    let json = String::from_utf8(request.messages_json()).unwrap();
    let end = r#"[{"type":"thinking", "thinking":"hm","signature":"s"},{"type":"text","text":"so far"}]}]"#;
    assert!(json.ends_with(end), "{json}");
    let Next::More { request: twice, .. } =
        recovery.after_reply(&reply(Stop::PauseTurn, &[text("more")]), &request)
    else {
        panic!("not resumed again")
    };
    assert_eq!(twice.prompt.messages().len(), request.prompt.messages().len());
    assert_eq!(recovery.tail(), 2);
}

#[test]
fn a_full_window_loses_rounds_and_whole_answers_are_taken() {
    let words = [text("done")];
    let (smaller, _, change) =
        again(recovery().after_reply(&reply(Stop::WindowFull, &words), &talk()));
    assert!(smaller.weight() < talk().weight());
    assert_eq!(change, "oldest messages left out");
    for stop in
        [Stop::EndTurn, Stop::StopSequence, Stop::ToolUse, Stop::Refusal, Stop::Other("x".into())]
    {
        assert!(matches!(recovery().after_reply(&reply(stop, &words), &talk()), Next::Take));
    }
}

/// Generates the outcome of a call.
fn outcome() -> impl Strategy<Value = Result<Reply, ModelError>> {
    let stop = prop_oneof![
        4 => Just(Stop::MaxTokens),
        2 => Just(Stop::PauseTurn),
        2 => Just(Stop::WindowFull),
        1 => Just(Stop::EndTurn),
    ];
    let figure = || proptest::option::of(0..40_000u64);
    let figures = (figure(), figure(), figure(), figure())
        .prop_map(|(input, output, limit, over)| Figures { input, output, limit, over });
    prop_oneof![
        (stop, "[a-z ]{0,12}").prop_map(|(stop, words)| Ok(reply(stop, &[text(&words)]))),
        (0..ErrorClass::ALL.len(), figures, proptest::option::of(0..400u64)).prop_map(
            |(class, figures, wait)| Err(ModelError {
                figures,
                retry_after: wait.map(Duration::from_secs),
                ..error(ErrorClass::ALL[class])
            })
        ),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_calls_are_bounded_and_refused_requests_stay_away(
        turns in turns(),
        outcomes in proptest::collection::vec(outcome(), 60),
    ) {
        let (mut recovery, mut sent) = (Recovery::new(9_000, 1), request(&turns));
        let mut refused: Vec<(Vec<u8>, u64)> = Vec::new();
        let mut calls = 0;
        for outcome in outcomes {
            calls += 1;
            let wire = (sent.messages_json(), sent.max_tokens);
            prop_assert!(!refused.contains(&wire), "a refused request was sent again");
            let next = match &outcome {
                Ok(reply) => recovery.after_reply(reply, &sent),
                Err(error) => recovery.after_error(error, &sent),
            };
            if let Err(error) = &outcome && Retry::after(error.class) != Retry::Same {
                refused.push(wire);
            }
            match next {
                Next::Again { request: next, wait, .. } => {
                    prop_assert!(wait <= LONGEST_ASKED_WAIT);
                    prop_assert!(next.max_tokens <= 9_000.max(sent.max_tokens));
                    if let Err(error) = &outcome {
                        let changed = Retry::after(error.class) == Retry::Changed;
                        let smaller = next.weight() < sent.weight() || next.max_tokens < sent.max_tokens;
                        prop_assert_eq!(changed, smaller);
                    }
                    sent = next;
                }
                Next::More { request: next, .. } => sent = next,
                Next::Take | Next::GiveUp => break,
            }
        }
        prop_assert!(calls <= MAX_CALLS, "{} calls", calls);
    }
}
