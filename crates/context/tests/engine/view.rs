use bethink_context::budget::{self, BudgetLimits};
use bethink_context::{Attachment, Boundary, Decision, Decisions, ViewOptions};
use serde_json::json;

use crate::histories::{
    answer, apply, call, hints, history, prompt, read, result, say, seq, thought,
};

#[test]
fn chunks_are_one_message_and_their_results_follow() {
    let history = history(&[
        say("go"),
        thought("A", "hm"),
        call("A", "t1", "Read", "a"),
        result("t1", "one"),
        call("A", "t2", "Read", "b"),
        result("t2", "two"),
        say("and now?"),
    ]);
    insta::assert_snapshot!(read(&history, &Decisions::default()), @r"
    0 user: go
    1 assistant: <thinking> | →Read t1 | →Read t2
    2 user: ←t1 one | ←t2 two | and now?
    ");
}

#[test]
fn broken_histories_are_mended_in_the_view_only() {
    let history = history(&[
        answer("hello"),
        call("A", "t1", "Bash", ""),
        say("stop"),
        result("t9", "nobody asked"),
        call("B", "t2", "Bash", ""),
        result("t2", "done"),
        result("t2", "again"),
        result("t1", "late"),
        json!({ "role": "user", "content": [{ "type": "text", "text": "  " }] }),
        call("C", "t2", "Bash", ""),
        call("C", "t3", "Bash", ""),
    ]);
    insta::assert_snapshot!(read(&history, &Decisions::default()), @r"
    0 user: (The conversation begins with the assistant's message below.
    1 assistant: hello | →Bash t1
    2 user: ←t1 late | stop
    3 assistant: →Bash t2
    4 user: ←t2 done
    5 assistant: →Bash t3
    6 user: ←t3 No result was recorded for this tool call: it was interrupte
    ");
}

/// Some servers count their calls anew in each answer. Each call keeps its own result, and each decision its own one.
#[test]
fn an_id_that_is_used_again_hides_no_call() {
    let mut history = history(&[
        say("go"),
        call("A", "t1", "Bash", "a"),
        result("t1", &"one ".repeat(20_000)),
        call("B", "t1", "Bash", "b"),
        result("t1", "two"),
        result("t1", "again"),
        call("C", "t1", "Bash", "c"),
        result("t1", &"three ".repeat(20_000)),
    ]);
    let mut decisions = Decisions::default();
    let (records, _) = budget::decide(&history, &decisions, &BudgetLimits::default(), &hints());
    apply(&mut decisions, &history, &records);
    let shown = read(&history, &decisions);
    insta::assert_snapshot!(shown, @r"
    0 user: go
    1 assistant: →Bash t1
    2 user: ←t1 [Large tool result: 80000 characters, of which the first 200
    3 assistant: →Bash t1-4
    4 user: ←t1-4 two
    5 assistant: →Bash t1-7
    6 user: ←t1-7 [Large tool result: 120000 characters, of which the first 20
    ");
    crate::histories::push(&mut history, &call("D", "t1", "Bash", "c"));
    assert_eq!(read(&history, &decisions), shown, "a copy of the last call");
    // A call that the user interrupted does not get the next call's result.
    crate::histories::push(&mut history, &say("go on"));
    crate::histories::push(&mut history, &call("E", "t1", "Bash", "e"));
    crate::histories::push(&mut history, &say("stop"));
    crate::histories::push(&mut history, &call("F", "t1", "Bash", "f"));
    crate::histories::push(&mut history, &result("t1", "six"));
    let rest = read(&history, &decisions);
    let rest = rest.strip_prefix(shown.trim_end()).expect("the beginning stays");
    insta::assert_snapshot!(rest, @r"
     | go on
    7 assistant: →Bash t1-11
    8 user: ←t1-11 No result was recorded for this tool call: it was interrupte | stop
    9 assistant: →Bash t1-13
    10 user: ←t1-13 six
    ");
}

#[test]
fn a_message_does_not_end_with_thinking() {
    let history = history(&[say("go"), thought("A", "hm"), say("well?"), answer("yes")]);
    insta::assert_snapshot!(read(&history, &Decisions::default()), @r"
    0 user: go | well?
    1 assistant: yes
    ");
}

#[test]
fn an_empty_result_says_so_and_a_clients_cache_marker_goes() {
    let history = history(&[
        json!({ "role": "user", "content": [
            { "type": "text", "text": "go", "cache_control": { "type": "ephemeral" } }
        ] }),
        call("A", "t1", "Bash", ""),
        result("t1", ""),
    ]);
    let prompt = prompt(&history, &Decisions::default(), ViewOptions::default());
    assert_eq!(prompt.messages()[0].blocks[0].json, r#"{"text":"go","type":"text"}"#);
    assert!(
        read(&history, &Decisions::default()).contains("←t1 (The tool completed with no output.)")
    );
}

#[test]
fn trailing_white_space_goes_only_where_the_assistant_speaks_last() {
    let mut history = history(&[say("go"), answer("yes \n")]);
    assert!(read(&history, &Decisions::default()).ends_with("1 assistant: yes\n"));
    crate::histories::push(&mut history, &say("more"));
    assert!(read(&history, &Decisions::default()).contains("1 assistant: yes \n"));
}

fn boundary(kept_from: u64, made_after: u64) -> Boundary {
    Boundary {
        id: "c".into(),
        kept_from: seq(kept_from),
        made_after: seq(made_after),
        marker: "MARKER".into(),
        summary: "SUMMARY".into(),
        tokens: 3,
        restored: vec![Attachment {
            after: seq(made_after),
            what: "file".into(),
            name: "f".into(),
            text: "FILE".into(),
            tokens: 2,
        }],
        clipped: Vec::new(),
    }
}

#[test]
fn a_boundary_is_marker_summary_tail_and_what_was_restored() {
    let history = history(&[
        say("old"),
        answer("old"),
        say("kept"),
        thought("A", "hm"),
        call("A", "t1", "Bash", ""),
        result("t1", "done"),
        say("next"),
    ]);
    let decisions = Decisions::new(Some(boundary(3, 6)), &history);
    insta::assert_snapshot!(read(&history, &decisions), @r"
    0 user: MARKER | SUMMARY | kept
    1 assistant: <thinking> | →Bash t1
    2 user: ←t1 done | FILE | next
    ");
}

#[test]
fn thinking_over_another_prompt_goes_where_the_model_would_notice() {
    let history = history(&[
        say("old"),
        say("kept"),
        thought("A", "old"),
        answer("x"),
        say("new"),
        thought("B", "new"),
        answer("y"),
        say("z"),
    ]);
    let decisions = Decisions::new(Some(boundary(2, 4)), &history);
    let count = |preserved_thinking: bool| {
        let prompt = prompt(&history, &decisions, ViewOptions { preserved_thinking });
        prompt.messages().iter().flat_map(|m| &m.blocks).filter(|b| b.kind.is_thinking()).count()
    };
    assert_eq!((count(false), count(true)), (2, 1));
}

#[test]
fn an_attachment_stays_where_it_was_put() {
    let mut history = history(&[say("go"), call("A", "t1", "Bash", ""), result("t1", "done")]);
    let mut decisions = Decisions::default();
    let todos = Attachment {
        after: seq(3),
        what: "todos".into(),
        name: String::new(),
        text: "TODOS".into(),
        tokens: 2,
    };
    apply(&mut decisions, &history, &[Decision::Attached(todos)]);
    for message in [call("B", "t2", "Bash", ""), result("t2", "done")] {
        crate::histories::push(&mut history, &message);
    }
    insta::assert_snapshot!(read(&history, &decisions), @r"
    0 user: go
    1 assistant: →Bash t1
    2 user: ←t1 done | TODOS
    3 assistant: →Bash t2
    4 user: ←t2 done
    ");
}

#[test]
fn instructions_hold_until_the_next_boundary() {
    let history = history(&[say("go"), answer("a"), say("on"), answer("b"), say("end")]);
    let of = |after: u64, text: &str| Attachment {
        after: seq(after),
        what: "instructions".into(),
        name: "/p/CLAUDE.md".into(),
        text: text.into(),
        tokens: 1,
    };
    let mut decisions = Decisions::default();
    let before = decisions.attaching(of(3, "RULE"));
    apply(&mut decisions, &history, std::slice::from_ref(&before));
    assert!(read(&history, &decisions).contains("on | RULE"));

    let mut after = decisions.rebased(boundary(3, 5), &history);
    assert!(!read(&history, &after).contains("RULE"), "also where its message is kept");
    let again = after.attaching(of(5, "AGAIN"));
    apply(&mut after, &history, std::slice::from_ref(&again));
    assert!(read(&history, &after).contains("end | FILE | AGAIN"));

    let mut restored = Decisions::new(Some(boundary(3, 5)), &history);
    apply(&mut restored, &history, &[before, again]);
    assert_eq!(read(&history, &restored), read(&history, &after));
}
