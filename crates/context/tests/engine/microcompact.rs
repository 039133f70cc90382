use bethink_context::microcompact::{MicrocompactLimits, decide};
use bethink_context::{Decision, Decisions};
use bethink_transcript::{ToolSelection, UnixMicros};

use crate::histories::{apply, call, hints, history, read, result, say};

fn limits(above: usize) -> MicrocompactLimits {
    MicrocompactLimits { idle_minutes: 60, keep: 2, above, tools: ToolSelection::new(["Bash"]) }
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

/// The default setting names kinds of tools, so it applies to the tools of every agent.
#[test]
fn the_tools_of_every_agent_are_cleared() {
    let tools = [
        "Bash",
        "read_file",
        "run_shell_command",
        "replace",
        "exec_command",
        "apply_patch",
        "write_file",
        "mcp__fs__read_file",
        "ReadFile",
        "google_web_search",
    ];
    let mut messages = vec![say("go")];
    for tool in tools.into_iter().chain(["AskUser", "Task"]) {
        messages.push(call(tool, tool, tool, ""));
        messages.push(result(tool, &"x".repeat(3_000)));
    }
    let kinds = ToolSelection::new(["read", "search", "shell", "web", "edit", "write"]);
    let limits = MicrocompactLimits { keep: 0, tools: kinds, ..limits(1) };
    let (now, history) = (UnixMicros(0), history(&messages));
    let (records, _) = decide(&history, &Decisions::default(), &limits, Some(now), now, &hints());
    let [Decision::Cleared { results, .. }] = records.as_slice() else { panic!("{records:?}") };
    let cleared: Vec<&str> = results.iter().map(|result| result.tool_use_id.as_str()).collect();
    assert_eq!(cleared, tools);
}

#[test]
fn old_results_go_after_an_hour_or_by_count_and_the_newest_stay() {
    for (above, idle, expect) in [(0, 59, 0), (0, 60, 2), (0, -90, 0), (3, 0, 2), (4, 0, 0)] {
        assert_eq!(cleared(above, idle), expect, "above {above}, idle {idle}");
    }
}
