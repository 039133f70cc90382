//! A whole turn: it changes nothing until it is committed, gives the same result twice, and its records restore
//! its prompt.

use bethink_api::{CacheReport, ModelSpec};
use bethink_context::budget::BudgetLimits;
use bethink_context::collapse::{CollapseExtent, spans_without_text};
use bethink_context::microcompact::MicrocompactLimits;
use bethink_context::{
    Attachment, CollapsePolicy, Collapsed, Decision, Decisions, FixedTokens, History, Learner,
    ProjectTexts, SessionState, StageLimits, StagedSpan, SystemAndTools, TodoList, Turn,
    TurnInputs, ViewOptions, assemble, order_system, todos, turn, window_thresholds,
};
use bethink_tokens::text_tokens;
use bethink_transcript::{Seq, SessionId, ToolSelection, UnixMicros, ValidPrompt};
use proptest::prelude::*;
use serde_json::Value;

use crate::histories::{answer, call, history, prompt, push, result, say};
use crate::prefix::{messages, step};

const HOUR_MICROS: i64 = 3_600_000_000;

fn state(history: History, window: u64) -> SessionState {
    SessionState {
        id: SessionId("00000000-0000-7000-8000-000000000001".parse().unwrap()),
        model: ModelSpec {
            name: "m".to_owned(),
            context_window: window,
            max_output_tokens: None,
            preserved_thinking: None,
        },
        thresholds: window_thresholds(window, 20_000, 0.0).unwrap(),
        last_seq: history.last_seq(),
        history,
        decisions: Decisions::default(),
        last_compaction: None,
        todos: TodoList::default(),
        shape: None,
        last_prompt: None,
        fixed: FixedTokens::default(),
        learner: Learner::default(),
    }
}

fn limits() -> StageLimits {
    let tools = ToolSelection::new(["Bash"]);
    let microcompact = MicrocompactLimits { idle_minutes: 60, keep: 1, above: 0, tools };
    StageLimits { budget: BudgetLimits::default(), snip: true, microcompact }
}

fn around() -> SystemAndTools {
    SystemAndTools::new(&[], "[]".to_owned(), ProjectTexts::default()).unwrap()
}

fn inputs<'a>(around: &'a SystemAndTools, limits: &'a StageLimits) -> TurnInputs<'a> {
    TurnInputs {
        around,
        reminders: Vec::new(),
        todos: true,
        limits,
        reduce_only_when_full: false,
        collapses: false,
        collapse: None,
        cache: CacheReport::default(),
        before: Vec::new(),
        compaction: None,
    }
}

fn plain(state: &SessionState, now: UnixMicros) -> Turn {
    turn(state, inputs(&around(), &limits()), now).unwrap()
}

fn bytes(prompt: &ValidPrompt) -> String {
    String::from_utf8(assemble(prompt, &[], "[]", false).messages).unwrap()
}

fn todo(content: &str) -> todos::Todo {
    todos::Todo {
        id: "1".to_owned(),
        content: content.to_owned(),
        status: todos::TodoStatus::Pending,
        priority: todos::TodoPriority::Medium,
    }
}

/// Returns a session with two tool rounds. The first result is too long, and the session was idle for a long time.
fn rounds() -> SessionState {
    let mut state = state(
        history(&[
            say("go"),
            call("A", "t1", "Bash", "a"),
            result("t1", &"x".repeat(60_000)),
            call("B", "t2", "Bash", "b"),
            result("t2", "short"),
        ]),
        200_000,
    );
    state.todos.set(vec![todo("mend the bell")]);
    state
}

#[test]
fn a_turn_that_is_dropped_changes_nothing() {
    let mut state = rounds();
    let before = format!("{state:?}");
    let now = UnixMicros(3 * HOUR_MICROS);
    let dropped = plain(&state, now);
    assert!(bytes(&dropped.prompt).contains("mend the bell"));
    assert!(dropped.records.len() >= 3, "it decided something: {:?}", dropped.records);
    drop(dropped);
    assert_eq!(format!("{state:?}"), before);
    let mut kept = plain(&state, now);
    assert!(bytes(&kept.prompt).contains("mend the bell"), "the reminder is still new");
    assert_eq!(format!("{state:?}"), before, "until it is applied");
    kept.apply(&mut state);
    assert!(!state.todos.changed);
    let next = plain(&state, now);
    assert_eq!(next.records, [], "no decision is left to make");
    assert_eq!(bytes(&next.prompt), bytes(&kept.prompt));
}

#[test]
fn messages_that_fit_stay_as_they_are_if_the_client_wants_it() {
    let (around, limits) = (around(), limits());
    let later = UnixMicros(3 * HOUR_MICROS);
    let made = |state: &SessionState| {
        let inputs = TurnInputs { reduce_only_when_full: true, ..inputs(&around, &limits) };
        turn(state, inputs, later).unwrap()
    };
    let mut state = rounds();
    assert!(!plain(&state, later).report.stages.is_empty());
    let whole = made(&state);
    assert!(whole.report.stages.is_empty());
    state.thresholds.auto = 1;
    assert_eq!(bytes(&made(&state).prompt), bytes(&plain(&state, later).prompt));
}

#[test]
fn a_turn_reports_what_it_did() {
    let state = rounds();
    let around = around();
    let limits = limits();
    let reminders = vec![Attachment {
        after: Seq(5),
        what: "memory".to_owned(),
        name: String::new(),
        text: "The bell is in the tower.".to_owned(),
        tokens: 7,
    }];
    let inputs = TurnInputs { reminders, ..inputs(&around, &limits) };
    let made = turn(&state, inputs, UnixMicros(3 * HOUR_MICROS)).unwrap();
    insta::assert_json_snapshot!(made.report);
}

/// Returns the staged spans of a session.
fn staged(state: &SessionState) -> Vec<StagedSpan> {
    let window = state.thresholds.effective;
    let found =
        spans_without_text(&state.history, &state.decisions, &[], window, CollapseExtent::Full);
    let write = |open: &bethink_context::collapse::OpenSpan| {
        let text = format!("[{}] what was done", open.first);
        let span = Collapsed {
            id: format!("00000000-0000-7000-8000-{:012}", open.first.0).parse().unwrap(),
            first: open.first,
            last: open.last,
            tokens: text_tokens(&text),
            text,
            made_after: Seq::ZERO,
        };
        StagedSpan { tokens_before: open.tokens, span }
    };
    found.iter().map(write).collect()
}

fn make(state: &SessionState, now: UnixMicros) -> Turn {
    let (around, limits) = (around(), limits());
    let collapse = CollapsePolicy { staged: staged(state), write: &|_| None };
    let inputs =
        TurnInputs { collapses: true, collapse: Some(collapse), ..inputs(&around, &limits) };
    turn(state, inputs, now).unwrap()
}

fn shown(history: &History, decisions: &Decisions) -> String {
    bytes(&prompt(history, decisions, ViewOptions::default()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_turn_is_the_same_twice_and_its_records_restore_it(
        steps in proptest::collection::vec(step(), 1..10),
    ) {
        let mut state = state(History::default(), 60_000);
        push(&mut state.history, &say("start"));
        let mut log: Vec<Decision> = Vec::new();
        for (n, step) in steps.iter().enumerate() {
            let new: Vec<Value> = messages(n, step);
            new.iter().for_each(|message| push(&mut state.history, message));
            push(&mut state.history, &answer(&format!("done {n}")));
            push(&mut state.history, &call(&format!("B{n}"), &format!("b{n}"), "Bash", ""));
            push(&mut state.history, &result(&format!("b{n}"), "ok"));
            state.last_seq = state.history.last_seq();
            state.todos.set(vec![todo(&format!("step {n}"))]);
            let idle = if n % 3 == 2 { 2 * HOUR_MICROS } else { 0 };
            let now = UnixMicros(i64::try_from(state.last_seq.0).unwrap() * 1_000_000 + idle);
            let (mut one, other) = (make(&state, now), make(&state, now));
            prop_assert_eq!(bytes(&one.prompt), bytes(&other.prompt), "{:?}", steps);
            prop_assert_eq!(&one.records, &other.records, "{:?}", steps);
            // As after a restart: the log so far, then the turn's records.
            log.extend(one.records.iter().cloned());
            let restored = Decisions::replay(&log, &state.history);
            one.apply(&mut state);
            let kept = shown(&state.history, &state.decisions);
            prop_assert_eq!(&kept, &bytes(&one.prompt), "{:?}", steps);
            prop_assert_eq!(&kept, &shown(&state.history, &restored), "{:?}", steps);
        }
    }
}

#[test]
fn spans_that_a_turn_chose_are_among_its_records() {
    let round = |n| [say(&format!("wish {n}")), answer(&"word ".repeat(600))];
    let mut messages: Vec<Value> = (0..14).flat_map(round).collect();
    messages.push(say("go on"));
    let mut state = state(history(&messages), 20_000);
    let mut made = make(&state, UnixMicros(0));
    let plan = made.collapsed.as_ref().expect("the window is nearly full");
    let chosen = plan.chosen.len();
    assert!(chosen > 0);
    assert!(bytes(&made.prompt).contains("[1] what was done"));
    let restored = Decisions::replay(&made.records, &state.history);
    assert_eq!(restored.spans().len(), chosen);
    made.apply(&mut state);
    assert_eq!(shown(&state.history, &restored), bytes(&made.prompt));
    assert_eq!(shown(&state.history, &state.decisions), bytes(&made.prompt));
}

/// The provider looks back twenty blocks from a breakpoint.
#[test]
fn a_round_of_many_blocks_gets_a_second_moving_breakpoint() {
    let long = "the tide ".repeat(4_000);
    for (calls, expect) in [(5, vec![(2, 4)]), (12, vec![(2, 11), (0, 0)])] {
        let mut history = history(&[say(&long)]);
        let mut state = state(history.clone(), 200_000);
        let first = plain(&state, UnixMicros(1));
        let marks = |prompt: &ValidPrompt, after_boundary| -> Vec<(usize, usize)> {
            let marks = assemble(prompt, &[], "[]", after_boundary).marks;
            marks.iter().map(|mark| (mark.message, mark.block)).collect()
        };
        assert_eq!(marks(&first.prompt, false), [(0, 0)]);
        let ids: Vec<String> = (0..calls).map(|n| format!("t{n}")).collect();
        ids.iter().for_each(|id| push(&mut history, &call("A", id, "Bash", "/x")));
        ids.iter().for_each(|id| push(&mut history, &result(id, "done")));
        state.last_seq = history.last_seq();
        state.history = history;
        state.shape = Some(first.shape);
        let second = plain(&state, UnixMicros(2));
        assert_eq!(marks(&second.prompt, false), expect, "{calls}");
        let hit = second.report.predicted_cache_hit;
        assert!(hit > 0.8, "{calls}: {hit}");
        let with_summary = marks(&second.prompt, true);
        assert_eq!((with_summary.len(), &with_summary[..expect.len()]), (2, &expect[..]));
    }
}

/// Providers accept four breakpoints in a request, those of the client's tools included.
#[test]
fn breakpoints_of_the_clients_tools_leave_fewer_for_the_rest() {
    let state = state(history(&[say(&"the tide ".repeat(4_000))]), 200_000);
    let made = plain(&state, UnixMicros(1));
    let part = |part: &str| (part.to_owned(), "text".to_owned());
    let system = order_system(vec![part("introduction"), part("language")]).unwrap();
    for (given, total) in [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4), (6, 6)] {
        let tools =
            format!("[{}]", [r#"{"cache_control":{"type":"ephemeral"}}"#].repeat(given).join(","));
        let body = assemble(&made.prompt, &system, &tools, true);
        let in_system = body.system.matches("cache_control").count();
        assert_eq!(given + in_system + body.marks.len(), total, "{given}");
        assert!(given > 3 || !body.marks.is_empty(), "{given}: the newest message comes first");
    }
}

/// If much was added to the newest message of the previous prompt, no breakpoint is near that prompt's end.
#[test]
fn a_prompt_that_the_provider_does_not_find_is_not_predicted_as_cached() {
    let mut history = history(&[say(&"the tide ".repeat(4_000))]);
    let mut state = state(history.clone(), 200_000);
    let first = plain(&state, UnixMicros(1));
    (0..30).for_each(|n| push(&mut history, &say(&format!("and {n}"))));
    state.last_seq = history.last_seq();
    state.history = history;
    state.shape = Some(first.shape);
    let second = plain(&state, UnixMicros(2));
    assert!(second.report.predicted_cache_hit < 0.1, "{}", second.report.predicted_cache_hit);
}
