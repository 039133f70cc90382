use proptest::prelude::*;

use super::*;
use crate::tests::fixtures::{FixtureTurn, asked, request, said, shown, text, turns};

fn bytes(request: &ModelRequest) -> String {
    String::from_utf8(request.messages_json()).unwrap()
}

/// Makes rounds with 25 tokens of words each, and a question before every second one.
fn talk(rounds: usize) -> ModelRequest {
    let mut messages = vec![said(Role::User, 1, &[text("question 0")])];
    for i in 0..rounds {
        messages.push(said(
            Role::Assistant,
            2,
            &[text(&format!("answer {i} {}", "x".repeat(100)))],
        ));
        messages.push(said(Role::User, 3, &[text(&format!("question {}", i + 1))]));
    }
    messages.truncate(2 * rounds.max(1));
    asked(messages)
}

fn heads(request: &ModelRequest) -> Vec<String> {
    shown(request)
        .lines()
        .take(2)
        .map(|line| line.replace('*', "").chars().take(28).collect())
        .collect()
}

#[test]
fn a_fifth_of_the_rounds_goes_where_no_gap_is_known() {
    for (rounds, first) in [(2, 1), (4, 1), (5, 1), (9, 1), (10, 2), (15, 3), (40, 8)] {
        let smaller = drop_rounds(&talk(rounds), 1, None).unwrap();
        let expected =
            [format!(r#"0 user: "question {first}""#), format!(r#"1 assistant: "answer {first}"#)];
        let expected = expected.map(|line| line.chars().take(28).collect::<String>());
        let heads = heads(&smaller);
        assert!(heads[0].starts_with(&expected[0]), "{rounds}: {heads:?}");
        assert!(heads[1].starts_with(&expected[1]), "{rounds}: {heads:?}");
    }
}

#[test]
fn as_many_rounds_go_as_cover_the_gap_and_no_more() {
    let whole = talk(20);
    for gap in [1, 30, 100, 250, 500, 700] {
        let smaller = drop_rounds(&whole, 1, Some(gap)).unwrap();
        let gone = whole.prompt.tokens() - smaller.prompt.tokens();
        assert!(gone >= gap, "{gap}: {gone}");
        // Dropping one round less is not enough: a round has fewer than 50 tokens, and the marker 24.
        assert!(gone < gap + 50 + u64::from(MARKER_TOKENS), "{gap}: {gone}");
    }
}

#[test]
fn one_round_and_the_instruction_always_stay() {
    let smaller = drop_rounds(&talk(20), 1, Some(u64::MAX)).unwrap();
    let roles: Vec<Role> = smaller.prompt.messages().iter().map(|m| m.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    assert!(
        bytes(&smaller).contains("answer 19") && bytes(&smaller).ends_with(r#""Summarise."}]}]"#)
    );
    assert!(drop_rounds(&smaller, 1, Some(u64::MAX)).is_none());
    assert!(drop_rounds(&talk(0), 1, None).is_none());
    assert!(drop_rounds(&talk(20), usize::MAX, None).is_none());
}

#[test]
fn what_followed_the_instruction_stays() {
    let whole = talk(6);
    let more = [
        said(Role::Assistant, 9, &[text("half an answer")]),
        said(Role::User, 9, &[text("go on")]),
    ];
    let longer = whole.followed_by(more.to_vec()).unwrap();
    let smaller = drop_rounds(&longer, 3, Some(u64::MAX)).unwrap();
    insta::assert_snapshot!(shown(&smaller).replace(&"x".repeat(100), "…"), @r#"
    0 user: "(Earlier messages in this conversation are left out: they did not fit in the context window.)"
    1 assistant: *"answer 5 …"
    2 user: "Summarise."
    3 assistant: "half an answer"
    4 user: "go on"
    "#);
}

#[test]
fn the_marker_is_written_once_and_goes_with_the_next_drop() {
    let rounds: Vec<FixtureTurn> =
        (0..6).map(|_| FixtureTurn::Round(false, vec![(30, false)])).collect();
    let whole = request(&rounds);
    let once = drop_rounds(&whole, 1, None).unwrap();
    let twice = drop_rounds(&once, 1, None).unwrap();
    for (dropped, rounds) in [(&once, 5), (&twice, 4)] {
        assert_eq!(bytes(dropped).matches("Earlier messages").count(), 1);
        assert_eq!(dropped.prompt.messages()[0].blocks[0].json, json::text_block(MARKER));
        assert_eq!(super::rounds(dropped.prompt.messages()), rounds);
    }
    // There is no marker if the prompt begins with the user's own message.
    let own = drop_rounds(&talk(4), 1, None).unwrap();
    assert!(!bytes(&own).contains("Earlier messages"));
}

#[test]
fn breakpoints_follow_their_blocks_or_go() {
    let whole = talk(5);
    assert_eq!(
        whole.marks,
        [CacheMark { message: 0, block: 0 }, CacheMark { message: 9, block: 0 }]
    );
    let smaller = drop_rounds(&whole, 1, None).unwrap();
    assert_eq!(smaller.marks, [CacheMark { message: 7, block: 0 }]);
    assert!(bytes(&smaller).contains(r#"xx","cache_control""#));
}

#[test]
fn media_become_words_also_inside_of_results() {
    let whole = request(&[
        FixtureTurn::Speech(1, true),
        FixtureTurn::Round(true, vec![(1, true), (1, false)]),
        FixtureTurn::Words(false, 1),
    ]);
    let stripped = strip_media(&whole).unwrap();
    insta::assert_snapshot!(shown(&stripped), @r#"
    0 user: *"begin", "word0 word1 end", "[image]", "[document]"
    1 assistant: thinking, call, call
    2 user: result "word0 word1 end\n[image]", result "word0 word1 end"
    3 assistant: *"word0 word1 end"
    4 user: "Summarise."
    "#);
    let media: u32 =
        stripped.prompt.messages().iter().flat_map(|m| &m.blocks).map(|b| u32::from(b.media)).sum();
    assert_eq!(media, 0);
    assert!(stripped.prompt.tokens() + 3_000 <= whole.prompt.tokens());
    assert!(strip_media(&stripped).is_none());
    // Blocks without media keep their bytes and their origin.
    let (before, after) = (&whole.prompt.messages()[2], &stripped.prompt.messages()[2]);
    assert_eq!(before.blocks[1].json, after.blocks[1].json);
    assert_eq!(before.blocks[1].origin, after.blocks[1].origin);
    assert_ne!(before.blocks[0].origin, after.blocks[0].origin);
}

#[test]
fn all_thinking_goes() {
    let turns = [
        FixtureTurn::Words(true, 1),
        FixtureTurn::Speech(1, false),
        FixtureTurn::Words(true, 0),
        FixtureTurn::Speech(2, false),
        FixtureTurn::Round(true, vec![(1, false)]),
        FixtureTurn::Words(false, 1),
    ];
    let stripped = strip_thinking(&request(&turns)).unwrap();
    insta::assert_snapshot!(shown(&stripped), @r#"
    0 user: *"begin"
    1 assistant: "word0 word1 end"
    2 user: "word0 word1 end", "word0 word1 word2 end"
    3 assistant: call
    4 user: result "word0 word1 end"
    5 assistant: *"word0 word1 end"
    6 user: "Summarise."
    "#);
    assert!(!bytes(&stripped).contains("thinking") && strip_thinking(&stripped).is_none());
}

#[test]
fn the_limit_of_output_only_falls() {
    let whole = talk(1);
    assert_eq!(shrink_output(&whole, 3_999).unwrap().max_tokens, 3_999);
    for not_smaller in [0, 4_000, u64::MAX] {
        assert!(shrink_output(&whole, not_smaller).is_none());
    }
}

proptest! {
    #[test]
    fn every_change_is_valid_and_strictly_smaller(
        turns in turns(),
        gap in proptest::option::of(0..3_000u64),
        tail in 0..4usize,
    ) {
        let whole = request(&turns);
        let end = whole.prompt.messages().last().unwrap().blocks.last().unwrap().json.clone();
        let mut drops = vec![whole.clone()];
        while let Some(smaller) = drop_rounds(drops.last().unwrap(), tail.max(1), gap) {
            drops.push(smaller);
        }
        let others = [strip_media(&whole), strip_thinking(&whole), strip_thinking(drops.last().unwrap())];
        for pair in drops.windows(2) {
            prop_assert!(pair[1].weight() < pair[0].weight());
            prop_assert!(pair[1].messages_json().len() < pair[0].messages_json().len());
        }
        for smaller in drops.iter().skip(1).chain(others.iter().flatten()) {
            prop_assert!(smaller.weight() < whole.weight());
            let messages = smaller.prompt.messages().to_vec();
            prop_assert!(ValidPrompt::check(messages.clone()).is_ok());
            prop_assert_eq!(&messages.last().unwrap().blocks.last().unwrap().json, &end);
            for mark in &smaller.marks {
                prop_assert!(messages.get(mark.message).is_some_and(|m| mark.block < m.blocks.len()));
            }
        }
    }

    /// A drop covers the gap, unless only one round is left.
    #[test]
    fn the_gap_is_covered_or_one_round_is_left(turns in turns(), gap in 1..2_000u64) {
        let whole = request(&turns);
        if let Some(smaller) = drop_rounds(&whole, 1, Some(gap)) {
            let covered = whole.prompt.tokens() - smaller.prompt.tokens() >= gap;
            let left = super::rounds(smaller.prompt.messages());
            prop_assert!(covered || left == 1, "{left} rounds left:\n{}", shown(&smaller));
        }
    }
}

/// The summary of an even earlier part is kept.
#[test]
fn a_summary_at_the_beginning_stays_whatever_goes() {
    let base = request(&[
        FixtureTurn::Round(false, vec![(50, false)]),
        FixtureTurn::Words(false, 40),
        FixtureTurn::Speech(9, false),
    ]);
    let mut messages = base.prompt.messages().to_vec();
    let head = ["MARKER OF A COMPACTION", "SUMMARY"].map(|t| PromptBlock::written(t, Seq::ZERO, 5));
    messages[0].blocks.splice(0..0, head);
    let summary = CacheMark { message: 0, block: 1 };
    let prompt = ValidPrompt::check(messages).unwrap();
    let request = ModelRequest { prompt, marks: vec![summary], ..base };
    let once = drop_rounds(&request, 1, None).unwrap();
    let said = |request: &ModelRequest| String::from_utf8(request.messages_json()).unwrap();
    let first = said(&once);
    assert!(first.contains(r#""SUMMARY","cache_control""#), "{first}");
    assert!(
        first.starts_with(r#"[{"role":"user","content":[{"type":"text","text":"MARKER OF"#),
        "{first}"
    );
    assert_eq!((once.marks[0], first.matches("SUMMARY").count()), (summary, 1));
    assert!(!first.contains("begin") && first.contains("are left out:"), "{first}");
    // The marker of the previous cut is dropped, and the summary stays.
    if let Some(twice) = drop_rounds(&once, 1, None) {
        assert!(said(&twice).contains("SUMMARY") && twice.weight() < once.weight());
    }
}
