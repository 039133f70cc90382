//! How budgets end a run that would not end by itself.

use super::*;

#[test]
fn a_fork_without_tools_is_told_once() {
    let first = [text("<summary>x</summary>"), call("t1", "edit", NOTES)];
    let again = [call("t2", "edit", NOTES)];
    let world = World::default();
    let script = Script::new([calls(&first), calls(&again), says("never asked for")]);
    let done = forked(&script, &world, &[], Budget { turns: 9, ..BUDGET }).unwrap();
    // Text that came with a call is kept if a later turn has no text.
    assert_eq!(done.text, "<summary>x</summary>");
    assert_eq!((done.ended, done.turns, done.denials.len()), (Ended::OutOf("denials"), 2, 2));
    insta::assert_snapshot!(reads(&script.asked()[1], 2), @"2 user: t1 error: You may not call tools here. Answer in text only.");
    let one = forked(&Script::new([calls(&first)]), &world, &[], Budget { turns: 1, ..BUDGET });
    let one = one.unwrap();
    assert_eq!((one.text.as_str(), one.ended), ("<summary>x</summary>", Ended::OutOf("turns")));
}

#[test]
fn an_endless_loop_of_calls_ends_at_the_budget() {
    let answer = |n: usize| calls(&[text("more"), call(&format!("t{n}"), "edit", NOTES)]);
    let (world, edit) = (World { price: Some(40), ..World::default() }, Edit::default());
    for (budget, ended, turns) in [
        (Budget { turns: 7, ..BUDGET }, "turns", 7),
        (Budget { turns: 99, tokens: 150, ..BUDGET }, "tokens", 3),
        (Budget { turns: 99, cost: 100, ..BUDGET }, "cost", 3),
    ] {
        let script = Script::new((0..99).map(answer));
        let done = forked(&script, &world, &[&edit], budget).unwrap();
        assert_eq!((done.ended, done.turns), (Ended::OutOf(ended), turns));
        assert_eq!(script.asked().len(), turns as usize);
    }
}

#[test]
fn without_a_budget_nothing_is_asked() {
    for budget in [Budget { turns: 0, ..BUDGET }, Budget { tokens: 2, ..BUDGET }] {
        let script = Script::new([says("x")]);
        let error = forked(&script, &World::default(), &[], budget).unwrap_err();
        assert_eq!(error.class, ErrorClass::Forbidden);
        assert!(script.asked().is_empty());
    }
    // A model without costs can be called with a budget of zero.
    let free = Budget { cost: 0, ..BUDGET };
    assert!(forked(&Script::new([says("x")]), &World::default(), &[], free).is_ok());
}

#[test]
fn doubtful_figures_count_as_what_was_sent() {
    let answer = |n: usize| {
        let reply = reply(Stop::ToolUse, &[call(&format!("t{n}"), "edit", NOTES)]);
        Ok(Reply { usage: TokenUsage::default(), usage_doubtful: true, ..reply })
    };
    let script = Script::new((0..99).map(answer));
    let budget = Budget { turns: 99, tokens: 300, ..BUDGET };
    let done = forked(&script, &World::default(), &[&Edit::default()], budget).unwrap();
    assert_eq!(done.ended, Ended::OutOf("tokens"));
    // Every turn sends all earlier messages again, and adds about 45 tokens.
    assert!(done.turns <= 4 && done.usage.total() == 0, "{} turns", done.turns);
}
