use bethink_context::budget::{BudgetLimits, decide};
use bethink_context::{Decision, Decisions, History};

use crate::histories::{apply, call, hints, history, push, read, result, say, seq};

fn limits(one: u64, all: u64) -> BudgetLimits {
    BudgetLimits { result_chars: one, results_chars: all, ..BudgetLimits::default() }
}

fn replaced(history: &History, decisions: &Decisions, limits: &BudgetLimits) -> Vec<String> {
    let (records, _) = decide(history, decisions, limits, &hints());
    records
        .iter()
        .map(|record| match record {
            Decision::Replaced(result) => result.tool_use_id.to_string(),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn long(chars: usize) -> String {
    "x".repeat(chars)
}

#[test]
fn a_long_result_is_previewed_but_not_a_file_that_was_read() {
    let history = history(&[
        say("go"),
        call("A", "t1", "Bash", ""),
        result("t1", &long(60_000)),
        call("B", "t2", "Read", "a"),
        result("t2", &long(60_000)),
        call("C", "t3", "Bash", ""),
        result("t3", &long(50_000)),
        call("D", "t4", "mcp__fs__read_file", "a"),
        result("t4", &long(60_000)),
        call("E", "t5", "ReadFile", "a"),
        result("t5", &long(60_000)),
    ]);
    assert_eq!(replaced(&history, &Decisions::default(), &BudgetLimits::default()), ["t1"]);
}

#[test]
fn the_largest_results_of_one_message_go_until_the_rest_fits() {
    let mut messages = vec![say("go")];
    for (id, chars) in [("t1", 9_000), ("t2", 12_000), ("t3", 10_000), ("t4", 3_000)] {
        messages.push(call("A", id, "Bash", ""));
        messages.push(result(id, &long(chars)));
    }
    let history = history(&messages);
    assert_eq!(
        replaced(&history, &Decisions::default(), &limits(50_000, 34_000)),
        Vec::<String>::new()
    );
    assert_eq!(replaced(&history, &Decisions::default(), &limits(50_000, 23_000)), ["t2"]);
    assert_eq!(replaced(&history, &Decisions::default(), &limits(50_000, 12_500)), ["t2", "t3"]);
}

#[test]
fn what_was_shown_is_frozen_and_what_was_replaced_stays_so() {
    let mut history =
        history(&[say("go"), call("A", "t1", "Bash", ""), result("t1", &long(9_000))]);
    let mut decisions = Decisions::default();
    let tight = limits(50_000, 10_000);
    assert_eq!(replaced(&history, &decisions, &tight), Vec::<String>::new());
    apply(&mut decisions, &history, &[Decision::Shown { through: seq(3) }]);
    // A second result of the same message makes both too long together; only the new one is replaced.
    push(&mut history, &call("A", "t2", "Bash", ""));
    push(&mut history, &result("t2", &long(5_000)));
    let (records, _) = decide(&history, &decisions, &tight, &hints());
    apply(&mut decisions, &history, &records);
    let first = read(&history, &decisions);
    assert!(
        first.contains("←t1 xxxx") && first.contains("←t2 [Large tool result: 5000"),
        "{first}"
    );
    apply(&mut decisions, &history, &[Decision::Shown { through: seq(5) }]);
    assert_eq!(replaced(&history, &decisions, &limits(1, 1)), Vec::<String>::new());
    assert_eq!(read(&history, &decisions), first);
}

#[test]
fn a_preview_says_how_large_the_result_is_and_where_it_lies() {
    let text = "line\n".repeat(12_000);
    let history = history(&[say("go"), call("A", "t1", "Bash", ""), result("t1", &text)]);
    let (records, report) =
        decide(&history, &Decisions::default(), &BudgetLimits::default(), &hints());
    let [Decision::Replaced(bethink_context::decision::ClearedResult { text, .. })] =
        records.as_slice()
    else {
        panic!("{records:?}")
    };
    let first = text.lines().next().unwrap();
    assert_eq!(
        first,
        "[Large tool result: 60000 characters, of which the first 1999 are shown. Read on with \
         `bethink history --session S --message 3 --bytes 1999..`, which shows up to 40000 bytes at a time]"
    );
    let report = report.unwrap();
    assert!(report.tokens_after < report.tokens_before / 10, "{report:?}");
}
