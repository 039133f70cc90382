use bethink_context::Decisions;
use bethink_context::microcompact::{MicrocompactLimits, decide};
use bethink_transcript::UnixMicros;

use crate::histories::{apply, call, hints, history, read, result, say};

fn limits(above: usize) -> MicrocompactLimits {
    MicrocompactLimits { idle_minutes: 60, keep: 2, above, tools: ["Bash".to_owned()].into() }
}

const MINUTE: i64 = 60_000_000;

fn cleared(above: usize, idle_minutes: i64) -> usize {
    let mut messages = vec![say("go")];
    for id in ["t1", "t2", "t3", "t4"] {
        messages.push(call(id, id, "Bash", ""));
        messages.push(result(id, &"x".repeat(3_000)));
    }
    messages.push(call("own", "own", "AskUser", ""));
    messages.push(result("own", &"x".repeat(3_000)));
    let history = history(&messages);
    let (last, now) = (UnixMicros(0), UnixMicros(idle_minutes * MINUTE));
    let mut decisions = Decisions::default();
    let (records, _) = decide(&history, &decisions, &limits(above), Some(last), now, &hints());
    apply(&mut decisions, &history, &records);
    let again = decide(&history, &decisions, &limits(above), Some(last), now, &hints());
    assert!(again.0.is_empty(), "what is cleared stays so, and is not cleared twice");
    read(&history, &decisions).matches("[Old tool result content cleared]").count()
}

#[test]
fn old_results_go_after_an_hour_or_by_count_and_the_newest_stay() {
    for (above, idle, expect) in [(0, 59, 0), (0, 60, 2), (0, -90, 0), (3, 0, 2), (4, 0, 0)] {
        assert_eq!(cleared(above, idle), expect, "above {above}, idle {idle}");
    }
}
